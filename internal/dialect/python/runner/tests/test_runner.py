from __future__ import annotations

import json
import os
import re
import signal
import sys
import unittest

from . import Host, HostCase

LIMIT = 0.1
CALL = {"tool_name": "shell", "tool_call_id": "1", "input": {"cmd": "ls"}}

# A plugin whose on_final returns an expression.
RETURNS = "@on_final\nasync def f(ctx, text): return %s\n"


class RunnerTest(HostCase):
    def call(self, path: str, hook: str, **params):
        return self.host.ask("call", plugin=path, hook=hook, request="r", **params)

    def test_the_handshake_returns_the_version_and_changes_the_directory(self):
        reply = self.host.ask("hello", dir=str(self.dir))
        self.assertEqual(reply, {"version": sys.version.split()[0], "executable": sys.executable})
        path = self.load("where", RETURNS % "__import__('os').getcwd() + ' ' + ctx.working_dir")
        here = str(self.dir.resolve())
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": f"{here} {here}"})

    def test_a_missing_directory_is_an_error(self):
        self.assertEqual(self.host.ask("hello", dir="/nowhere/at/all")["code"], -32603)

    def test_load_describes_a_plugin(self):
        text = '"""Logs."""\n__plugin__ = {"api": "1.0", "extra": {1}}\n@on_done\nasync def f(ctx): pass\n'
        path = self.write("logger", text)
        self.assertEqual(
            self.host.ask("load", path=str(path)),
            {
                "name": "logger",
                "called": "logger",
                "hooks": ["on_done"],
                "metadata": {"api": "1.0", "name": "logger", "extra": "{1}"},
                "description": "Logs.",
                "warnings": [],
                "fixes": [],
            },
        )

    def test_load_reports_the_place_of_a_fault(self):
        path = self.write("bad", "x = 1\nx = = 2\n")
        error = self.host.ask("load", path=str(path))
        self.assertEqual((error["code"], error["data"]), (-32003, {"line": 2, "column": 5, "fix": "correct line 2, which is not valid Python"}))
        self.assertEqual(error["message"], "SyntaxError: invalid syntax")

    def test_a_missing_file(self):
        self.assertIn("Plugin file not found", self.host.ask("load", path="/nowhere.py")["message"])

    def test_validate_saves_nothing(self):
        described = self.host.ask("validate", name="test_plugin", content="@on_begin\nasync def init(ctx): pass")
        self.assertEqual(described["hooks"], ["on_begin"])
        self.assertEqual(described["metadata"], {"api": "1.0", "name": "test_plugin"})
        self.assertEqual(os.listdir(self.dir), [])

    def test_validate_reads_code_as_a_file(self):
        for method in ("validate", "inspect"):
            described = self.host.ask(method, name="x", content="\ufeff@on_begin\nasync def init(ctx): pass")
            self.assertEqual(described["hooks"], ["on_begin"])

    def test_validate_takes_the_name_of_any_file(self):
        for method in ("validate", "inspect"):
            described = self.host.ask(method, name="my.plugin v2", content="@on_begin\nasync def init(ctx): pass")
            self.assertEqual(described["name"], "my.plugin v2")

    def test_validate_refuses_bad_names_and_bad_code(self):
        self.assertIn("Invalid plugin name", self.host.ask("validate", name="../x", content="")["message"])
        error = self.host.ask("validate", name="x", content="1/0")
        self.assertEqual(error["message"], "ZeroDivisionError: division by zero")

    def test_validate_reports_code_that_failed_because_of_something_outside(self):
        for content, reaches in (
            ("open('/nowhere/at/all')", True),
            ("import no_such_module", True),
            ("try:\n    open('/nowhere')\nexcept OSError:\n    raise ValueError('no settings')", True),
            ("1/0", False),
            ("x = ", False),
        ):
            with self.subTest(content):
                error = self.host.ask("validate", name="x", content=content)
                self.assertEqual(error["data"].get("reaches", False), reaches)

    def test_inspect_runs_nothing(self):
        content = "open('%s', 'w')\n@on_final\nasync def f(ctx, text): pass\n" % (self.dir / "made")
        self.assertEqual(self.host.ask("inspect", name="x", content=content)["hooks"], ["on_final"])
        self.assertEqual(os.listdir(self.dir), [])
        self.assertIn("Invalid plugin name", self.host.ask("inspect", name="../x", content="")["message"])
        self.assertEqual(self.host.ask("inspect", name="x", content="x = ")["data"]["line"], 1)

    def test_every_hook_and_its_answer(self):
        path = self.load(
            "all",
            """
            @on_begin
            async def a(ctx): ctx.state["seen"] = [ctx.session_id, ctx.working_dir, ctx.user_text]
            @on_tool_call
            async def b(ctx, call): return ToolCall(call.tool_name + "!", call.tool_call_id, {"was": call.input})
            @on_resolve_tool
            async def c(ctx, call): return ToolResult(call.tool_call_id, call.tool_name, "mine", False, "no")
            @on_tool_result
            async def d(ctx, call, result):
                seen = [result.output, result.success, result.error, call.input]
                return ToolResult(result.tool_call_id, result.tool_name, seen)
            @on_final
            async def e(ctx, text): return f"{text} {ctx.state['seen']}"
            @on_done
            async def f(ctx): return "nothing"
            """,
        )
        context = {"session_id": "s", "working_dir": "/w", "user_text": "hi"}
        self.assertIsNone(self.call(path, "on_begin", context=context))
        changed = {"tool_name": "shell!", "tool_call_id": "1", "input": {"was": {"cmd": "ls"}}}
        self.assertEqual(self.call(path, "on_tool_call", call=CALL), {"call": changed})
        mine = {"output": "mine", "success": False, "error": "no"}
        self.assertEqual(self.call(path, "on_resolve_tool", call=CALL), {"result": mine})
        given = {"output": "out", "success": False, "error": "e"}
        changed = {"output": '["out",false,"e",{"cmd":"ls"}]', "success": True, "error": None}
        self.assertEqual(self.call(path, "on_tool_result", call=CALL, result=given), {"result": changed})
        self.assertEqual(self.call(path, "on_final", text="text"), {"text": "text ['s', '/w', 'hi']"})
        self.assertIsNone(self.call(path, "on_done"))

    def test_a_request_begins_before_anything_else(self):
        path = self.load(
            "counts",
            """
            import asyncio
            @on_begin
            async def a(ctx):
                await asyncio.sleep(0.01)
                ctx.state["seen"] = []
            @on_tool_call
            async def b(ctx, call): ctx.state["seen"].append(call.tool_name)
            @on_final
            async def c(ctx, text): return ",".join(sorted(ctx.state["seen"]))
            """,
        )
        names = "abcdefgh"
        for name in names:  # at once, in a request whose on_begin was not called
            self.host.start("call", plugin=path, hook="on_tool_call", request="r", call={**CALL, "tool_name": name})
        replies = [self.host.receive()["result"] for _ in names]
        self.assertEqual(len([r for r in replies if r and "on_begin was called first" in r["note"]]), 1)
        self.assertEqual(replies.count(None), len(names) - 1)
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "a,b,c,d,e,f,g,h"})
        self.assertIsNone(self.call(path, "on_begin"))  # the next one
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": ""})

    def test_an_on_begin_that_fails_is_noted_or_fails_the_call(self):
        path = self.load(
            "a",
            """
            tries = []
            @on_begin
            async def a(ctx):
                tries.append(1)
                if len(tries) < 4: raise RuntimeError("no")
            @on_final
            async def b(ctx, text): return text + "!"
            """,
        )
        answer = self.host.ask("call", plugin=path, hook="on_final", request="r", text="x")
        self.assertEqual(answer, {"text": "x!", "note": "on_begin was called first: the request had not begun for this plugin; it failed: no"})
        for _ in range(2):  # it is tried again for each call
            error = self.host.ask("call", plugin=path, hook="on_final", request="s", text="x", strict=True)
            self.assertEqual(error["message"], "Plugin a on_final failed: on_begin, which was called first, failed: no")
            self.assertEqual(error["data"], {"type": "RuntimeError", "line": 6})
        self.assertEqual(self.host.ask("call", plugin=path, hook="on_final", request="s", text="x", strict=True)["text"], "x!")

    def test_an_exception_that_would_end_the_loop_has_one_traceback(self):
        for head in ("async def", "def"):
            for raised, told in (("SystemExit(3)", "SystemExit: 3"), ("KeyboardInterrupt", "KeyboardInterrupt")):
                with self.subTest(f"{head}, {raised}"):
                    host = Host(self.home)
                    self.addCleanup(host.kill)
                    path = str(self.write("a", f"@on_done\n{head} f(ctx):\n    raise {raised}\n"))
                    host.ask("load", path=path)
                    error = host.ask("call", plugin=path, hook="on_done", request="r")
                    self.assertEqual((error["message"], error["data"]), (f"Plugin a on_done failed: {told}", {"type": "", "line": 3}))
                    log = host.close()
                    self.assertEqual((log.count("Traceback"), log.count("a.py")), (1, 1), log)

    def test_a_hook_is_called_even_if_on_begin_fails(self):
        path = self.load(
            "a",
            """
            import asyncio
            @on_begin
            async def a(ctx):
                if ctx.user_text == "slow": await asyncio.sleep(60)
                raise RuntimeError("no")
            @on_final
            async def b(ctx, text): return text + "!"
            """,
        )
        answer = self.call(path, "on_final", text="x")
        self.assertEqual(answer["text"], "x!")
        slow = {"plugin": path, "hook": "on_final", "text": "x", "limit": LIMIT, "context": {"user_text": "slow"}}
        error = self.host.ask("call", request="s", **slow)
        self.assertEqual(error["message"], "Plugin a on_final timed out after 0.1s")
        lines = self.lines()
        self.assertIn("|a|W|Plugin a on_begin failed: no", lines)
        self.assertIn("|a|W|Plugin a on_begin timed out after 0.1s", lines)

    def test_module_globals_persist_until_a_reload(self):
        text = "n = 0\n@on_final\nasync def f(ctx, text):\n    global n\n    n += 1\n    return str(n)\n"
        path = self.load("counter", text)
        for want in ("1", "2"):
            self.assertEqual(self.call(path, "on_final", text="x"), {"text": want})
        self.host.ask("load", path=path)  # loaded already
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "3"})
        self.host.ask("reload", path=path)
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "1"})

    def test_a_hook_that_went_with_a_reload_has_no_opinion(self):
        path = self.load("a", "@on_final\nasync def f(ctx, text): return 'x'\n")
        self.write("a", "")
        self.host.ask("reload", path=path)
        self.assertIsNone(self.call(path, "on_final", text="x"))

    def test_a_reload_that_fails_keeps_the_old_module(self):
        path = self.load("a", "@on_final\nasync def f(ctx, text): return 'old'\n")
        self.write("a", "def f(:")
        self.assertEqual(self.host.ask("reload", path=path)["code"], -32003)
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "old"})

    def test_a_plugin_that_is_not_loaded(self):
        path = self.load("a", "")
        self.host.ask("unload", path=path)
        self.assertEqual(self.call(path, "on_final", text="x")["code"], -32002)

    def test_variables_can_be_added(self):
        self.host.ask("environ", vars={"PLUGIN_COLOUR": "blue"})
        path = self.load("a", "import os\n@on_final\nasync def f(ctx, text): return os.environ['PLUGIN_COLOUR']\n")
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "blue"})

    def test_output_never_reaches_the_wire(self):
        path = self.load(
            "loud",
            """
            import logging, os, subprocess, sys
            print("at load")
            @on_final
            async def f(ctx, text):
                print("printed")
                print("half", end="")
                sys.stderr.write("to stderr\\n")
                logging.getLogger("plugin.loud").info("logged")
                logging.warning("warned")
                os.write(1, b"raw\\n")
                sys.__stdout__.write("real stdout\\n"); sys.__stdout__.flush()
                subprocess.run(["echo", "from a child"])
                return repr(sys.stdin.read())
            """,
        )
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "''"})
        self.assertEqual(
            self.lines(),
            [
                "|loud|I|at load",
                "|loud|I|printed",
                "|loud|I|halfto stderr",
                "|loud|I|logged",
                "|loud|W|warned",
                "raw",
                "real stdout",
                "from a child",
            ],
        )

    def test_input_of_a_child_is_empty(self):
        path = self.load("a", "import subprocess\n" + RETURNS % "subprocess.check_output(['cat'], text=True) + '.'")
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "."})

    def test_a_fork_cannot_reach_the_wire(self):
        path = self.load(
            "forks",
            """
            import os, sys
            @on_final
            async def f(ctx, text):
                pid = os.fork()
                if pid == 0:
                    for fd in range(3, 64):
                        try: os.write(fd, b"garbage\\n")
                        except OSError: pass
                    os._exit(0)
                os.waitpid(pid, 0)
                return "parent"
            """,
        )
        self.assertEqual(self.call(path, "on_final", text="x"), {"text": "parent"})

    def test_logs_of_tasks_and_threads_are_the_plugin_s(self):
        path = self.load(
            "busy",
            """
            import asyncio
            @on_begin
            async def f(ctx):
                async def inner(): print("in a task")
                await asyncio.create_task(inner())
                await asyncio.to_thread(print, "in a thread")
            @on_done
            def g(ctx): print("in a sync handler")
            """,
        )
        self.call(path, "on_begin")
        self.call(path, "on_done")
        self.assertEqual(self.lines(), ["|busy|I|in a task", "|busy|I|in a thread", "|busy|I|in a sync handler"])

    def test_many_calls_are_under_way_at_once(self):
        path = self.load(
            "meet",
            """
            import asyncio
            waiting = asyncio.Queue()
            @on_final
            async def f(ctx, text):
                if text == "last":
                    while not waiting.empty(): waiting.get_nowait().set()
                    return "opened"
                event = asyncio.Event()
                waiting.put_nowait(event)
                await event.wait()
                return text
            """,
        )
        def start(text: str) -> int:
            return self.host.start("call", plugin=path, hook="on_final", request=text, text=text)

        asked = {start(f"t{i}"): f"t{i}" for i in range(50)}
        asked[start("last")] = "opened"
        for _ in range(len(asked)):
            reply = self.host.receive()
            self.assertEqual(reply["result"], {"text": asked.pop(reply["id"])})

    def test_errors_and_timeouts_are_logged_and_returned(self):
        path = self.load(
            "bad",
            """
            import asyncio
            @on_begin
            async def a(ctx): await asyncio.sleep(60)
            @on_done
            async def b(ctx): raise KeyError("tool_count")
            """,
        )
        timeout = self.call(path, "on_begin", limit=LIMIT)
        self.assertEqual(timeout, {"code": -32001, "message": "Plugin bad on_begin timed out after 0.1s"})
        failed = self.call(path, "on_done")
        self.assertEqual(failed["message"], "Plugin bad on_done failed: 'tool_count'")
        self.assertEqual((failed["code"], failed["data"]), (-32000, {"type": "KeyError", "line": 6}))
        lines = self.lines()
        self.assertIn("|bad|W|Plugin bad on_begin timed out after 0.1s", lines)
        self.assertIn("|bad|W|Plugin bad on_done failed: 'tool_count'", lines)
        self.assertIn("|bad|W|KeyError: 'tool_count'", lines)

    def test_an_answer_that_cannot_be_json_is_a_failure(self):
        path = self.load("a", "@on_tool_call\nasync def f(ctx, call): return ToolCall('t', '1', {'x': object()})\n")
        self.assertEqual(
            self.call(path, "on_tool_call", call=CALL)["message"],
            "Plugin a on_tool_call failed: its ToolCall's input['x'] is of type object, which JSON does not have (a.py, line 1, f)",
        )
        self.assertIn("|a|W|Plugin a on_tool_call failed: its ToolCall's input['x'] is of type object, which JSON does not have (a.py, line 1, f)", self.lines())

    def test_the_place_of_a_fault_comes_with_the_warnings_about_the_file(self):
        path = self.write("bad", "@on_fnal\nasync def f(ctx, text): pass\n@on_done()\nasync def g(ctx): pass\n")
        error = self.host.ask("load", path=str(path))
        self.assertEqual((error["data"]["line"], error["data"]["fix"]), (3, "write @on_done without parentheses"))
        self.assertIn("did you mean @on_final?", error["data"]["warnings"][0])
        self.assertEqual(error["data"]["fixes"], ["write @on_final instead of @on_fnal"])

    def test_fields_of_a_result_that_have_another_type_are_noted(self):
        path = self.load("a", "@on_resolve_tool\nasync def r(ctx, call): return ToolResult('1', 'x', 'out', 'nope', 5)")
        answer = self.host.ask("call", plugin=path, hook="on_resolve_tool", request="r", call=CALL)
        self.assertEqual(answer["result"], {"output": "out", "success": True, "error": "5"})
        self.assertEqual(answer["note"], "the success of its ToolResult is of type str, and counts as True; "
                                         "the error of its ToolResult is of type int, and becomes a text")

    def test_a_result_that_is_none_is_noted(self):
        path = self.load("a", "@on_resolve_tool\nasync def f(ctx, call): return ToolResult('1', 'x', None)\n")
        answer = self.call(path, "on_resolve_tool", call={"tool_name": "x", "tool_call_id": "1", "input": {}})
        self.assertEqual(answer["result"]["output"], "")
        self.assertEqual(answer["note"], "the output of its ToolResult is None: the result is empty")

    def test_the_interpreter_survives_exit_in_a_background_task(self):
        path = self.load(
            "quits",
            """
            import asyncio
            async def quit(): raise SystemExit(1)
            @on_begin
            async def f(ctx):
                asyncio.create_task(quit())
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            """,
        )
        self.assertIsNone(self.call(path, "on_begin"))
        self.assertIsNone(self.host.ask("ping"))

    def test_messages_that_cannot_be_understood_are_answered(self):
        self.host.send(b'{"jsonrpc":"2.0","method":"call","params":' + b"[" * 200_000 + b"]" * 200_000 + b',"id":77}\n')
        reply = self.host.receive()
        self.assertEqual((reply["id"], reply["error"]["code"]), (77, -32700))
        self.assertEqual(self.host.ask("dance")["code"], -32601)
        self.assertEqual(self.host.ask("call")["code"], -32603)

    def test_large_messages(self):
        path = self.load("a", "@on_final\nasync def f(ctx, text): return text + text\n")
        text = "é" * (1 << 20)
        self.assertEqual(self.call(path, "on_final", text=text), {"text": text + text})

    def test_the_end_cancels_running_handlers_and_runs_atexit(self):
        path = self.load(
            "late",
            """
            import asyncio, atexit
            atexit.register(lambda: print("goodbye"))
            @on_begin
            async def f(ctx):
                print("begun")
                try: await asyncio.sleep(60)
                finally: print("cancelled")
            @on_done
            def g(ctx):
                import time
                time.sleep(60)
            """,
        )
        self.host.start("call", plugin=path, hook="on_begin", request="r")
        self.host.start("call", plugin=path, hook="on_done", request="r")
        self.assertIsNone(self.host.ask("ping"))
        own = [line for line in self.lines() if "Plugin" not in line and "Error" not in line]
        self.assertEqual(own, ["|late|I|begun", "|late|I|cancelled", "||I|goodbye"])
        self.assertEqual(self.host.process.returncode, 0)

    @unittest.skipIf(sys.platform == "win32", "no SIGTERM")
    def test_a_blocked_interpreter_writes_its_stack_when_it_is_ended(self):
        path = self.load(
            "blocks", "import time\n@on_begin\nasync def f(ctx):\n    print('going')\n    time.sleep(60)\n"
        )
        self.host.start("call", plugin=path, hook="on_begin", request="r")
        self.assertIn(b"going", self.host.process.stderr.readline())
        self.host.process.send_signal(signal.SIGTERM)
        text = self.host.close()
        self.assertRegex(text, f'File "{re.escape(path)}", line [45] in f')
        self.assertEqual(self.host.process.returncode, -signal.SIGTERM)

    def test_tracebacks_of_the_runner_have_their_source(self):
        path = self.load(
            "a",
            """
            import traceback, plugins.wire
            @on_final
            async def f(ctx, text):
                try: plugins.wire.encode(object())
                except TypeError: return traceback.format_exc()
            """,
        )
        self.assertIn("text = _encode(value)", self.call(path, "on_final", text="x")["text"])


class BootstrapTest(HostCase):
    def test_a_host_that_ends_early_is_not_an_error(self):
        self.host.send(b"")
        self.assertEqual(self.host.close(), "")
        self.assertEqual(self.host.process.returncode, 0)

    def test_a_request_right_behind_the_package_is_not_lost(self):
        self.host.send(json.dumps({"jsonrpc": "2.0", "method": "ping", "id": 5}).encode() + b"\n")
        self.assertEqual(self.host.receive()["id"], 5)
