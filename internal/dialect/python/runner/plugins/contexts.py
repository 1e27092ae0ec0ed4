"""The contexts of the requests under way: one PluginContext each, shared by all plugins."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from .models import PluginContext

# Limits the stored requests: one without on_done would be stored forever.
MOST_CONTEXTS = 1024

# How long a context is kept after the last handler of a request whose on_done was called: the other plugins are
# called one after another.
LINGER = 1.0

_FIELDS = ("session_id", "working_dir", "user_text")


class Request:
    """One request: its context and its state."""

    __slots__ = ("beginning", "begun", "calls", "context", "done", "ended", "fields", "key", "used")

    def __init__(self, key: str, fields: Mapping[str, str]):
        self.key = key
        self.fields = fields  # as they were at the start; plugins may change those of the context
        self.context = PluginContext(
            session_id=fields.get("session_id", ""),
            working_dir=fields.get("working_dir") or os.getcwd(),
            user_text=fields.get("user_text", ""),
        )
        self.begun: set[str] = set()  # plugins whose on_begin was called
        self.beginning: dict[str, list[Callable[[], None]]] = {}  # calls that wait for the end of a plugin's on_begin
        self.done = False  # some plugin's on_done has ended, or the host says that the request is over
        self.calls = 0  # handlers that run
        self.ended = 0  # handlers that have ended since on_done
        self.used = 0.0  # when the last handler ended

    def serves(self, hook: str, plugin: str, fields: Mapping[str, str]) -> bool:
        """Tell whether a hook of a plugin belongs to this request, and not to the next one with the same key.

        A request begins once for each plugin, and with one text. After its end, only on_done of the other
        plugins follows.
        """
        if self.done:
            return hook == "on_done"
        if hook != "on_begin":
            return True
        return plugin not in self.begun and (not self.begun or fields == self.fields)

    def learn(self, fields: Mapping[str, str]) -> None:
        """Add fields that were unknown when the request began."""
        for name in _FIELDS:
            if name not in self.fields and name in fields:
                setattr(self.context, name, fields[name])
        self.fields = {**fields, **self.fields}


class Contexts:
    """The requests under way, by key. If there are too many, the least recently used one is dropped."""

    def __init__(self, later: Callable[[float, Callable[[], None]], object], most: int = MOST_CONTEXTS):
        self._later = later  # loop.call_later
        self._most = most
        self._requests: OrderedDict[str, Request] = OrderedDict()

    def enter(self, key: str, hook: str, plugin: str, fields: Mapping[str, str]) -> Request:
        """Return the request that a call belongs to. The caller must call leave."""
        request = self._requests.get(key)
        if request is None or not request.serves(hook, plugin, fields):
            request = self._requests[key] = Request(key, fields)
            while len(self._requests) > self._most:
                self._requests.popitem(last=False)
        elif fields:
            request.learn(fields)
        self._requests.move_to_end(key)
        if hook == "on_begin":
            request.begun.add(plugin)
        request.calls += 1
        return request

    def leave(self, request: Request, hook: str) -> None:
        """Record that a call has ended."""
        request.calls -= 1
        request.used = time.monotonic()
        request.done = request.done or hook == "on_done"
        if request.done:
            self._linger(request)

    def over(self, key: str) -> None:
        """End a request, also if no plugin has an on_done."""
        request = self._requests.get(key)
        if request is not None and not request.done:
            request.done = True
            self._linger(request)

    def _linger(self, request: Request) -> None:
        request.ended += 1
        ended = request.ended
        self._later(LINGER, lambda: self._drop(request, ended))

    def live(self, within: float) -> int:
        """Count the requests under way: a handler runs, or the request is not over and one ran within so many seconds."""
        since = time.monotonic() - within
        return sum(r.calls > 0 or (not r.done and r.used > since) for r in self._requests.values())

    def __len__(self) -> int:
        return len(self._requests)

    def _drop(self, request: Request, ended: int) -> None:
        """Drop a request, unless one of its handlers runs or has ended since."""
        if request.calls == 0 and request.ended == ended and self._requests.get(request.key) is request:
            del self._requests[request.key]
