"""Tests of the runner in this process, so that they can change its internals."""

from __future__ import annotations

import json
import os
import threading
import time
from unittest import mock

from plugins.invocation import threads
from plugins.output import Output
from plugins.registry import plugin_registry
from plugins.runner import Runner

from . import PluginCase

# A handler that never ends, until another one lets it.
STUCK = """
import threading
gate = threading.Event()
@on_begin
def f(ctx): gate.wait()
@on_done
async def g(ctx): gate.set()
"""


class InsideTest(PluginCase):
    def start(self, quiet: float = 60.0, **changes: object) -> None:
        requests, self.requests = os.pipe()
        self.replies, replies = os.pipe()
        log, self.log = os.pipe()
        runner = Runner(requests, replies, Output(self.log), quiet=quiet)
        for name, change in changes.items():
            setattr(runner._loop, name, change)
        thread = threading.Thread(target=runner.run)
        thread.start()

        def stop() -> None:
            os.close(self.requests)
            thread.join(10)
            self.assertFalse(thread.is_alive())
            for descriptor in (requests, replies, self.replies, log, self.log):
                os.close(descriptor)
            runner._loop.close()

        self.addCleanup(stop)
        self.incoming = open(self.replies, "rb", closefd=False)
        self.addCleanup(self.incoming.close)

    def send(self, method: str, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        os.write(self.requests, json.dumps(message).encode() + b"\n")

    def receive(self) -> dict:
        return json.loads(self.incoming.readline())

    def load(self, name: str, text: str) -> str:
        path = str(self.write(name, text))
        self.addCleanup(plugin_registry.close, path)
        self.send("load", path=path)
        self.assertIn("result", self.receive())
        return path

    def get_stuck(self, path: str) -> None:
        """Make calls until a thread is stuck. On a busy machine a call may time out before its thread has begun: then it is not stuck."""
        end = time.monotonic() + 60
        while threads.stuck and time.monotonic() < end:  # those of the test before end soon
            time.sleep(0.01)
        self.assertEqual(threads.stuck, 0)
        while not threads.stuck:
            self.send("call", plugin=path, hook="on_begin", limit=0.01)
            self.assertEqual(self.receive()["error"]["code"], -32001)

    def test_a_thread_reads_if_the_loop_cannot_wait_for_pipes(self):
        self.start(add_reader=mock.Mock(side_effect=NotImplementedError))
        path = self.load("a", "@on_final\nasync def f(ctx, text): return text + '!'\n")
        self.send("call", plugin=path, hook="on_final", text="x")
        self.assertEqual(self.receive()["result"], {"text": "x!"})

    def test_the_host_is_asked_for_another_process_if_a_thread_is_stuck_and_no_request_is_under_way(self):
        self.start(quiet=0.05)
        path = self.load("a", STUCK)
        self.get_stuck(path)
        asked = self.receive()
        self.assertEqual(asked["method"], "stuck")
        self.assertGreater(asked["params"]["threads"], 0)
        self.assertRegex(asked["params"]["handlers"][0], r"^\w+\.py:\d+ in \w+$")
        self.send("call", plugin=path, hook="on_done")
        while "result" not in self.receive():  # it is asked again until the thread is free
            pass

    def test_a_thread_that_is_stuck_while_a_request_is_under_way_is_left_alone(self):
        self.start(quiet=60.0)
        path = self.load("a", STUCK)
        with mock.patch("plugins.runner._WATCH", 0.01):
            self.get_stuck(path)
            for _ in range(20):
                self.send("ping")
                self.assertIn("result", self.receive())  # no request for another process
        self.send("call", plugin=path, hook="on_done")
        self.assertIn("result", self.receive())
