"""Threads for handlers that are not async, so that one that blocks does not delay the others."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

# A waiting thread costs little. With more calls than this, calls wait, within their time limit.
MOST_THREADS = 64


class Threads:
    """A pool of threads that tolerates stuck jobs.

    Its threads are daemons: a handler that never returns must not keep the interpreter from exiting,
    as it would in concurrent.futures. Such a thread cannot be stopped, only counted.
    """

    def __init__(self, most: int = MOST_THREADS):
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._most = most
        self._lock = threading.Lock()  # protects the fields below, and each job's running and abandoned
        self._alive = 0
        self._idle = 0  # may be too high once MOST_THREADS are alive; then it does not matter
        self._stuck: list[_Job] = []

    @property
    def stuck(self) -> int:
        """Return how many threads run a function whose call was cancelled."""
        with self._lock:
            return len(self._stuck)

    @property
    def stuck_in(self) -> list[str]:
        """Return the places of these functions, each once."""
        with self._lock:
            return sorted({_place(job.function) for job in self._stuck})

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function in a thread, with the context variables of this task."""
        job = _Job(function, args)
        self._submit(job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._abandon(job)
            raise

    def _submit(self, job: _Job) -> None:
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._alive < self._most:
                self._alive += 1
                threading.Thread(target=self._work, name="plugin", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if self._begin(job):
                job.work()
            self._end(job)
            del job  # its arguments may be large

    def _begin(self, job: _Job) -> bool:
        with self._lock:
            job.running = not job.abandoned
            return job.running

    def _end(self, job: _Job) -> None:
        with self._lock:
            self._idle += 1
            if job.running and job.abandoned:
                self._stuck.remove(job)
            job.running = False

    def _abandon(self, job: _Job) -> None:
        with self._lock:
            job.abandoned = True
            if job.running:
                self._stuck.append(job)


def _place(function: Callable[..., Any]) -> str:
    """Return the place of a function as FILE:LINE in NAME."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return type(function).__name__
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


class StoppedError(RuntimeError):
    """Stands for an exception that the event loop or a future cannot handle. Its text begins with the exception's type."""


def harmless(error: BaseException) -> StoppedError:
    """Return a StoppedError with the text and the place of an exception."""
    name = type(error).__name__
    return StoppedError(f"{name}: {error}" if str(error) else name).with_traceback(error.__traceback__)


class _Job:
    """One function to run in a thread."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]):
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.function = function
        self.args = args
        self.context = contextvars.copy_context()
        self.running = self.abandoned = False

    def work(self) -> None:
        """Run the function in a thread, and send its result to the loop."""
        value, error = None, None
        try:
            value = self.context.run(self.function, *self.args)
        except StopIteration as stop:  # a future cannot hold it
            error = harmless(stop)
        except BaseException as raised:
            error = raised
        try:
            self.loop.call_soon_threadsafe(self._deliver, value, error)
        except RuntimeError:
            pass  # the loop is closed, so the result is not needed

    def _deliver(self, value: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)
