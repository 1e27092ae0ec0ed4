"""Calls of handlers: from the params of a request to its answer.

    Call.start
      _begin     calls on_begin first, if the request has not begun for this plugin
      _go_on     on_begin has ended
      _ask       calls the handler itself, within the rest of its time
        _finish  sends its answer, or its error
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from . import bodies, wire
from .contexts import Contexts
from .invocation import DEFAULT_LIMIT, HookError, HookFailed, HookTimeout, Invocation, failure, overrun, report
from .loader import LoadedPlugin
from .models import ToolCall

BEGIN = "on_begin"


class Desk(Protocol):
    """The part of the runner that calls use."""

    contexts: Contexts

    def reply(self, ident: int | None, result: Any) -> None: ...
    def refuse(self, ident: int | None, error: wire.WireError) -> None: ...
    def ended(self, plugin: LoadedPlugin, overrun: bool) -> None: ...


class Call:
    """One call of one handler."""

    def __init__(self, desk: Desk, ident: int | None, plugin: LoadedPlugin, params: dict[str, Any]):
        self._desk = desk
        self._ident = ident
        self._plugin = plugin
        self._path: str = params["plugin"]
        self._hook: str = params["hook"]
        self._limit: float = params.get("limit") or DEFAULT_LIMIT
        self._ends = time.monotonic() + self._limit  # on_begin and the hook itself share the limit
        self._arguments = bodies.arguments(params)
        self._strict: bool = params.get("strict", False)  # a failure of on_begin must reach the host
        self._note = ""
        self._request = desk.contexts.enter(
            params.get("request", ""), self._hook, self._path, params.get("context") or {}
        )

    def start(self) -> None:
        """Start the call. The answer is sent when the handler has ended."""
        request = self._request
        if self._path in request.beginning:
            request.beginning[self._path].append(self._go_on)
        elif BEGIN in self._plugin.hooks and self._path not in request.begun:
            self._begin()
        else:
            self._ask()

    def _begin(self) -> None:
        """Call on_begin first. Plugins rely on what it sets up, but not every host reports the start of a request, and
        a restarted interpreter has not seen it: docs/protocols/python.md#what-the-protocol-leaves-open.
        """
        request, waiting = self._request, [self._go_on]
        self._note = "on_begin was called first: the request had not begun for this plugin"
        request.begun.add(self._path)
        request.beginning[self._path] = waiting

        def begun(_: Any, error: HookError | None) -> None:
            del request.beginning[self._path]
            if error is not None and self._strict:
                request.begun.discard(self._path)  # the next call tries again
            for go_on in waiting:
                go_on(error)

        self._invoke(BEGIN, begun)

    def _go_on(self, error: HookError | None) -> None:
        """Call the handler after on_begin. If that failed, the call fails too, or the trace notes it."""
        if isinstance(error, HookFailed):
            why = str(error).partition(" failed: ")[2]
            if self._strict:
                failed = HookFailed(f"Plugin {self._plugin.name} {self._hook} failed: on_begin, which was called first, failed: {why}")
                failed.__cause__ = error.__cause__
                self._finish(None, failed)
                return
            self._note += f"; it failed: {why}"
        self._ask()

    def _ask(self) -> None:
        if time.monotonic() < self._ends:
            self._invoke(self._hook, self._finish, *self._arguments)
            return
        error = overrun(self._plugin, self._hook, self._limit)  # by on_begin
        report(self._plugin, error)
        self._finish(None, error)

    def _invoke(self, hook: str, finish: Callable[[Any, HookError | None], None], *arguments: Any) -> None:
        invocation = Invocation(self._plugin, hook, self._limit, finish)
        invocation.start(self._request.context, *arguments, within=self._ends - time.monotonic())

    def _finish(self, value: Any, error: HookError | None) -> None:
        """Send the answer: the handler has ended, or its time is up."""
        self._desk.contexts.leave(self._request, self._hook)
        if error is None:
            error = self._answer(value)
        if isinstance(error, HookTimeout):
            self._desk.refuse(self._ident, wire.WireError(wire.HOOK_TIMED_OUT, str(error)))
        elif error is not None:
            code = wire.TOO_DEEP if isinstance(error.__cause__, wire.TooDeepError) else wire.HOOK_FAILED
            self._desk.refuse(self._ident, wire.WireError(code, str(error), bodies.raised(error.__cause__)))
        self._desk.ended(self._plugin, isinstance(error, HookTimeout))

    def _answer(self, value: Any) -> HookError | None:
        """Send a handler's answer. Return an error if it cannot be encoded as JSON."""
        try:
            answer = bodies.answer(value)
            note = "; ".join(filter(None, (self._note, bodies.remark(value))))
            if note:
                answer = {**(answer or {}), "note": note}
            self._desk.reply(self._ident, answer)
            return None
        except RecursionError:  # so deep that Python cannot encode it
            failed = failure(self._plugin, self._hook, wire.TooDeepError())
        except Exception as error:  # a plugin's objects may raise anything while they are encoded
            failed = failure(self._plugin, self._hook, self._not_json(value) or error)
        report(self._plugin, failed)
        return failed

    def _not_json(self, value: Any) -> TypeError | None:
        """Return an error that names the part of an answer that is not JSON, and the handler."""
        part = ""
        try:
            part = bodies.unencodable(value.input, "its ToolCall's input") if isinstance(value, ToolCall) else ""
        except Exception:  # from the plugin's own objects, or nested too deeply
            pass
        handler = self._plugin.hooks[self._hook]
        line = getattr(getattr(handler, "__code__", None), "co_firstlineno", 0)
        return TypeError(f"{part} ({self._plugin.path.name}, line {line}, {handler.__name__})") if part and line else None
