"""Tasks whose first step runs at once.

Most handlers never wait for anything: they end in their first step. In a plain task even that takes two
rounds of the event loop, which is most of the cost of a call. Python 3.12 can start a task eagerly. For 3.11
this module does so with the functions that asyncio documents for custom tasks. In 3.10 tasks start as usual.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
from collections.abc import Coroutine, Generator, Iterator
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """The result of a coroutine."""

    value: Any
    error: BaseException | None


CANCELLED = Outcome(None, asyncio.CancelledError("it was cancelled"))

Launched = tuple["asyncio.Task[Any]", "Outcome | None"]


def outcome(task: asyncio.Task[Any]) -> Outcome:
    """Return the result of a task that is done."""
    if task.cancelled():
        return CANCELLED
    error = task.exception()
    return Outcome(None if error else task.result(), error)


def _launch_eagerly(loop: asyncio.AbstractEventLoop, coroutine: Coroutine, context: contextvars.Context) -> Launched:
    task = asyncio.Task(coroutine, loop=loop, context=context, eager_start=True)
    return task, outcome(task) if task.done() else None


def _launch_by_hand(loop: asyncio.AbstractEventLoop, coroutine: Coroutine, context: contextvars.Context) -> Launched:
    rest = _Rest(coroutine)
    task = loop.create_task(rest.finish(), context=context)
    with _current(loop, task):  # code may get its task, and keep it, in its first step
        context.run(rest.step)
    return task, rest.outcome


def _launch_plainly(loop: asyncio.AbstractEventLoop, coroutine: Coroutine, context: contextvars.Context) -> Launched:
    return context.run(loop.create_task, coroutine), None


@contextlib.contextmanager
def _current(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> Iterator[None]:
    """Make a task the current one temporarily."""
    outer = asyncio.current_task(loop)
    if outer is not None:
        asyncio._leave_task(loop, outer)
    asyncio._enter_task(loop, task)
    try:
        yield
    finally:
        asyncio._leave_task(loop, task)
        if outer is not None:
            asyncio._enter_task(loop, outer)


class _Rest:
    """The rest of a coroutine after its first step."""

    def __init__(self, coroutine: Coroutine):
        self._coroutine = coroutine
        self._waits_for: Any = None  # the value that the first step yielded, which the task must yield
        self.outcome: Outcome | None = None  # set if the first step was the last

    def step(self) -> None:
        try:
            self._waits_for = self._coroutine.send(None)
        except StopIteration as stop:
            self.outcome = Outcome(stop.value, None)
        except asyncio.CancelledError:
            self.outcome = CANCELLED
        except BaseException as error:
            self.outcome = Outcome(None, error)

    async def finish(self) -> Any:
        return None if self.outcome else await self

    def __await__(self) -> Generator[Any, Any, Any]:
        """Continue the coroutine, as "yield from" would."""
        waits_for = self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:
                    waits_for = self._coroutine.throw(error)
                else:
                    waits_for = self._coroutine.send(sent)
        except StopIteration as stop:
            return stop.value


if sys.version_info >= (3, 12):
    launch = _launch_eagerly
elif sys.version_info >= (3, 11):
    launch = _launch_by_hand
else:
    launch = _launch_plainly
