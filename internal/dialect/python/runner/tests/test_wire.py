from __future__ import annotations

import unittest

from plugins import wire


class WireTest(unittest.TestCase):
    def test_lines_may_arrive_in_pieces(self):
        text = b'{"a":1}\n\n{"b":2}\nrest'
        for size in range(1, len(text) + 1):
            got: list[bytes] = []
            lines = wire.Lines(got.append)
            for i in range(0, len(text), size):
                lines.feed(text[i : i + size])
            self.assertEqual(got, [b'{"a":1}', b'{"b":2}'], size)

    def test_json_is_compact_and_readable(self):
        self.assertEqual(wire.encode({"a": [1, "é<"]}), '{"a":[1,"é<"]}'.encode())

    def test_half_a_surrogate_is_escaped(self):
        self.assertEqual(wire.encode("\ud800é"), b'"\\ud800\\u00e9"')

    def test_a_value_that_cannot_be_json_is_an_error(self):
        loop: list = []
        loop.append(loop)
        for value in (object(), float("nan"), loop, {("a",): 1}):
            with self.subTest(type(value)), self.assertRaises((TypeError, ValueError)):
                wire.encode(value)

    def test_the_id_of_a_message_that_cannot_be_decoded(self):
        for line, ident in (
            (b'{"jsonrpc":"2.0","method":"call","params":{"id":3},"id":12}', 12),
            (b'{"jsonrpc":"2.0","id":7,"method":"call","params":[[[', 7),
            (b'{"jsonrpc":"2.0","method":"call","params":{"id":3}}', None),
            (b"garbage", None),
        ):
            with self.subTest(line):
                self.assertEqual(wire.id_of(line), ident)
