"""Tests of my-plugin: python3 test_plugin.py"""
import pathlib
import runpy
import unittest

from patchbay_plugin import SessionEvent
from patchbay_plugintest import Failed, Host

p = runpy.run_path(str(pathlib.Path(__file__).with_name("my-plugin.py")))["p"]


class Test(unittest.TestCase):
    def test_notes_are_stored(self):
        with Host(p, "kaged") as host:
            self.assertEqual(host.fire("session.start", SessionEvent(session_id="1")).event.inject, "")
            self.assertEqual(host.tool("add", {"text": "tea"}), "kept")
            self.assertEqual(host.tool("list"), ["tea"])
            self.assertEqual(host.fire("session.start", SessionEvent(session_id="2")).event.inject, "Notes from earlier:\n- tea")

    def test_add_needs_a_text(self):
        with Host(p, "kaged") as host, self.assertRaises(Failed):
            host.tool("add", {})

    def test_the_manifest_is_up_to_date(self):
        text = pathlib.Path(__file__).with_name("manifest.yaml").read_text()
        self.assertEqual(text, p.manifest("kaged"), "./my-plugin.py manifest kaged >manifest.yaml")


if __name__ == "__main__":
    unittest.main()
