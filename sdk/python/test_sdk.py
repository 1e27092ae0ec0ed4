"""Tests of the SDK in every dialect: python3 -m unittest test_sdk"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import unittest
from typing import Annotated, Any, Literal


from patchbay_plugin import (
    Answer, CommandCall, CommandEvent, CompactedEvent, CompactEvent, ContextEvent, Continue, Deny, Fail, Field, FinalEvent, IdleEvent,
    InputEvent, JobEvent, Modify, Plugin, PluginError, PromptEvent, ReplyEvent, SessionEvent, Skip, Stop, ToolEvent,
)
from patchbay_plugintest import Failed, Host, each


def whole() -> tuple[Plugin, Any, list[str]]:
    """A plugin with a handler at every point."""
    p = Plugin("whole", "1.2.3", "Has everything.", author="A", priority=7, compactor=True)
    seen: list[str] = []

    class Settings:
        limit: Annotated[int, Field("How many.", min=1, max=9, knob="Limit")] = 3
        mode: Literal["fast", "slow"] = "fast"

    class Secrets:
        token: Annotated[str, Field(env="WHOLE_TOKEN")]

    config, secrets, state = p.config(Settings), p.secrets(Secrets), p.state()
    counted = p.notification("whole.counted")

    @p.tool("Counts words.")
    def count(text: Annotated[str, "The text."], times: int = 1) -> dict[str, Any]:
        total = state.get("total", 0) + len(text.split()) * times
        state.put("total", total)
        counted({"total": total})
        return {"words": len(text.split()) * times, "total": total, "limit": config.limit, "dialect": p.call.dialect}

    @p.tool("Fails.")
    def fail(how: str) -> str:
        if how == "plainly":
            raise PluginError("it is stuck", "STUCK")
        raise KeyError(how)

    @p.tool("Waits.")
    async def wait() -> str:
        return "waited"

    @p.method("whole.who")
    def who() -> dict[str, str]:
        return {"session": p.call.session_id, "token": secrets.token}

    @p.on("tool.before")
    def before(e: ToolEvent) -> Any:
        what = e.argument("do")
        if what == "deny":
            return Deny("no", suggest="ask")
        if what == "answer":
            return Answer({"a": 1})
        if what == "modify":
            e.arguments["done"] = True
            return Modify()
        if what == "skip":
            return Skip()
        if what == "raise":
            raise RuntimeError("broken")
        if what == "print":
            print("a stray line")
        return "nonsense" if what == "nonsense" else None

    @p.on("tool.resolve", only="weather")
    def resolve(e: ToolEvent) -> Any:
        return Answer("sunny")

    @p.on("tool.after")
    def after(e: ToolEvent) -> Any:
        e.result += "!" if e.success else "?"
        return Modify()

    @p.on("turn.input")
    def message(e: InputEvent) -> Any:
        if e.message == "drop":
            return Skip()
        if e.message == "deny":
            return Deny("rude")
        e.message = e.message.upper()
        return Stop() if e.message == "STOP" else Modify()

    @p.on("prompt.context")
    def context(e: ContextEvent) -> Any:
        e.add("more")
        return Modify()

    @p.on("prompt.send")
    def prompt(e: PromptEvent) -> Any:
        e.base_prompt += "1"
        e.dynamic_context += "2"
        return Modify()

    @p.on("model.reply")
    def reply(e: ReplyEvent) -> Any:
        e.text += f"+{len(e.tool_calls)}"
        return Modify()

    @p.on("turn.final")
    def final(e: FinalEvent) -> Any:
        e.text += "."
        return Modify()

    @p.on("session.start")
    def session(e: SessionEvent) -> Any:
        e.inject = "hello " + p.call.project_id
        return Modify()

    @p.on("session.idle")
    def idle(e: IdleEvent) -> Any:
        seen.append(e.transcript[0]["content"])

    @p.on("compact.before")
    def compact(e: CompactEvent) -> Any:
        e.summary = f"{len(e.messages)} messages"
        return Modify()

    @p.on("compact.after")
    def compacted(e: CompactedEvent) -> Any:
        e.retain = e.compacted[:1]
        return Modify()

    @p.on("command.before", only="git", within=2)
    def command(e: CommandEvent) -> Any:
        p.log.info("asked", command=e.command)
        if "--force" in e.args:
            return Deny("no force", suggest="pull first")
        if "--raise" in e.args:
            raise OSError("no disk")
        e.flags["tags"] = "x"
        return Modify()

    @p.on("command.after")
    def output(e: CommandEvent) -> Any:
        e.output = e.output.strip() + "!"
        return Modify()

    @p.on("command.done")
    def done(e: CommandEvent) -> Any:
        seen.append(e.command)

    @p.on("job.preflight")
    def preflight(e: JobEvent) -> Any:
        return Deny("not now", suggest="later") if e.agent == "late" else Continue()

    @p.on("job.sink")
    def sink(e: JobEvent) -> Any:
        seen.append(f"{e.message}/{config.limit}")

    @p.on("job.notify")
    def notify(e: JobEvent) -> Any:
        return Fail("no network")

    @p.command("Greets.", args="[NAME]", user_stdin=True)
    def greet(c: CommandCall) -> None:
        c.stdout.write(f"hello {' '.join(c.args)}{c.stdin.read()}\n")
        if c.args == ["none"]:
            raise PluginError("no one is there", "NONE")

    @p.health
    def health() -> None:
        if config.mode == "slow":
            raise PluginError("slow")

    return p, config, seen


class Events(unittest.TestCase):
    def test_scaffold(self) -> None:
        p, _, _ = whole()
        with Host(p, "scaffold") as h:
            deny = h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "deny"}))
            self.assertEqual((deny.verdict, deny.reason, deny.suggest), ("deny", "no", "ask"))
            self.assertEqual(h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "answer"})).answer, '{"a":1}')
            modify = h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "modify"}))
            self.assertEqual((modify.verdict, modify.event.arguments), ("modify", {"do": "modify", "done": True}))
            self.assertEqual(h.fire("tool.before", ToolEvent(tool="x", arguments={})).verdict, "continue")
            self.assertEqual(h.fire("tool.resolve", ToolEvent(tool="weather", arguments={})).answer, "sunny")
            skip = h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "skip"}))
            self.assertIn("skip cannot be returned at tool.before: return one of NoOpinion, Continue, Fail, Modify", skip.reason)
            broken = h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "raise"}))
            self.assertEqual((broken.verdict, broken.reason), ("fail", "broken"))
            self.assertIn("RuntimeError in tool.before: broken", h.log)
            self.assertIn("returned str", h.fire("tool.before", ToolEvent(tool="x", arguments={"do": "nonsense"})).reason)
            self.assertEqual(h.fire("tool.after", ToolEvent(tool="x", result="r", success=False)).event.result, "r?")
            self.assertEqual(h.fire("turn.input", InputEvent(message="drop")).verdict, "skip")
            self.assertEqual(h.fire("turn.input", InputEvent(message="deny")).verdict, "skip")
            self.assertEqual(h.fire("turn.input", InputEvent(message="stop")).verdict, "stop")
            self.assertEqual(h.fire("turn.input", InputEvent(message="hi")).event.message, "HI")
            self.assertEqual(h.fire("prompt.context", ContextEvent(dynamic_context="a")).event.dynamic_context, "a\n\nmore")
            self.assertEqual(h.fire("prompt.send", PromptEvent(base_prompt="a", dynamic_context="b")).event.base_prompt, "a1")
            self.assertEqual(h.fire("model.reply", ReplyEvent(text="a", tool_calls=[{"name": "x", "arguments": {}}])).event.text, "a+1")
            self.assertEqual(h.fire("turn.final", FinalEvent(text="a")).event.text, "a+0.")

    def test_kaged(self) -> None:
        p, _, seen = whole()
        with Host(p, "kaged", config={"limit": 5}, secrets={"token": "t"}) as h:
            self.assertEqual(h.fire("session.start", SessionEvent(session_id="s")).event.inject, "hello test")
            self.assertEqual(h.fire("session.idle", IdleEvent(transcript=[{"role": "user", "content": "c"}])).verdict, "continue")
            self.assertEqual(seen, ["c"])
            self.assertEqual(h.fire("compact.before", CompactEvent(messages=[{}, {}])).event.summary, "2 messages")
            self.assertEqual(h.fire("compact.after", CompactedEvent(compacted=[{"role": "user", "content": "a", "x": 1}])).event.retain[0]["x"], 1)
            self.assertEqual(h.method("whole.who", {"_context": {"session_id": "s1"}}), {"session": "s1", "token": "t"})
            self.assertEqual(h.tool("count", {"text": "a b"})["limit"], 5)
            self.assertEqual(h.storage, {"total": 2})
            self.assertEqual(h.notifications, [("whole.counted", {"total": 2})])
            h.health()

    def test_mine(self) -> None:
        p, _, seen = whole()
        with Host(p, "mine") as h:
            self.assertEqual(h.fire("command.before", CommandEvent(command="git", args=["add"])).event.flags, {"tags": "x"})
            self.assertEqual(h.fire("command.before", CommandEvent(command="ls")).verdict, "continue")
            deny = h.fire("command.before", CommandEvent(command="git", args=["--force"]))
            self.assertEqual((deny.verdict, deny.reason), ("deny", "no force; pull first"))
            broken = h.fire("command.before", CommandEvent(command="git", args=["--raise"]))
            self.assertEqual((broken.verdict, broken.reason), ("fail", "no disk"))
            self.assertIn("command=git", json.loads(broken.received)["log"][0])
            after = h.fire("command.after", CommandEvent(command="git", result={"stdout": "a\n", "exit_code": 0}))
            self.assertEqual(after.event.result, {"stdout": "a!", "exit_code": 0})
            done = h.fire("command.done", CommandEvent(command="git"))
            self.assertEqual((done.received, seen), ("", ["git"]))
            h.health()
            said = h.command("greet", "you", stdin="in")
            self.assertEqual((said.stdout, said.code), ("hello youin\n", 0))
            self.assertEqual(h.command("greet", "none").error, "no one is there")
            self.assertIn("no command 'x'; there are greet", h.command("x").error)

    def test_dotagent(self) -> None:
        p, _, seen = whole()
        with Host(p, "dotagent", config={"limit": 4}) as h:
            deny = h.fire("job.preflight", JobEvent(agent="late"))
            self.assertEqual((deny.verdict, deny.reason, deny.suggest), ("deny", "not now", "later"))
            self.assertEqual(h.fire("job.preflight", JobEvent(agent="a")).verdict, "continue")
            h.fire("job.sink", JobEvent(message="m"))
            self.assertEqual(seen, ["m/4"])
            self.assertEqual(h.fire("job.notify", JobEvent()).reason, "no network")
            h.validate({"limit": 9})
            with self.assertRaisesRegex(Failed, "limit: must be at most 9; mode: must be one of fast, slow; x: is not known; there are limit, mode"):
                h.validate({"limit": 10, "mode": "odd", "x": 1})

    def test_tools_in_every_dialect(self) -> None:
        p, _, _ = whole()
        for h in each(p):
            if h.dialect in ("dotagent", "mine"):
                continue
            with self.subTest(h.dialect):
                self.assertEqual(h.tool("count", {"text": "a b c", "times": 2}), {"words": 6, "total": 6, "limit": 3, "dialect": h.dialect})
                self.assertEqual(h.tool("wait"), "waited")
                with self.assertRaisesRegex(Failed, "it is stuck"):
                    h.tool("fail", {"how": "plainly"})
                self.assertNotIn("STUCK", h.log)
                with self.assertRaisesRegex(Failed, "'oddly'"):
                    h.tool("fail", {"how": "oddly"})
                self.assertIn("KeyError in fail", h.log)
                with self.assertRaisesRegex(Failed, "text: is required"):
                    h.tool("count", {})
                with self.assertRaisesRegex(Failed, "text: must be a string; times: must be a whole number"):
                    h.tool("count", {"text": 1, "times": 1.5})
                with self.assertRaisesRegex(Failed, "no tool|unknown method"):
                    h.tool("absent")


class Detection(unittest.TestCase):
    def run_it(self, stdin: str, *args: str) -> tuple[int, str, str]:
        p, _, _ = whole()
        out, err = io.BytesIO(), io.StringIO()
        code = p.run(list(args), {}, io.BytesIO(stdin.encode()), out, err, program="/x/whole")
        return code, out.getvalue().decode(), err.getvalue()

    def test_a_guard_is_asked_about_odd_arguments(self) -> None:
        digits = "9" * 5000
        for odd in (digits, "-" + digits, "1e400", "[" * 1900 + "]" * 1900, '"\\ud800"', '"\\u0000"'):
            hello = '{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}\n'
            for number, do in enumerate(("deny", "modify"), 2):
                arguments = json.dumps('{"do":"%s","odd":%s}' % (do, odd))
                hello += '{"jsonrpc":"2.0","method":"hook/pre_tool_execute","params":{"tool_name":"x","arguments":%s},"id":%d}\n' % (arguments, number)
            _, out, err = self.run_it(hello)
            answers = [json.loads(line) for line in out.splitlines()]
            with self.subTest(odd[:9]):
                self.assertEqual(answers[1]["result"]["action"], "stop", err)
                if odd[0] in "9-1" or "ud8" in odd:
                    self.assertEqual(answers[2]["result"]["arguments"], '{"do":"modify","odd":%s,"done":true}' % odd)

    def test_an_unknown_protocol_is_refused(self) -> None:
        for stdin in ("", "hello", "[]", '{"a":1}', '{"type":"hook"}'):
            code, out, err = self.run_it(stdin)
            self.assertEqual((code, out), (2, ""), stdin)
            self.assertIn("cannot tell which protocol the host speaks", err)

    def test_a_handshake_of_two_protocols_is_refused(self) -> None:
        for params in ("{}", "[]", '{"protocol_version":1,"protocolVersion":"2025-06-18"}'):
            _, out, _ = self.run_it('{"jsonrpc":"2.0","method":"initialize","params":' + params + ',"id":1}\n')
            self.assertIn("cannot tell which protocol this is", out)

    def test_the_host_may_send_another_request_before_initialize(self) -> None:
        _, out, _ = self.run_it('{"jsonrpc":"2.0","method":"server/discover","id":0}\n\n{"jsonrpc":"2.0","method":"initialize",'
                                '"params":{"protocolVersion":"1"},"id":1}\nnonsense\n')
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(answers[0]["error"]["code"], -32601)
        self.assertEqual(answers[1]["result"]["protocolVersion"], "2025-11-25")
        self.assertEqual((answers[2]["id"], answers[2]["error"]["code"]), (None, -32600))

    def test_an_envelope_may_have_several_lines(self) -> None:
        code, out, _ = self.run_it('{\n "protocol_version": "1.0.0",\n "type": "lifecycle", "event": "health"\n}')
        self.assertEqual((code, json.loads(out)), (0, {"status": "ok"}))

    def test_another_protocol_version_is_refused(self) -> None:
        code, _, err = self.run_it('{"protocol_version":"2.0.0","type":"lifecycle","event":"health"}')
        self.assertEqual((code, json.loads(err)["code"]), (1, "UNSUPPORTED_PROTOCOL_VERSION"))
        _, out, _ = self.run_it('{"jsonrpc":"2.0","method":"initialize","params":{"api_version":2},"id":1}\n')
        self.assertIn("api_version is 2", out)

    def test_unknown_arguments_are_refused(self) -> None:
        self.assertEqual(self.run_it("", "frobnicate")[0], 2)
        self.assertEqual(self.run_it("", "info", "info")[0], 2)
        self.assertEqual(self.run_it("", "--help")[0], 0)

    def test_an_empty_stdin_is_not_a_config(self) -> None:
        code, out, _ = self.run_it("", "validate")
        self.assertEqual((code, json.loads(out)["ok"]), (1, False))

    def test_a_dialect_in_which_the_plugin_offers_nothing_is_refused(self) -> None:
        p = Plugin("small", "1.0.0", "Small.")
        p.tool("Does nothing.", name="nothing")(_nothing)
        out = io.BytesIO()
        self.assertEqual(p.run(["info"], {}, io.BytesIO(), out, io.StringIO()), 1)
        self.assertIn("small has nothing for dotagent: it needs a handler of job.preflight", out.getvalue().decode())


class Processes(unittest.TestCase):
    PLUGIN = """
import subprocess, time
from patchbay_plugin import Plugin
p = Plugin("slow", "1.0.0", "Waits.")
@p.tool("Prints where it must not, and waits.")
def wait() -> str:
    print("a stray line")
    subprocess.run(["echo", "a line of a program"])
    time.sleep(60)
    return "late"
@p.stop
def stop() -> None:
    p.log.info("stopped")
p.main()
"""

    def test_only_messages_reach_stdout_and_a_signal_ends_the_process(self) -> None:
        process = subprocess.Popen([sys.executable, "-B", "-c", self.PLUGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b'{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}\n'
                            b'{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"wait","arguments":{}},"id":2}\n')
        process.stdin.flush()
        said = b""
        while b"a line of a program" not in said:
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertIn(b"a stray line", said)
        process.terminate()
        out, rest = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn(b"stopped", rest)
        self.assertEqual([json.loads(line)["id"] for line in out.splitlines()], [1])


def _nothing() -> None:
    """Does nothing."""


class Definitions(unittest.TestCase):
    def test_wrong_definitions_raise_at_once(self) -> None:
        for name, version, description in (("Bad", "1.0.0", "d"), ("a_b", "1.0.0", "d"), ("a", "1", "d"), ("a", "1.0.0", ""), ("kaged", "1.0.0", "d")):
            with self.assertRaises(ValueError):
                Plugin(name, version, description)
        p = Plugin("a", "1.0.0", "d")
        with self.assertRaisesRegex(ValueError, "there is no point 'tool.befor'"):
            p.on("tool.befor")
        with self.assertRaisesRegex(ValueError, "only= is for tools and commands"):
            p.on("job.sink", only="x")
        with self.assertRaisesRegex(ValueError, "has no description"):
            p.tool(name="x")(lambda: None)
        with self.assertRaisesRegex(ValueError, "no handler, tool, method or command"):
            p.check()
        p.tool("Untyped.", name="untyped")(_untyped)
        with self.assertRaisesRegex(ValueError, "untyped: the parameter x has no type"):
            p.check()

    def test_manifests(self) -> None:
        p, _, _ = whole()
        kaged = p.manifest("kaged", "/x/whole.py")
        for line in ('command: ["python3","whole.py"]', "hook_timeout_sec", "roles:", "knobs:\n  limit:\n    type: int_range", "system_config_schema:"):
            (self.assertNotIn if line == "hook_timeout_sec" else self.assertIn)(line, kaged)
        mine = p.manifest("mine", "/x/whole.py")
        self.assertIn('[[hooks]]\ncommand = "git"\nstage = "preexec"\nmode = "transform"\ntimeout = "2000ms"\n', mine)
        self.assertIn('env_vars = ["WHOLE_TOKEN"]', mine)
        p.author = ""
        with self.assertRaisesRegex(ValueError, "mine requires an author"):
            p.manifest("mine")

    def test_secrets_come_from_the_environment_in_other_dialects(self) -> None:
        p = Plugin("secretive", "1.0.0", "Has a secret.")

        class Secrets:
            token: Annotated[str, Field(env="TOKEN")] = ""

        secrets = p.secrets(Secrets)
        p.tool("Tells.", name="tell")(lambda: secrets.token)
        with Host(p, "scaffold", env={"TOKEN": "t"}) as h:
            self.assertEqual(h.tool("tell"), "t")

    def test_an_invalid_config_file(self) -> None:
        p, _, _ = whole()
        with self.assertRaisesRegex(Failed, "config: limit: must be at most 9; the config is .*config.json"):
            Host(p, "scaffold", config={"limit": 99})

    def test_the_python_dialect(self) -> None:
        p, _, _ = whole()
        marked: dict[str, Any] = {}

        class ToolCall:
            def __init__(self, tool_name: str, tool_call_id: str, input: Any):
                self.tool_name, self.tool_call_id, self.input = tool_name, tool_call_id, input

        class ToolResult:
            def __init__(self, tool_call_id: str, tool_name: str, output: str, success: bool = True, error: str | None = None):
                self.tool_call_id, self.tool_name, self.output, self.success, self.error = tool_call_id, tool_name, output, success, error

        module: dict[str, Any] = {"ToolCall": ToolCall, "ToolResult": ToolResult}
        for hook in ("on_begin", "on_tool_call", "on_resolve_tool", "on_tool_result", "on_final", "on_done"):
            module[hook] = lambda function, hook=hook: marked.setdefault(hook, function)
        p.export(module)
        self.assertEqual(module["__plugin__"]["name"], "whole")
        self.assertEqual(sorted(marked), ["on_final", "on_resolve_tool", "on_tool_call", "on_tool_result"])
        self.assertEqual(marked["on_tool_call"](None, ToolCall("x", "1", {"do": "modify"})).input["done"], True)
        self.assertIsNone(marked["on_tool_call"](None, ToolCall("x", "2", {"do": "deny"})))
        refused = marked["on_resolve_tool"](None, ToolCall("x", "2", {"do": "deny"}))
        self.assertEqual((refused.success, json.loads(refused.output)), (False, {"error": "no", "suggest": "ask"}))
        self.assertEqual(marked["on_resolve_tool"](None, ToolCall("weather", "3", {})).output, "sunny")
        self.assertEqual(marked["on_tool_result"](None, ToolCall("x", "4", {}), ToolResult("4", "x", "r")).output, "r!")
        self.assertEqual(marked["on_final"](None, "a"), "a.")


def _untyped(x):  # type: ignore[no-untyped-def]
    """Has no type."""


class Storage(unittest.TestCase):
    def test_files(self) -> None:
        p = Plugin("keeper", "1.0.0", "Keeps.")
        state = p.state()

        @p.tool("Tries everything.")
        def everything() -> list[Any]:
            state.put("a/b", [1])
            state.put("a/ü" + "x" * 300, None)
            got = [state.get("a/b"), state.get("absent", "d"), len(state.list("a/")), state.list("z")]
            state.delete("a/b")
            state.delete("a/b")
            return [*got, state.get("a/b")]

        with Host(p, "scaffold") as h:
            self.assertEqual(h.tool("everything"), [[1], "d", 2, [], None])
        with self.assertRaisesRegex(PluginError, "the plugin is not running"):
            state.get("a")


if __name__ == "__main__":
    unittest.main()
