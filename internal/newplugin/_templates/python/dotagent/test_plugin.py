"""Tests of my-plugin: python3 test_plugin.py"""
import pathlib
import runpy
import tempfile
import unittest

from patchbay_plugin import JobEvent
from patchbay_plugintest import Failed, Host

p = runpy.run_path(str(pathlib.Path(__file__).with_name("dotagent-plugin-my-plugin")))["p"]


class Test(unittest.TestCase):
    def test_a_message_is_stored_under_a_heading(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "new", "kept.md")
            with Host(p, "dotagent", config={"path": str(file)}) as host:
                host.fire("job.sink", JobEvent(agent="a", schedule="daily", event="success", message="one\ntwo\n"))
            self.assertRegex(file.read_text(), r"^## a/daily, \d{4}-\d\d-\d\d \d\d:\d\d\n\none\ntwo\n\n$")

    def test_a_config_needs_a_path_that_is_not_a_directory(self):
        with Host(p, "dotagent") as host:
            host.validate({"path": "~/kept.md"})
            for config in ({}, {"path": "/"}):
                with self.subTest(config), self.assertRaises(Failed):
                    host.validate(config)


if __name__ == "__main__":
    unittest.main()
