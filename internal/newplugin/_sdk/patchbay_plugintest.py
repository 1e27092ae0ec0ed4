"""Tests a plugin without a host: plays a host of any dialect, inside the test's own process.

    from patchbay_plugin import ToolEvent
    from patchbay_plugintest import Host
    from careful import p

    def test_guard():
        with Host(p, "scaffold") as h:
            o = h.fire("tool.before", ToolEvent(tool="shell", arguments={"cmd": "rm -rf /"}))
            assert o.verdict == "deny"

A Host is one process of the plugin in one dialect. State, config files and the home directory are in a temporary
directory; kaged's storage is in memory. `patchbay plugin test` checks whether a plugin keeps to its protocol, also
where the host sends damaged or unexpected messages.
"""

from __future__ import annotations

import io
import json
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from patchbay_plugin import _NATIVES, CommandEvent, Plugin

_PATIENCE = 30.0  # seconds for one answer


class Failed(Exception):
    """A tool, a method or a command failed; the message is the plugin's."""


class Outcome:
    """A plugin's answer to an event. verdict is continue, modify, stop, answer, skip, deny or fail."""

    def __init__(self, event: Any, sent: str):
        self.verdict, self.reason, self.suggest, self.answer = "continue", "", "", ""
        self.event, self.sent, self.received = event, sent, ""

    def __repr__(self) -> str:
        return f"Outcome({self.verdict!r}, reason={self.reason!r}, event={self.event!r})"


class CommandResult:
    """The result of a command."""

    def __init__(self, stdout: str, stderr: str, code: int):
        self.stdout, self.stderr, self.code = stdout, stderr, code
        self.error = _error(stderr)[0] if code else ""


def _error(stderr: str) -> tuple[str, str]:
    """Returns mine's error and its code; stderr as it is if it is not an error object."""
    try:
        said = json.loads(stderr)
        return said["error"], said.get("code", "")
    except (ValueError, KeyError, TypeError):
        return stderr.strip(), ""


def each(plugin: Plugin, **options: Any) -> Iterator[Host]:
    """Yields a host for every dialect in which the plugin offers something, one after another."""
    for dialect in plugin.speaks():
        with Host(plugin, dialect, **options) as host:
            yield host


class Host:
    """One process of a plugin, in one dialect."""

    def __init__(self, plugin: Plugin, dialect: str, *, config: dict[str, Any] | None = None, secrets: dict[str, Any] | None = None,
                 env: dict[str, str] | None = None):
        if dialect not in plugin.speaks():
            raise ValueError(f"{plugin.name} has nothing for {dialect}")
        self.plugin, self.dialect, self.config, self.secrets = plugin, dialect, config, secrets
        self.home = tempfile.mkdtemp(prefix="plugintest-")
        self.env = {"HOME": self.home, **(env or {})}
        self.stderr = io.StringIO()
        self.notifications: list[tuple[str, Any]] = []
        self.storage: dict[str, Any] = {}
        self._next = 0
        self._answers: queue.Queue[Any] = queue.Queue()
        self._thread: threading.Thread | None = None
        if config is not None and dialect not in ("kaged", "dotagent"):
            file = os.path.join(self.home, ".config", plugin.name, "config.json")
            os.makedirs(os.path.dirname(file))
            with open(file, "w", encoding="utf-8") as out:
                json.dump(config, out)
        if dialect not in ("dotagent", "mine"):
            try:
                self._begin()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def log(self) -> str:
        """The plugin's stderr."""
        return self.stderr.getvalue()

    def close(self) -> None:
        """Ends the plugin as a host does."""
        if self._thread is not None:
            if self.dialect != "mcp" and self._thread.is_alive():
                self._request("shutdown", {})
            self._in.close()
            self._thread.join(_PATIENCE)
            self._reader.join(_PATIENCE)
            self._thread = None
        shutil.rmtree(self.home, ignore_errors=True)

    # Conversations.

    def _begin(self) -> None:
        stdin, to_plugin = os.pipe()
        from_plugin, stdout = os.pipe()
        self._in = os.fdopen(to_plugin, "wb", buffering=0)
        self._lock = threading.Lock()  # protects writes to the plugin

        def run() -> None:
            with os.fdopen(stdin, "rb") as given, os.fdopen(stdout, "wb", buffering=0) as out:
                self.plugin.run([], self.env, given, out, self.stderr)

        self._thread = threading.Thread(target=run, daemon=True)
        self._reader = threading.Thread(target=self._read, args=(from_plugin,), daemon=True)
        self._thread.start()
        self._reader.start()
        greeting: dict[str, Any] = {"protocol_version": 1}
        if self.dialect == "kaged":
            greeting = {"daemon_version": "0", "api_version": 1, "plugin_name": self.plugin.name, "storage_available": True, "projects": ["test"],
                        "config": self.config or {}, "system_config": self.secrets or {}}
        elif self.dialect == "mcp":
            greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "plugintest", "version": "0"}}
        self._result(self._request("initialize", greeting))

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        with self._lock:
            self._in.write(line.encode() + b"\n")

    def _request(self, method: str, params: Any) -> Any:
        self._next += 1
        self._send({"method": method, "params": params, "id": self._next})
        try:
            m = self._answers.get(timeout=_PATIENCE)
        except queue.Empty:
            raise AssertionError(f"{method} was not answered within {_PATIENCE} s") from None
        if m is None:
            raise AssertionError(f"{method} was not answered: the plugin has ended\n{self.log}")
        return m

    @staticmethod
    def _result(m: Any) -> Any:
        if "error" in m:
            raise Failed(m["error"]["message"])
        return m["result"]

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as out:
            for line in out:
                m = json.loads(line)
                if "method" not in m:
                    self._answers.put(m)
                elif "id" not in m:
                    self.notifications.append((m["method"], m.get("params")))
                else:
                    self._send({"id": m["id"], "result": self._store(m["method"], m["params"])})
        self._answers.put(None)

    def _store(self, method: str, params: dict[str, Any]) -> Any:
        verb = method.rpartition(".")[2]
        if verb == "get":
            return {"value": self.storage.get(params["key"])}
        if verb == "put":
            self.storage[params["key"]] = params["value"]
        elif verb == "delete":
            self.storage.pop(params["key"], None)
        elif verb == "list":
            return {"keys": [k for k in self.storage if k.startswith(params["prefix"])]}
        return {}

    def _run(self, stdin: str, *args: str, env: dict[str, str] | None = None) -> tuple[str, str, int]:
        """Runs one process for one call."""
        out, err = io.BytesIO(), io.StringIO()
        code = self.plugin.run(list(args), {**self.env, **(env or {})}, io.BytesIO(stdin.encode()), out, err)
        self.stderr.write(err.getvalue())
        return out.getvalue().decode(), err.getvalue(), code

    # Events.

    def carries(self, point: str) -> bool:
        """Reports whether the dialect has a point."""
        return _NATIVES[point][0] == self.dialect

    def fire(self, point: str, event: Any) -> Outcome:
        """Sends an event to the plugin."""
        if not self.carries(point):
            raise ValueError(f"{self.dialect} has no {point}")
        return getattr(self, "_fire_" + self.dialect)(_NATIVES[point][1], event)

    def _fire_dotagent(self, kind: str, e: Any) -> Outcome:
        sent = json.dumps({"kind": kind, "agent": e.agent, "schedule": e.schedule, "event": e.event,
                           "message": None if kind == "preflight" else e.message, "config": self.config or {}}, separators=(",", ":"))
        o = Outcome(e, sent)
        o.received, _, code = self._run(sent, "invoke")
        reply = json.loads(o.received)
        o.reason, o.suggest = reply.get("error", ""), reply.get("suggest", "")
        o.verdict = "fail" if code else "continue" if reply["ok"] else "deny"
        return o

    def _fire_mine(self, stage: str, e: CommandEvent) -> Outcome:
        context = {"command": e.command, "args": e.args, "flags": e.flags, "result": e.result, "timestamp": e.timestamp or "2026-01-15T10:30:00Z"}
        mode = "notify" if stage == "notify" else "transform"
        o = Outcome(e, json.dumps({"protocol_version": "1.0.0", "type": "hook", "stage": stage, "mode": mode, "context": context}, separators=(",", ":")))
        o.received, stderr, code = self._run(o.sent + "\n")
        if code:
            o.received = stderr
            o.reason, said = _error(stderr)
            o.verdict = "deny" if said == "DENIED" else "fail"
            return o
        changed = json.loads(o.received).get("context") if o.received else None
        if changed is not None:
            o.verdict = "modify"
            o.event = CommandEvent(**changed)
        return o

    def _fire_kaged(self, hook: str, e: Any) -> Outcome:
        names = {"compacted": "messages_being_compacted", "remaining": "messages_remaining"}
        params = {names.get(n, n): getattr(e, n) for n in e.__slots__ if n not in ("inject", "retain", "summary")}
        params["_context"] = {"operator_id": "local", "project_id": "test", "agent_path": "primary", "session_id": "test", "request_id": "1",
                              "project_root": self.home}
        o = Outcome(e, json.dumps(params))
        m = self._request("kaged.hook." + hook, params)
        o.received = json.dumps(m)
        if "error" in m:
            o.verdict, o.reason = "fail", m["error"]["message"]
        elif m["result"] is not None:
            o.verdict = "modify"
            for name, value in m["result"].items():
                setattr(o.event, name, value)
        return o

    def _fire_scaffold(self, hook: str, e: Any) -> Outcome:
        params = _params(hook, e)
        o = Outcome(e, json.dumps(params))
        m = self._request("hook/" + hook, params)
        o.received = json.dumps(m)
        if "error" in m:
            o.verdict, o.reason = "fail", m["error"]["message"]
            return o
        reply = m["result"]
        action = reply.pop("action", "continue")
        if action == "stop" and hook == "pre_tool_execute" and "result" in reply:
            return _read_answer(o, reply)
        o.verdict = action if action in ("stop", "skip") else "modify" if reply else "continue"
        for name, value in reply.items():
            setattr(o.event, name, json.loads(value) if name == "arguments" else value)
        return o

    # The rest.

    def tool(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Calls a tool. A result that is not a text is decoded. Raises Failed with the plugin's error."""
        arguments = arguments or {}
        if self.dialect == "kaged":
            return self.method(f"{self.plugin.name}.{name}", arguments)
        if self.dialect == "scaffold":
            r = self._result(self._request("tool/execute", {"name": name, "arguments": arguments}))
            text, failed = r["result"], not r["success"]
        elif self.dialect == "mcp":
            r = self._result(self._request("tools/call", {"name": name, "arguments": arguments}))
            text, failed = r["content"][0]["text"], r["isError"]
        else:
            raise ValueError(f"{self.dialect} has no tools")
        if failed:
            raise Failed(text)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def method(self, name: str, params: dict[str, Any] | None = None) -> Any:
        """Calls a method (kaged)."""
        return self._result(self._request(name, params or {}))

    def health(self) -> None:
        """Checks the plugin's health (kaged and mine). Raises Failed if it is not healthy."""
        if self.dialect == "kaged":
            self.method("health.check")
            return
        _, stderr, code = self._run('{"protocol_version":"1.0.0","type":"lifecycle","event":"health"}\n')
        if code:
            raise Failed(_error(stderr)[0])

    def validate(self, config: Any) -> None:
        """Checks a config (dotagent). Raises Failed with the reason if it is invalid."""
        reply = json.loads(self._run(json.dumps(config), "validate")[0])
        if not reply["ok"]:
            raise Failed(reply["error"])

    def command(self, name: str, *args: str, stdin: str | None = None) -> CommandResult:
        """Runs a plugin's own command (mine). stdin is for a command with the user's stdin."""
        sent = json.dumps({"protocol_version": "1.0.0", "type": "command", "command": name, **({"args": list(args)} if args else {})})
        if stdin is None:
            return CommandResult(*self._run(sent + "\n"))
        return CommandResult(*self._run(stdin, env={"MINE_INVOCATION": sent}))


def _params(hook: str, e: Any) -> dict[str, Any]:
    """Translates an event to scaffold's params."""
    if hook in ("pre_tool_execute", "post_tool_execute"):
        params = {"tool_name": e.tool, "arguments": json.dumps(e.arguments, separators=(",", ":"))}
        return {**params, "result": e.result, "success": e.success} if hook == "post_tool_execute" else params
    params = {n: getattr(e, n) for n in e.__slots__}
    if hook == "post_llm_response":
        params["tool_calls"] = [{"name": c["name"], "arguments": json.dumps(c["arguments"])} for c in params.get("tool_calls", [])]
    return params


def _read_answer(o: Outcome, reply: dict[str, Any]) -> Outcome:
    """Reads an answer in place of a tool. An answer that failed with an error is a refusal."""
    o.verdict, o.answer = "answer", reply["result"]
    if reply.get("success") is False:
        try:
            said = json.loads(o.answer)
            o.verdict, o.reason, o.suggest = "deny", said["error"], said.get("suggest", "")
        except (ValueError, KeyError, TypeError):
            pass
    return o
