from __future__ import annotations

import asyncio
import threading
import unittest

from plugins import PluginPipeline, load_plugin_from_file
from plugins.invocation import threads
from plugins.models import PluginContext, ToolCall, ToolResult

from . import PluginCase


def context() -> PluginContext:
    return PluginContext(session_id="ses_123", working_dir="/tmp", user_text="Hello")


CALL = ToolCall(tool_name="shell", tool_call_id="1", input={"cmd": "ls"})
RESULT = ToolResult(tool_call_id="1", tool_name="shell", output="out")

# A plugin whose on_final returns an expression.
RETURNS = "@on_final\nasync def g(ctx, text): return %s\n"


class PipelineTest(PluginCase, unittest.IsolatedAsyncioTestCase):
    def pipeline(self, *texts: str, limit: float = 5.0) -> PluginPipeline:
        plugins = [load_plugin_from_file(self.write(f"p{i}", text)) for i, text in enumerate(texts, 1)]
        return PluginPipeline(plugins, timeout_s=limit)

    async def warnings(self, awaitable) -> tuple[object, list[str]]:
        """Return the value of a call, and the warnings that it logged."""
        with self.assertLogs("plugins", "WARNING") as log:
            value = await awaitable
        return value, [r.getMessage() for r in log.records]

    async def test_state_is_one_object_for_all_plugins_and_hooks(self):
        pipe = self.pipeline(
            """
            @on_begin
            async def f(ctx): ctx.state["list"] = []
            """,
            """
            @on_begin
            async def f(ctx): ctx.state["list"].append("p2")
            @on_done
            async def g(ctx): ctx.state["list"].append("done")
            """,
        )
        ctx = context()
        await pipe.on_begin(ctx)
        await pipe.on_done(ctx)
        self.assertEqual(ctx.state, {"list": ["p2", "done"]})

    async def test_calls_chain_through_all_plugins(self):
        edit = """
            @on_tool_call
            async def f(ctx, call):
                return ToolCall(call.tool_name, call.tool_call_id, {**call.input, %r: len(call.input)})
            """
        call = await self.pipeline(edit % "a", edit % "b").on_tool_call(context(), CALL)
        self.assertEqual(call.input, {"cmd": "ls", "a": 1, "b": 2})

    async def test_none_leaves_a_call_as_it_is(self):
        pipe = self.pipeline("@on_tool_call\nasync def f(ctx, call): return None\n", "")
        self.assertIs(await pipe.on_tool_call(context(), CALL), CALL)

    async def test_the_first_to_resolve_wins(self):
        silent = "@on_resolve_tool\nasync def f(ctx, call): return None\n"
        answer = """
            @on_resolve_tool
            async def f(ctx, call):
                ctx.state[%r] = 1
                return ToolResult(call.tool_call_id, call.tool_name, %r)
            """
        pipe = self.pipeline(silent, answer % ("a", "first"), answer % ("b", "second"))
        ctx = context()
        result = await pipe.on_resolve_tool(ctx, CALL)
        self.assertEqual((result.output, result.success, result.error), ("first", True, None))
        self.assertEqual(ctx.state, {"a": 1})

    async def test_no_plugin_resolves(self):
        self.assertIsNone(await self.pipeline("").on_resolve_tool(context(), CALL))

    async def test_results_and_texts_chain(self):
        adds = """
            @on_tool_result
            async def f(ctx, call, result):
                return ToolResult(result.tool_call_id, result.tool_name, result.output + %r)
            @on_final
            async def g(ctx, text): return text + %r
            """
        pipe = self.pipeline(adds % ("!", "!"), adds % ("?", "?"))
        self.assertEqual((await pipe.on_tool_result(context(), CALL, RESULT)).output, "out!?")
        self.assertEqual(await pipe.on_final(context(), "text"), "text!?")

    async def test_on_final_is_asked_about_an_empty_text(self):
        pipe = self.pipeline(RETURNS % "'something'")
        self.assertEqual(await pipe.on_final(context(), ""), "something")

    async def test_a_text_may_be_emptied(self):
        pipe = self.pipeline(RETURNS % "''", RETURNS % "text + 'more'")
        self.assertEqual(await pipe.on_final(context(), "text"), "more")

    async def test_an_error_is_logged_and_the_chain_goes_on(self):
        raises = "@on_final\nasync def g(ctx, text): raise RuntimeError('kaboom')\n"
        pipe = self.pipeline(raises, RETURNS % "text + '?'")
        text, lines = await self.warnings(pipe.on_final(context(), "text"))
        self.assertEqual((text, lines), ("text?", ["Plugin p1 on_final failed: kaboom"]))

    async def test_the_log_shows_the_plugin_s_own_frames(self):
        pipe = self.pipeline("@on_begin\nasync def f(ctx):\n    ctx.state['missing']\n")
        with self.assertLogs("plugins", "WARNING") as log:
            await pipe.on_begin(context())
        trace = log.records[0].exc_info[2]
        self.assertEqual((trace.tb_lineno, trace.tb_frame.f_code.co_filename), (3, str(self.dir / "p1.py")))
        self.assertEqual(log.records[0].getMessage(), "Plugin p1 on_begin failed: 'missing'")

    async def test_errors_of_every_kind_are_only_logged(self):
        for error, text in (
            ("SystemExit(3)", "SystemExit: 3"),
            ("KeyboardInterrupt()", "KeyboardInterrupt"),
            ("StopIteration('x')", None),
            ("ValueError()", "ValueError"),
            ("asyncio.CancelledError()", "it was cancelled"),
            ("type('Mute', (Exception,), {'__str__': lambda self: 1/0})()", "Mute"),
            ("GeneratorExit()", "GeneratorExit"),
        ):
            for word in ("async def", "def"):
                with self.subTest(error, word=word):
                    pipe = self.pipeline(f"import asyncio\n@on_begin\n{word} f(ctx): raise {error}\n")
                    _, lines = await self.warnings(pipe.on_begin(context()))
                    self.assertEqual(len(lines), 1)
                    self.assertTrue(lines[0].startswith("Plugin p1 on_begin failed: "), lines)
                    if text is not None:
                        self.assertEqual(lines[0], f"Plugin p1 on_begin failed: {text}")

    async def test_a_handler_with_the_wrong_parameters_fails(self):
        pipe = self.pipeline("async def f(ctx): pass\n@on_tool_call\nasync def g(*all): return await f(*all)\n")
        _, lines = await self.warnings(pipe.on_tool_call(context(), CALL))
        self.assertEqual(lines, ["Plugin p1 on_tool_call failed: f() takes 1 positional argument but 2 were given"])

    async def test_answers_of_the_wrong_type_fail(self):
        for hook, value, args, message in (
            ("on_tool_call", "{'cmd': 'x'}", (CALL,), "it returned dict, not ToolCall or None"),
            ("on_tool_call", "ToolCall('t', '1', None)", (CALL,), "it returned a ToolCall whose input is NoneType, not dict"),
            ("on_tool_call", "ToolCall(None, '1', {})", (CALL,), "it returned a ToolCall whose tool_name is NoneType, not str"),
            ("on_resolve_tool", "'text'", (CALL,), "it returned str, not ToolResult or None"),
            ("on_tool_result", "False", (CALL, RESULT), "it returned bool, not ToolResult or None"),
            ("on_final", "b'text'", ("text",), "it returned bytes, not str or None"),
        ):
            with self.subTest(hook, value=value):
                pipe = self.pipeline(f"@{hook}\nasync def f(ctx, *args): return {value}\n")
                answer, lines = await self.warnings(getattr(pipe, hook)(context(), *args))
                self.assertEqual(lines, [f"Plugin p1 {hook} failed: {message}"])
                self.assertIs(answer, None if hook == "on_resolve_tool" else args[-1])

    async def test_the_answers_of_on_begin_and_on_done_are_ignored(self):
        pipe = self.pipeline("@on_begin\n@on_done\nasync def f(ctx): return 42\n")
        with self.assertNoLogs("plugins") if hasattr(self, "assertNoLogs") else self.subTest():
            await pipe.on_begin(context())
            await pipe.on_done(context())

    async def test_a_handler_that_takes_too_long_is_cancelled_and_the_chain_goes_on(self):
        pipe = self.pipeline(
            """
            import asyncio
            @on_final
            async def g(ctx, text):
                try: await asyncio.sleep(60)
                finally: ctx.state["cancelled"] = True
            """,
            RETURNS % "text + '?'",
            limit=0.05,
        )
        ctx = context()
        text, lines = await self.warnings(pipe.on_final(ctx, "text"))
        self.assertEqual((text, lines), ("text?", ["Plugin p1 on_final timed out after 0.05s"]))
        while "cancelled" not in ctx.state:
            await asyncio.sleep(0)

    async def test_the_default_limit_reads_5_0s(self):
        self.assertEqual(f"{PluginPipeline([]).timeout_s}s", "5.0s")

    async def test_a_handler_that_ignores_its_cancellation_does_not_hold_up_the_chain(self):
        pipe = self.pipeline(
            """
            import asyncio
            @on_begin
            async def g(ctx):
                while not ctx.state.get("enough"):
                    try: await asyncio.sleep(0.01)
                    except asyncio.CancelledError: pass
            """,
            limit=0.05,
        )
        ctx = context()
        _, lines = await self.warnings(pipe.on_begin(ctx))
        self.assertEqual(lines, ["Plugin p1 on_begin timed out after 0.05s"])
        ctx.state["enough"] = True

    async def test_a_sync_handler_that_blocks_does_not_delay_others(self):
        pipe = self.pipeline("@on_begin\ndef f(ctx): ctx.state['event'].wait()\n", limit=0.05)
        ctx = context()
        ctx.state["event"] = threading.Event()
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        clock = asyncio.ensure_future(tick())
        _, lines = await self.warnings(pipe.on_begin(ctx))
        self.assertEqual(lines, ["Plugin p1 on_begin timed out after 0.05s"])
        self.assertGreater(ticks, 0)
        await asyncio.sleep(0)
        self.assertEqual(threads.stuck, 1)
        ctx.state["event"].set()
        while threads.stuck:
            await asyncio.sleep(0.001)
        clock.cancel()

    async def test_sync_handlers_take_part(self):
        pipe = self.pipeline("@on_final\ndef f(ctx, text): return text.upper()\n")
        self.assertEqual(await pipe.on_final(context(), "text"), "TEXT")

    async def test_a_wrapper_around_an_async_function_is_awaited(self):
        pipe = self.pipeline(
            """
            import functools
            async def inner(ctx, text): return text.upper()
            @on_final
            @functools.wraps(inner)
            def f(*args): return inner(*args)
            """
        )
        self.assertEqual(await pipe.on_final(context(), "text"), "TEXT")

    async def test_cancelling_the_pipeline_cancels_the_handler(self):
        pipe = self.pipeline(
            """
            import asyncio
            @on_begin
            async def f(ctx):
                ctx.state["on"].set()
                try: await asyncio.sleep(60)
                finally: ctx.state["off"].set()
            """
        )
        ctx = context()
        ctx.state.update(on=asyncio.Event(), off=asyncio.Event())
        task = asyncio.ensure_future(pipe.on_begin(ctx))
        await ctx.state["on"].wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ctx.state["off"].wait(), 5)

    async def test_handlers_run_in_a_task(self):
        pipe = self.pipeline(
            """
            import asyncio
            @on_begin
            async def f(ctx):
                await asyncio.wait_for(asyncio.sleep(0), 1)
                ctx.state["task"] = asyncio.current_task() is not None
            """
        )
        ctx = context()
        await pipe.on_begin(ctx)
        self.assertTrue(ctx.state["task"])

    async def test_an_empty_pipeline_is_false(self):
        self.assertFalse(PluginPipeline([]))
        self.assertTrue(self.pipeline(""))
