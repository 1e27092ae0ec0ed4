"""Calls the handlers of one plugin, and writes a report of each call: a line of JSON on stdout.

    harness.py PACKAGES FILE load|call|version WORK SECONDS

It runs inside the interpreter, and uses the same package as the host. The plugin's own output is on stdout
too, which is not a fault: each report begins with the word conformance.
"""
import asyncio
import copy
import inspect
import json
import os
import sys
import threading
import time
import traceback

packages, path, do, work, seconds = sys.argv[1:6]
limit = float(seconds)
sys.path.insert(0, packages)

if sys.version_info < (3, 10):
    sys.exit(f"Python {sys.version.split()[0]} is too old")
if do == "version":
    print(sys.version.split()[0])
    sys.exit(0)

from plugins.advice import WrongAnswer  # noqa: E402
from plugins.bodies import answer as encodable, remark, unencodable  # noqa: E402
from plugins.invocation import checked  # noqa: E402
from plugins.loader import PluginError, load_plugin_from_file  # noqa: E402
from plugins.models import ANSWERS, PluginContext, ToolCall, ToolResult  # noqa: E402
from plugins.wire import encode  # noqa: E402

ODD = "naïve \"quotes\" \\ back\nline\ttab ¡日本語! 😀 $HOME `ls` %s '; --"
LARGE = "a line of text, as long as lines of text are\n" * 23302
STUCK = 97  # the exit code if a thread keeps the interpreter running


def load():
    began = time.monotonic()
    try:
        plugin = load_plugin_from_file(path)
    except PluginError as error:
        return {"error": str(error), "line": error.line, "column": error.column, "fix": error.fix,
                "reaches": error.reaches}, None
    wrong = [warning for warning in plugin.warnings if isinstance(warning, WrongAnswer)]
    others = [warning for warning in plugin.warnings if warning not in wrong]
    return {"name": plugin.name, "hooks": list(plugin.hooks), "warnings": others, "wrong": wrong,
            "fixes": [getattr(warning, "fix", "") for warning in others], "seconds": time.monotonic() - began}, plugin


def line_of(error):
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == path:
            return frame.lineno or 0
    return 0


class Watch:
    """Measures how long a handler blocks the event loop."""

    def __init__(self):
        self.worst = 0.0

    async def run(self):
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.02)
            now = time.monotonic()
            self.worst = max(self.worst, now - last - 0.02)
            last = now


async def ask(plugin, hook, args, kind, part):
    """Call a handler and print a report."""
    report = {"hook": hook, "with": kind, "part": part}
    handler = plugin.hooks[hook]
    before = copy.deepcopy(args[1:])
    watch = Watch()
    watching = asyncio.ensure_future(watch.run())
    await asyncio.sleep(0)  # let the watch begin
    answer = None
    try:
        if inspect.iscoroutinefunction(handler):
            answer = await asyncio.wait_for(handler(*args), limit)
        else:
            answer = await asyncio.wait_for(asyncio.to_thread(handler, *args), limit)
        await asyncio.sleep(0.021)  # let the watch see the last moment too
    except asyncio.TimeoutError:
        report["over"] = True
    except Exception as error:
        report["error"] = f"{type(error).__name__}: {error}"[:300]
        report["line"] = line_of(error)
    watching.cancel()
    report["blocked"] = watch.worst
    check_answer(report, hook, answer, args[1:], before)
    print("conformance " + json.dumps(report), flush=True)
    return answer


def check_answer(report, hook, answer, after, before):
    report["wrong"] = wrong(hook, answer)
    if answer is None and hook in ("on_tool_call", "on_tool_result") and after != before:
        report["changed"] = "it changes what it was given and returns None, so that nothing changes"


def wrong(hook, answer):
    """Say what is wrong with the type of an answer, in the words of the host."""
    if hook not in ANSWERS:
        return "" if answer is None else f"it returned {type(answer).__name__}, not None"
    try:
        encode(encodable(checked(hook, answer)))
    except Exception as error:
        part = unencodable(answer.input, "its ToolCall's input") if isinstance(answer, ToolCall) else ""
        return part or str(error)
    if isinstance(answer, ToolResult) and not isinstance(answer.output, str):
        return f"the output of its ToolResult is {type(answer.output).__name__}, not str"
    return remark(answer)


def context(name, text="hello"):
    return PluginContext(session_id=name, working_dir=work, user_text=text)


def calls(kind):
    if kind == "large":
        return ToolCall("shell", "c1", {"cmd": LARGE}), ToolResult("c1", "shell", LARGE), LARGE
    if kind == "odd":
        return ToolCall("a-tool_no.one knows", "c 2", {"cmd": ODD, "n": 1, "list": [1, None, {"a": []}], "path": "/nowhere"}), \
            ToolResult("c 2", "a-tool_no.one knows", ODD, False, ODD), ODD
    if kind == "empty":
        return ToolCall("shell", "", {}), ToolResult("", "shell", ""), "a"
    return ToolCall("shell", "c1", {"cmd": "ls -l"}), ToolResult("c1", "shell", "a.txt\nb.txt\n"), "It is done."


async def request(plugin, ctx, kind, part):
    """Make one request, from on_begin to on_done."""
    call, result, text = calls(kind)
    for hook, args in (("on_begin", ()), ("on_tool_call", (call,)), ("on_resolve_tool", (call,)),
                       ("on_tool_result", (call, result)), ("on_final", (text,)), ("on_done", ())):
        if hook in plugin.hooks:
            await ask(plugin, hook, (ctx, *copy.deepcopy(args)), kind + " values", part)


async def main(plugin):
    for kind in ("usual", "empty", "odd"):
        await request(plugin, context("ses_" + kind, ODD if kind == "odd" else "hello"), kind, "usual")
    await asyncio.gather(request(plugin, context("ses_a"), "usual", "apart"), request(plugin, context("ses_b"), "usual", "apart"))
    await request(plugin, context("ses_large", LARGE), "large", "large")
    late = threading.Timer(2.0, overdue)
    late.daemon = True
    late.start()  # asyncio waits for threads, too


def overdue():
    sys.stderr.write("threads: " + ", ".join(t.name for t in threading.enumerate() if not t.daemon) + "\n")
    sys.stderr.flush()
    os._exit(STUCK)


about, loaded = load()
if do == "load":
    print(json.dumps(about), flush=True)
    os._exit(0)  # threads that the file has started are checked after its handlers were called
asyncio.run(main(loaded))
