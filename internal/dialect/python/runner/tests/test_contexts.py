from __future__ import annotations

import os
import unittest

from plugins.contexts import LINGER, Contexts

BEGIN = {"session_id": "s", "working_dir": "/w", "user_text": "hi"}


class ContextsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.timers: list[tuple[float, object]] = []
        self.contexts = Contexts(lambda after, what: self.timers.append((after, what)))

    def call(self, key: str, hook: str, plugin: str = "a", fields: dict | None = None):
        request = self.contexts.enter(key, hook, plugin, fields or {})
        self.contexts.leave(request, hook)
        return request.context

    def test_all_plugins_and_hooks_of_a_request_share_one_context(self):
        first = self.call("r", "on_begin", "a", BEGIN)
        self.assertEqual((first.session_id, first.working_dir, first.user_text), ("s", "/w", "hi"))
        self.assertIs(self.call("r", "on_begin", "b", BEGIN), first)
        self.assertIs(self.call("r", "on_tool_call", "b"), first)
        self.assertIs(self.call("r", "on_done", "b"), first)
        self.assertIs(self.call("r", "on_done", "a"), first)

    def test_requests_do_not_share(self):
        self.assertIsNot(self.call("r", "on_begin"), self.call("s", "on_begin"))

    def test_a_second_begin_of_a_plugin_is_the_next_request(self):
        for key in ("", "r"):
            first = self.call(key, "on_begin", "a", BEGIN)
            self.assertIsNot(self.call(key, "on_begin", "a", BEGIN), first)

    def test_a_begin_with_another_text_is_the_next_request(self):
        first = self.call("", "on_begin", "a", BEGIN)
        self.assertIsNot(self.call("", "on_begin", "b", {**BEGIN, "user_text": "other"}), first)

    def test_after_on_done_only_on_done_belongs_to_the_request(self):
        first = self.call("", "on_tool_call")
        self.assertIs(self.call("", "on_done", "a"), first)
        self.assertIs(self.call("", "on_done", "b"), first)
        self.assertIsNot(self.call("", "on_tool_call"), first)

    def test_a_request_without_on_done_ends_when_the_host_says_so(self):
        first = self.call("", "on_tool_call")
        self.contexts.over("")
        self.assertIsNot(self.call("", "on_tool_call"), first)
        self.contexts.over("")
        self.contexts.over("unknown")
        self.timers[-1][1]()
        self.assertEqual(len(self.contexts), 0)

    def test_a_context_lingers_after_the_end_and_is_dropped(self):
        self.call("r", "on_begin")
        self.call("r", "on_done", "a")
        self.call("r", "on_done", "b")
        self.assertEqual([after for after, _ in self.timers], [LINGER, LINGER])
        self.timers[0][1]()
        self.assertEqual(len(self.contexts), 1)
        self.timers[1][1]()
        self.assertEqual(len(self.contexts), 0)

    def test_a_context_is_kept_until_the_last_on_done(self):
        first = self.call("r", "on_done", "a")
        slow = self.contexts.enter("r", "on_done", "b", {})
        self.timers[0][1]()  # b takes its time
        self.contexts.leave(slow, "on_done")
        self.assertIs(self.call("r", "on_done", "c"), first)

    def test_the_drop_spares_the_next_request_of_the_key(self):
        self.call("r", "on_done")
        self.call("r", "on_begin")
        self.timers[0][1]()
        self.assertEqual(len(self.contexts), 1)

    def test_a_request_without_on_begin_learns_its_fields_later(self):
        context = self.call("r", "on_tool_call")
        self.assertEqual((context.session_id, context.working_dir), ("", os.getcwd()))
        self.assertIs(self.call("r", "on_begin", "b", BEGIN), context)
        self.assertEqual((context.session_id, context.working_dir, context.user_text), ("s", "/w", "hi"))

    def test_a_field_that_a_plugin_changed_is_not_overwritten(self):
        context = self.call("r", "on_begin", "a", BEGIN)
        context.user_text = "mine"
        self.assertIs(self.call("r", "on_begin", "b", BEGIN), context)
        self.call("r", "on_final", "b", BEGIN)
        self.assertEqual(context.user_text, "mine")

    def test_the_least_recently_used_goes_first(self):
        contexts = Contexts(lambda *_: None, most=2)
        for key in ("a", "b", "a", "c"):
            contexts.leave(contexts.enter(key, "on_tool_call", "p", {}), "on_tool_call")
        self.assertEqual(list(contexts._requests), ["a", "c"])

    def test_live_requests(self):
        request = self.contexts.enter("r", "on_begin", "a", {})
        self.assertEqual(self.contexts.live(0), 1)  # at work
        self.contexts.leave(request, "on_begin")
        self.assertEqual((self.contexts.live(0), self.contexts.live(60)), (0, 1))
        self.call("r", "on_done")
        self.assertEqual(self.contexts.live(60), 0)
