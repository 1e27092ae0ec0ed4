"""Tests of my-plugin: python3 test_plugin.py"""
import pathlib
import runpy
import unittest

from patchbay_plugin import CommandEvent
from patchbay_plugintest import Host

p = runpy.run_path(str(pathlib.Path(__file__).with_name("my-plugin.py")))["p"]


class Test(unittest.TestCase):
    def test_lease(self):
        for args, want in (
            (["push", "--force", "origin"], ["push", "--force-with-lease", "origin"]),
            (["push", "-f"], ["push", "--force-with-lease"]),
            (["status", "--force"], ["status", "--force"]),
        ):
            with self.subTest(args), Host(p, "mine") as host:
                self.assertEqual(host.fire("command.before", CommandEvent(command="git", args=args)).event.args, want)

    def test_the_manifest_is_up_to_date(self):
        text = pathlib.Path(__file__).with_name("mine-plugin.toml").read_text()
        self.assertEqual(text, p.manifest("mine", "my-plugin.py"), "./my-plugin.py manifest mine >mine-plugin.toml")


if __name__ == "__main__":
    unittest.main()
