from __future__ import annotations

import asyncio
import threading
import unittest

from plugins.threads import Threads


class ThreadsTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_thread_is_used_again(self):
        pool = Threads()
        first = await pool.run(threading.get_ident)
        for _ in range(20):
            while pool._idle == 0:  # a thread becomes idle a moment after it has answered
                await asyncio.sleep(0)
            self.assertEqual(await pool.run(threading.get_ident), first)

    async def test_jobs_over_the_limit_wait(self):
        pool = Threads(most=2)
        gate = threading.Event()
        jobs = [asyncio.ensure_future(pool.run(gate.wait)) for _ in range(5)]
        await asyncio.sleep(0.01)
        self.assertEqual(pool._alive, 2)
        gate.set()
        self.assertEqual(await asyncio.gather(*jobs), [True] * 5)

    async def test_a_job_that_is_cancelled_before_it_began_never_runs(self):
        pool = Threads(most=1)
        gate, ran = threading.Event(), []
        first = asyncio.ensure_future(pool.run(gate.wait))
        second = asyncio.ensure_future(pool.run(ran.append, 1))
        await asyncio.sleep(0.01)
        second.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await second
        gate.set()
        await first
        await pool.run(lambda: None)
        self.assertEqual((ran, pool.stuck), ([], 0))

    async def test_a_job_that_is_cancelled_while_it_runs_is_stuck_until_it_ends(self):
        pool = Threads()
        gate, begun = threading.Event(), threading.Event()

        def work():
            begun.set()
            gate.wait()

        job = asyncio.ensure_future(pool.run(work))
        await asyncio.sleep(0)
        begun.wait(5)
        job.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await job
        self.assertEqual(pool.stuck, 1)
        gate.set()
        while pool.stuck:
            await asyncio.sleep(0.001)

    async def test_an_exception_is_raised_in_the_caller(self):
        with self.assertRaises(ZeroDivisionError):
            await Threads().run(lambda: 1 / 0)
