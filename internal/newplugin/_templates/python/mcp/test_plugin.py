"""Tests of my-plugin: python3 test_plugin.py"""
import pathlib
import runpy
import unittest

from patchbay_plugintest import Failed, Host

p = runpy.run_path(str(pathlib.Path(__file__).with_name("my-plugin.py")))["p"]


class Test(unittest.TestCase):
    def test_count(self):
        with Host(p, "mcp") as host:
            self.assertEqual(host.tool("count", {"text": "to be or not to be"}), "words: 6, lines: 1, characters: 18")
            with self.assertRaises(Failed):
                host.tool("count", {"text": 7})


if __name__ == "__main__":
    unittest.main()
