"""Tests of my-plugin: python3 test_plugin.py"""
import datetime
import pathlib
import runpy
import unittest

from patchbay_plugin import ContextEvent
from patchbay_plugintest import Failed, Host

p = runpy.run_path(str(pathlib.Path(__file__).with_name("my-plugin")))["p"]


class Test(unittest.TestCase):
    def setUp(self):
        self.host = Host(p, "scaffold")
        self.addCleanup(self.host.close)

    def test_count(self):
        self.assertEqual(self.host.tool("count", {"text": "to be or not to be"}), "words: 6, lines: 1, characters: 18")
        with self.assertRaises(Failed):
            self.host.tool("count", {"text": 7})

    def test_the_date_is_in_the_context(self):
        days = [str(datetime.date.today())]
        context = self.host.fire("prompt.context", ContextEvent(user_message="hi", dynamic_context="before")).event.dynamic_context
        days.append(str(datetime.date.today()))  # the next day, if midnight was in between
        self.assertIn(context, [f"before\n\n# Date\nToday is {day}." for day in days])


if __name__ == "__main__":
    unittest.main()
