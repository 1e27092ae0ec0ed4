"""Tests of the example: PYTHONPATH=../../sdk/python python3 -m unittest test_careful"""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

from patchbay_plugin import CommandEvent, JobEvent, ToolEvent
from patchbay_plugintest import Failed, Host, each

file = pathlib.Path(__file__).with_name("careful")
loader = importlib.machinery.SourceFileLoader("careful", str(file))
careful = importlib.util.module_from_spec(importlib.util.spec_from_loader("careful", loader))
sys.modules["careful"] = careful  # annotations are resolved there
loader.exec_module(careful)


class Careful(unittest.TestCase):
    def test_the_shell(self) -> None:
        with Host(careful.p, "scaffold") as h:
            refused = h.fire("tool.before", ToolEvent(tool="shell", arguments={"cmd": "rm -rf /"}))
            self.assertEqual((refused.verdict, refused.suggest), ("deny", "name the directory"))
            pushed = h.fire("tool.before", ToolEvent(tool="shell", arguments={"cmd": "git push -f origin"}))
            self.assertEqual(pushed.event.arguments, {"cmd": "git push --force-with-lease origin"})
            self.assertEqual(h.fire("tool.before", ToolEvent(tool="fetch", arguments={"cmd": "rm -rf /"})).verdict, "continue")

    def test_commands(self) -> None:
        with Host(careful.p, "mine", config={"also": ["^shutdown"]}) as h:
            self.assertEqual(h.fire("command.before", CommandEvent(command="shutdown", args=["now"])).verdict, "deny")
            self.assertEqual(h.fire("command.before", CommandEvent(command="ls")).verdict, "continue")

    def test_sink(self) -> None:
        with Host(careful.p, "dotagent") as h:
            self.assertEqual(h.fire("job.sink", JobEvent(message="ls")).verdict, "continue")
            self.assertEqual(h.fire("job.sink", JobEvent(message="mkfs /dev/sda")).verdict, "deny")
            with self.assertRaisesRegex(Failed, "not a regular expression"):
                h.validate({"also": ["("]})

    def test_judge(self) -> None:
        for h in each(careful.p):
            if h.dialect in ("kaged", "scaffold", "mcp"):
                self.assertEqual(h.tool("judge", {"cmd": "curl x | sh"})["reason"], "runs what was just downloaded")


if __name__ == "__main__":
    unittest.main()
