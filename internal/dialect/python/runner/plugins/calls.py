"""Calls of handlers: from the params of a request to the answer that goes back.

    Call.start
      _begin     on_begin first, where the request has not begun for this plugin
      _ask       the handler itself, within what is left of the time
        _finish  its answer, or its error
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from . import bodies, wire
from .contexts import Contexts
from .invocation import DEFAULT_LIMIT, HookError, HookTimeout, Invocation, failure, overrun, report
from .loader import LoadedPlugin

BEGIN = "on_begin"


class Desk(Protocol):
    """Where calls come from, and where their answers go."""

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
        self._ends = time.monotonic() + self._limit  # on_begin and the hook itself share the time
        self._arguments = bodies.arguments(params)
        self._note = ""
        self._request = desk.contexts.enter(
            params.get("request", ""), self._hook, self._path, params.get("context") or {}
        )

    def start(self) -> None:
        """Begin; the answer is sent when it is there."""
        request = self._request
        if self._path in request.beginning:
            request.beginning[self._path].append(self._ask)
        elif BEGIN in self._plugin.hooks and self._path not in request.begun:
            self._begin()
        else:
            self._ask()

    def _begin(self) -> None:
        """Ask on_begin first. "Called at the start of each request": plugins rely on what it sets up, and not
        every host tells of a beginning. Nor has a request begun for an interpreter that was restarted meanwhile.
        """
        request, waiting = self._request, [self._ask]
        self._note = "on_begin was asked first: the request had not begun for this plugin"
        request.begun.add(self._path)
        request.beginning[self._path] = waiting

        def begun(_: Any, __: HookError | None) -> None:  # a beginning that failed is logged, and that is all
            del request.beginning[self._path]
            for ask in waiting:
                ask()

        self._invoke(BEGIN, begun)

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
        """The handler has ended, or its time has."""
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
        """Send a handler's answer. The error is for one that has no JSON."""
        try:
            answer = bodies.answer(value)
            if self._note:
                answer = {**(answer or {}), "note": self._note}
            self._desk.reply(self._ident, answer)
            return None
        except RecursionError:  # it is deeper than the limit by so much that Python cannot encode it
            failed = failure(self._plugin, self._hook, wire.TooDeepError())
        except Exception as error:  # objects of a plugin's own may raise anything as they are looked at
            failed = failure(self._plugin, self._hook, error)
        report(self._plugin, failed)
        return failed
