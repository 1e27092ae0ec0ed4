from __future__ import annotations

import asyncio
import contextvars
import sys
import unittest

from plugins import eager

WAYS = {"plainly": eager._launch_plainly}
if sys.version_info >= (3, 11):
    WAYS["by hand"] = eager._launch_by_hand
if sys.version_info >= (3, 12):
    WAYS["eagerly"] = eager._launch_eagerly

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="outside")


class EagerTest(unittest.TestCase):
    def each(self, test, but: str = "") -> None:
        """Run a test with each way to launch a task, in a callback of the loop, as the runner does."""
        for name, way in WAYS.items():
            if name != but:
                with self.subTest(name):
                    asyncio.run(self.inside(test, way))

    async def inside(self, test, way) -> None:
        loop = asyncio.get_running_loop()
        result = loop.create_future()

        def launch(coroutine):
            return way(loop, coroutine, contextvars.copy_context())

        def callback() -> None:
            try:
                result.set_result(test(launch))
            except BaseException as error:
                result.set_exception(error)

        loop.call_soon(callback)
        rest = await result
        if rest is not None:
            await asyncio.wait_for(rest, 10)

    def finish(self, launched) -> asyncio.Future:
        """Return a future for the outcome of a launched coroutine."""
        task, done = launched
        future = asyncio.get_running_loop().create_future()
        if done is not None:
            future.set_result(done)
        else:
            task.add_done_callback(lambda t: future.set_result(eager.outcome(t)))
        return future

    def test_the_first_step_is_taken_at_once(self):
        async def quick():
            return 42

        self.each(lambda launch: self.assertEqual(launch(quick())[1], (42, None)), but="plainly")

    def test_it_may_be_done_from_a_task(self):
        async def asks():
            return asyncio.current_task()

        async def outer(way):
            loop = asyncio.get_running_loop()
            me = asyncio.current_task()
            task, done = way(loop, asks(), contextvars.copy_context())
            self.assertIs(asyncio.current_task(), me)
            self.assertIs(done.value if done else await task, task)

        for name, way in WAYS.items():
            with self.subTest(name):
                asyncio.run(outer(way))

    def test_an_error_in_the_first_step(self):
        async def fails():
            raise KeyError("x")

        async def check(future):
            self.assertIsInstance((await future).error, KeyError)

        self.each(lambda launch: check(self.finish(launch(fails()))))

    def test_a_value_after_many_steps(self):
        async def slow():
            await asyncio.sleep(0)
            await asyncio.sleep(0.001)
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
            return 42

        async def check(future):
            self.assertEqual(await future, (42, None))

        self.each(lambda launch: check(self.finish(launch(slow()))))

    def test_errors_of_what_is_awaited_arrive(self):
        async def slow():
            future = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(future.set_exception, ValueError("v"))
            try:
                await future
            except ValueError:
                await asyncio.sleep(0)
                raise KeyError("k") from None

        async def check(future):
            self.assertIsInstance((await future).error, KeyError)

        self.each(lambda launch: check(self.finish(launch(slow()))))

    def test_the_task_is_one_from_the_first_step_on(self):
        async def asks():
            first = asyncio.current_task()
            await asyncio.sleep(0)
            return first is asyncio.current_task() and first is not None

        async def check(future):
            self.assertEqual(await future, (True, None))

        self.each(lambda launch: check(self.finish(launch(asks()))))

    def test_the_context_is_one_from_the_first_step_on(self):
        async def sets():
            variable.set("inside")
            await asyncio.sleep(0)
            return variable.get()

        async def check(future):
            self.assertEqual(await future, ("inside", None))
            self.assertEqual(variable.get(), "outside")

        self.each(lambda launch: check(self.finish(launch(sets()))))

    def test_time_limits_in_the_first_step_reach_their_own_task(self):
        async def limited():
            try:
                await asyncio.wait_for(asyncio.sleep(60), 0.01)
            except asyncio.TimeoutError:
                return "limited"

        async def check(future):
            self.assertEqual(await future, ("limited", None))

        self.each(lambda launch: check(self.finish(launch(limited()))))

    def test_cancellation_arrives(self):
        async def waits(seen):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        def test(launch):
            seen: list[str] = []
            launched = launch(waits(seen))

            async def check():
                await asyncio.sleep(0)
                launched[0].cancel()
                done = await self.finish(launched)
                self.assertIsInstance(done.error, asyncio.CancelledError)
                self.assertEqual(seen, ["cancelled"])

            return check()

        self.each(test)

    def test_no_coroutine_is_left_without_being_awaited(self):
        async def fails():
            raise KeyError("x")

        complaints: list[dict] = []

        def test(launch):
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _, context: complaints.append(context))
            launched = self.finish(launch(fails()))

            async def check():
                await launched
                for _ in range(3):
                    await asyncio.sleep(0)

            return check()

        self.each(test)
        self.assertEqual(complaints, [])
