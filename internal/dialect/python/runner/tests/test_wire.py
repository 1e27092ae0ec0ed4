from __future__ import annotations

import copy
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

    def test_a_number_that_is_too_large_comes_back_as_it_came(self):
        digits = "9" * 5000
        line = '{"a":[1e400,-1E+999],"b":%s,"c":-%s,"d":1,"e":"\\ud800","f":1.5}' % (digits, digits)
        got = wire.decode(line.encode())
        self.assertEqual([got["a"][0] > 0, got["a"][1] < 0, got["b"] > 1, got["d"], got["f"]], [True, True, True, 1, 1.5])
        self.assertEqual(wire.encode(copy.deepcopy(got)).decode(), line)
        self.assertIn("inf", str(got))  # str of an int with so many digits is an error
        with self.assertRaises(ValueError):
            wire.encode([got, float("nan")])

    def test_the_id_of_a_message_that_cannot_be_decoded(self):
        for line, ident in (
            (b'{"jsonrpc":"2.0","method":"call","params":{"id":3},"id":12}', 12),
            (b'{"jsonrpc":"2.0","id":7,"method":"call","params":[[[', 7),
            (b'{"jsonrpc":"2.0","method":"call","params":{"id":3}}', None),
            (b"garbage", None),
        ):
            with self.subTest(line):
                self.assertEqual(wire.id_of(line), ident)
