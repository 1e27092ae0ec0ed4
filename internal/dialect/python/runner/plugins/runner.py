"""Serves the host's requests: many calls at once, in one event loop, for the plugins of one host.

    main
      Runner.run
        _readable | _read_on   bytes as they arrive
          _take                a line: one request
            hello, ping, environ, load, reload, unload, validate, inspect, over
            call               calls.py
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from . import bodies, invocation, registry, wire
from .calls import Call
from .contexts import Contexts
from .invocation import threads
from .loader import LoadedPlugin, PluginError, discard, load_plugin_from_source
from .output import Output, current_plugin, own_logger, take_over
from .registry import plugin_registry
from .storage import default_dir
from .threads import MOST_THREADS
from .wire import WireError

# Stuck threads cost memory, and a processor if they spin. They end only with the process. The host is asked to
# replace it once no request has been under way for this long, so that no request loses its state.
QUIET = 60.0

# How often this is checked while a thread is stuck.
_WATCH = 1.0

# With this many stuck threads the process is replaced without waiting.
_TOO_MANY = MOST_THREADS // 2

# Payloads may be more than twice as deep as an answer, because the host wraps the answers of other plugins. Before
# Python 3.12 the recursion limit also limits the depth of JSON.
_RECURSION = 4 * wire.MOST_LEVELS

# How long handlers may take to clean up after the host has gone.
_CLEANUP_TIME = 0.5


class Runner:
    """Serves one host over two descriptors."""

    def __init__(self, source: int, sink: int, output: Output, quiet: float = QUIET):
        self._source = source
        self._sink = sink
        self._output = output
        self._quiet = quiet
        self._loop = asyncio.new_event_loop()
        self.contexts = Contexts(self._loop.call_later)
        self._lines = wire.Lines(self._take)
        self._over = False
        self._watched = False  # a check for stuck threads is due
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "hello": self._hello,
            "ping": lambda _: None,
            "environ": self._environ,
            "load": self._load,
            "reload": self._reload,
            "unload": self._unload,
            "validate": self._validate,
            "inspect": self._inspect,
            "over": lambda params: self.contexts.over(params["request"]),
        }

    def run(self) -> None:
        """Serve until the host closes its end."""
        asyncio.set_event_loop(self._loop)
        self._start_reading()
        while not self._over:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                pass  # raised by a plugin's background task, which must not end the process
        self._cancel_tasks()

    def _cancel_tasks(self) -> None:
        """Cancel the running tasks, and those that they start, and wait a moment for them."""
        for _ in range(2):
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=_CLEANUP_TIME))

    def _start_reading(self) -> None:
        """Read the host's messages in the event loop, or in a thread where the loop cannot wait for a pipe."""
        try:
            self._loop.add_reader(self._source, self._readable)
            os.set_blocking(self._source, False)
        except (NotImplementedError, OSError):  # Windows cannot wait for a pipe
            threading.Thread(target=self._read_on, daemon=True).start()

    def _readable(self) -> None:
        chunk = wire.read(self._source)
        if chunk == b"":
            self._loop.remove_reader(self._source)  # it would stay readable forever
        if chunk is not None:
            self._feed(chunk)

    def _read_on(self) -> None:
        chunk = b"-"
        while chunk:
            chunk = os.read(self._source, 1 << 16)
            self._loop.call_soon_threadsafe(self._feed, chunk)

    def _feed(self, chunk: bytes) -> None:
        if chunk:
            self._lines.feed(chunk)
            return
        self._over = True
        self._loop.stop()

    def _take(self, line: bytes) -> None:
        """Handle one request. A call is answered later, everything else at once."""
        try:
            message = wire.decode(line)
        except (ValueError, RecursionError) as error:
            self.refuse(wire.id_of(line), WireError(wire.PARSE_ERROR, f"cannot be decoded: {error}"))
            return
        ident, method, params = message.get("id"), message["method"], message.get("params") or {}
        try:
            if method == "call":
                self._call(ident, params)
            elif method in self._methods:
                self.reply(ident, self._methods[method](params))
            else:
                raise WireError(wire.UNKNOWN_METHOD, f"there is no method {method}")
        except WireError as error:
            self.refuse(ident, error)
        except Exception as error:  # a bug of the runner: report it, and go on
            self.refuse(ident, WireError(wire.INTERNAL_ERROR, f"{type(error).__name__}: {error}"))

    def reply(self, ident: int | None, result: Any) -> None:
        """Answer a request. Raises the errors of wire.encode if the result cannot be encoded."""
        self._send({"jsonrpc": "2.0", "id": ident, "result": result})

    def refuse(self, ident: int | None, error: WireError) -> None:
        """Answer a request with an error."""
        body: dict[str, Any] = {"code": error.code, "message": str(error)}
        if error.data:
            body["data"] = error.data
        self._send({"jsonrpc": "2.0", "id": ident, "error": body})

    def _send(self, message: dict[str, Any]) -> None:
        if message.get("id", 0) is not None:
            wire.write(self._sink, wire.encode(message))

    # Plugins

    def _hello(self, params: dict[str, Any]) -> dict[str, Any]:
        """Shake hands, and change to the host's directory. The interpreter was started in another one."""
        if params.get("dir"):
            try:
                os.chdir(params["dir"])
            except OSError:
                if not params.get("confined"):  # a sandboxed interpreter may not see it
                    raise
        return {"version": sys.version.split()[0], "executable": sys.executable}

    def _environ(self, params: dict[str, Any]) -> None:
        os.environ.update(params["vars"])

    def _load(self, params: dict[str, Any]) -> dict[str, Any]:
        return self._opened(plugin_registry.open, params["path"])

    def _reload(self, params: dict[str, Any]) -> dict[str, Any]:
        return self._opened(plugin_registry.reopen, params["path"])

    def _unload(self, params: dict[str, Any]) -> None:
        plugin_registry.close(params["path"])

    def _validate(self, params: dict[str, Any]) -> dict[str, Any]:
        def load(path: Path) -> LoadedPlugin:
            plugin = load_plugin_from_source(_source(params), path)
            discard(plugin.module)
            return plugin

        return self._opened(load, _path(params))

    def _inspect(self, params: dict[str, Any]) -> dict[str, Any]:
        from .inspection import inspect_plugin_source  # most interpreters never need it

        return self._opened(lambda path: inspect_plugin_source(_source(params), path), _path(params))

    def _opened(self, load: Callable[[Path], LoadedPlugin], path: str | Path) -> dict[str, Any]:
        """Load a plugin and describe it. Its output is marked with the name of its file."""
        path = Path(path)
        token = current_plugin.set(path.stem)
        try:
            return bodies.described(load(path))
        except PluginError as error:
            place = {"line": error.line, "column": error.column, "fix": error.fix}
            if error.reaches:
                place["reaches"] = True
            if error.warnings:
                place["warnings"] = error.warnings
                place["fixes"] = [getattr(warning, "fix", "") for warning in error.warnings]
            raise WireError(wire.LOAD_FAILED, str(error), place) from error
        except OSError as error:
            raise WireError(wire.LOAD_FAILED, str(error)) from error
        finally:
            self._output.finish(path.stem)
            current_plugin.reset(token)

    # Calls

    def _call(self, ident: int | None, params: dict[str, Any]) -> None:
        path = params["plugin"]
        plugin = plugin_registry.get(path)
        if plugin is None:
            raise WireError(wire.NOT_LOADED, f"{path} is not loaded")
        if params["hook"] not in plugin.hooks:  # a reload has removed it
            self.reply(ident, None)
        else:
            Call(self, ident, plugin, params).start()

    def ended(self, plugin: LoadedPlugin, overrun: bool) -> None:
        """Clean up after a call."""
        self._output.finish(plugin.name)
        if overrun:
            self._schedule_check()

    # Threads that are stuck

    def _schedule_check(self) -> None:
        """Schedule a check whether a handler that took too long still blocks its thread."""
        if not self._watched:
            self._watched = True
            self._loop.call_later(min(_WATCH, self._quiet), self._check_stuck)

    def _check_stuck(self) -> None:
        """Ask the host for a new process if a thread is stuck and no request is under way."""
        self._watched = False
        stuck = threads.stuck
        if not stuck:
            return
        if stuck >= _TOO_MANY or not self.contexts.live(self._quiet):
            self._send({"jsonrpc": "2.0", "method": "stuck", "params": {"threads": stuck, "handlers": threads.stuck_in}})
        self._schedule_check()


def _path(params: dict[str, Any]) -> Path:
    """Return where the file of a draft would be. Its name may be any file name, but not a path."""
    name = params["name"]
    if not isinstance(name, str) or Path(name).name != name:
        raise WireError(wire.LOAD_FAILED, f"Invalid plugin name: {name!r}")
    return default_dir() / f"{name}.py"


def _source(params: dict[str, Any]) -> bytes:
    """Return a draft as its file would have it: Python understands a mark at the beginning of a file, but not of a text."""
    return params["content"].encode()


def main() -> None:
    """Serve the host on the original stdin, stdout and stderr, which a plugin keeps when it redirects its own."""
    source, sink, log = os.dup(0), os.dup(1), os.dup(2)  # none is inherited by subprocesses
    if hasattr(os, "set_blocking"):
        os.set_blocking(sink, True)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(_close_pipes, source, sink))
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))
    if hasattr(faulthandler, "register"):
        # The host ends a blocked interpreter with SIGTERM, which makes it write its stacks.
        faulthandler.register(signal.SIGTERM, file=log, all_threads=True, chain=True)
    output = take_over(log)
    invocation.logger = registry.logger = own_logger(output)
    Runner(source, sink, output).run()


def _close_pipes(*descriptors: int) -> None:
    """Close the pipes to the host in a process that a plugin forked."""
    for descriptor in descriptors:
        os.close(descriptor)
