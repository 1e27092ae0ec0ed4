from __future__ import annotations

import ast

from plugins.answers import wrong_answers

from . import PluginCase

HANDLER = "@{hook}\nasync def f(ctx, call):\n    return {value}\n"


class AnswersTest(PluginCase):
    def wrong(self, text: str) -> list[str]:
        return wrong_answers(ast.parse(text))

    def test_an_answer_of_the_wrong_type_is_a_warning(self):
        for hook, value, what in (
            ("on_final", "{'text': text}", "a dict, not a str or None"),
            ("on_final", "[text]", "a list, not a str or None"),
            ("on_final", "{text}", "a set, not a str or None"),
            ("on_final", "(text, 1)", "a tuple, not a str or None"),
            ("on_final", "text if text else 1", "an int, not a str or None"),
            ("on_tool_call", "f'{call.tool_name}'", "a str, not a ToolCall or None"),
            ("on_tool_call", "ToolResult('1', 't', 'no')", "a ToolResult, not a ToolCall or None"),
            ("on_tool_call", "ToolCall('t', '1', 'ls')", "a ToolCall whose input is a str, not a dict"),
            ("on_tool_call", "ToolCall('t', '1', input=['ls'])", "a ToolCall whose input is a list, not a dict"),
            ("on_tool_call", "ToolCall(None, '1', {})", "a ToolCall whose tool_name is None, not a str"),
            ("on_tool_call", "ToolCall('t', '1', {'a': [0, {1}]})", "a ToolCall whose input['a'][1] is a set, which JSON does not have"),
            ("on_resolve_tool", "ToolResult('1', 't', 'x', success='no')", "a ToolResult whose success is a str, not a bool"),
            ("on_begin", "False", "a bool, which is ignored: on_begin returns nothing"),
        ):
            with self.subTest(hook, value=value):
                found = self.wrong(HANDLER.format(hook=hook, value=value))
                self.assertEqual(found, [f"f, the handler of {hook}, returns {what} (line 3)"])
                self.assertTrue(found[0].fix)

    def test_what_the_source_does_not_show_is_no_warning(self):
        for hook, value in (
            ("on_final", "None"), ("on_final", "text + '!'"), ("on_final", "''"), ("on_final", "f(text)"), ("on_final", "text or {}"),
            ("on_tool_call", "call"), ("on_tool_call", "ToolCall(*call)"), ("on_tool_call", "ToolCall('t', '1', {**call.input, 'a': (1, None)})"),
            ("on_resolve_tool", "ToolResult('1', 't', 'x', error=None)"), ("on_tool_call", "ToolCall('t', 1, {})"),
            ("on_resolve_tool", "ToolResult(1, 't', {'a': 1}, False, 7)"), ("on_resolve_tool", "await other(call)"), ("on_done", "None"),
        ):
            with self.subTest(hook, value=value):
                self.assertEqual(self.wrong(HANDLER.format(hook=hook, value=value)), [])

    def test_only_the_answers_of_handlers_count(self):
        for text in (
            "def f(ctx, text): return 1\n",
            "@on_final\n@other\ndef f(ctx, text): return 1\n",
            "def on_final(f): return f\n@on_final\ndef f(ctx, text): return 1\n",
            "@on_final\ndef f(ctx, text):\n    def g(): return 1\n    return str(g())\n",
            "class ToolCall: pass\n@on_tool_call\ndef f(ctx, call): return ToolCall(1, 2, 3)\n",
        ):
            with self.subTest(text):
                self.assertEqual(self.wrong(text), [])
