"""One call of a handler: in a task or a thread, within its time, with an answer of the right type.

    Invocation.start   a task for the handler, and a timer for its limit unless it ends in its first step
      _run             runs the handler; one that is not async runs in a thread
        checked        checks the type of its answer
    Invocation._ended   the handler has ended: value or HookFailed
    Invocation._expire   its time is up: HookTimeout, and the task is cancelled
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .eager import Outcome, launch, outcome
from .loader import LoadedPlugin
from .models import ANSWERS, ToolCall
from .output import current_plugin
from .threads import Threads, harmless

# The time of a handler in seconds: docs/protocols/python.md, row P37.
DEFAULT_LIMIT = 5.0

# Exceptions may contain whole documents; the beginning is enough to recognise one.
_LONGEST_TEXT = 2000

logger = logging.getLogger("plugins")

threads = Threads()


class HookError(Exception):
    """A handler gave no usable answer. The text is the line that is logged."""


class HookTimeout(HookError):
    """The handler took too long."""


class HookFailed(HookError):
    """The handler raised an exception, or its answer has the wrong type."""


def checked(hook: str, value: Any) -> Any:
    """Return the value if it is an answer to the hook. None changes nothing."""
    wanted = ANSWERS.get(hook)
    if wanted is None or value is None:
        return None
    if not isinstance(value, wanted):
        raise TypeError(f"it returned {type(value).__name__}, not {wanted.__name__} or None")
    if isinstance(value, ToolCall):
        for name, part, kind in (("tool_name", value.tool_name, str), ("input", value.input, dict)):
            if not isinstance(part, kind):
                raise TypeError(f"it returned a ToolCall whose {name} is {type(part).__name__}, not {kind.__name__}")
    return value


class Invocation:
    """One call of one handler. finish is called once, with the value or the error."""

    __slots__ = ("_finish", "_task", "_timer", "hook", "limit", "plugin")

    def __init__(
        self,
        plugin: LoadedPlugin,
        hook: str,
        limit: float,
        finish: Callable[[Any, HookError | None], None],
    ):
        self.plugin = plugin
        self.hook = hook
        self.limit = limit
        self._finish: Callable[[Any, HookError | None], None] | None = finish
        self._timer: asyncio.TimerHandle | None = None

    def start(self, *args: Any, within: float | None = None) -> None:
        """Start the call; the running loop does the rest. within is the rest of the limit, if some of it is used up."""
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        context.run(current_plugin.set, self.plugin.name)
        self._task, done = launch(loop, self._run(self.plugin.hooks[self.hook], args), context)
        if done is not None:
            self._ended(done)
            return
        # Cheaper than wait_for, and the answer does not wait for a handler that reacts slowly to its cancellation.
        self._timer = loop.call_later(self.limit if within is None else max(within, 0), self._expire)
        self._task.add_done_callback(lambda task: self._ended(outcome(task)))

    def cancel(self) -> None:
        """Cancel the call; finish is not called."""
        self._finish = None
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()

    async def _run(self, handler: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        try:
            if self.hook in self.plugin.coroutines:
                value = await handler(*args)
            else:
                value = await threads.run(handler, *args)
                if inspect.isawaitable(value):  # a wrapper around an async function
                    value = await value
            return checked(self.hook, value)
        except (SystemExit, KeyboardInterrupt) as error:  # would end the loop
            raise harmless(error) from None

    def _ended(self, done: Outcome) -> None:
        if self._finish is None:
            return  # it was cancelled, so its result is ignored
        if self._timer is not None:
            self._timer.cancel()
        if done.error is None:
            self._end(done.value, None)
        else:
            self._end(None, failure(self.plugin, self.hook, done.error))

    def _expire(self) -> None:
        self._end(None, overrun(self.plugin, self.hook, self.limit))
        self._task.cancel()

    def _end(self, value: Any, error: HookError | None) -> None:
        finish, self._finish = self._finish, None
        if error is not None:
            report(self.plugin, error)
        if finish is not None:
            finish(value, error)


def overrun(plugin: LoadedPlugin, hook: str, limit: float) -> HookTimeout:
    """Return the error of a handler that took too long."""
    return HookTimeout(f"Plugin {plugin.name} {hook} timed out after {float(limit)}s")


def failure(plugin: LoadedPlugin, hook: str, error: BaseException) -> HookFailed:
    """Return the error of a handler that raised an exception, or whose answer cannot be used."""
    failed = HookFailed(f"Plugin {plugin.name} {hook} failed: {_text(error)}")
    failed.__cause__ = error.with_traceback(_plugins_own(error.__traceback__))
    return failed


def report(plugin: LoadedPlugin, error: HookError) -> None:
    """Log an error with its traceback."""
    cause = error.__cause__
    token = current_plugin.set(plugin.name)
    logger.warning("%s", error, exc_info=(type(cause), cause, cause.__traceback__) if cause else None)
    current_plugin.reset(token)


def _text(error: BaseException) -> str:
    """Return the text of an exception, or its type if it has none or fails to return it."""
    try:
        return str(error)[:_LONGEST_TEXT] or type(error).__name__
    except Exception:
        return type(error).__name__


def _plugins_own(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, which do not help a plugin's author."""
    while trace is not None and trace.tb_frame.f_globals.get("__package__") == __package__:
        trace = trace.tb_next
    return trace
