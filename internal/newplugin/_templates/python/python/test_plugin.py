"""Tests of my-plugin: python3 test_plugin.py

They use the package that runs plugins, which is part of the patchbay command.
"""
import asyncio
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, subprocess.run(["patchbay", "python", "path"], check=True, capture_output=True, text=True).stdout.strip())

from plugins import PluginPipeline, load_plugin_from_file  # noqa: E402
from plugins.models import PluginContext, ToolCall, ToolResult  # noqa: E402

FILE = pathlib.Path(__file__).with_name("my-plugin.py")


def turn(output, answer):
    """Sends one tool's result and an answer through the plugin, as a turn does."""

    async def run():
        pipeline = PluginPipeline([load_plugin_from_file(FILE)])
        ctx = PluginContext(session_id="s", working_dir=".", user_text="hi")
        await pipeline.on_begin(ctx)
        call = ToolCall("shell", "1", {"cmd": "env"})
        result = await pipeline.on_tool_result(ctx, call, ToolResult("1", "shell", output))
        return result.output, await pipeline.on_final(ctx, answer)

    return asyncio.run(run())


class Test(unittest.TestCase):
    def test_a_secret_is_hidden_and_counted(self):
        output, answer = turn("HOME=/root\nAPI_TOKEN=abc123\n", "Done.")
        self.assertEqual(output, "HOME=/root\nAPI_TOKEN=[hidden]\n")
        self.assertEqual(answer, "Done.\n\n(1 secrets hidden from the model)")

    def test_other_results_are_not_changed(self):
        self.assertEqual(turn("all is well", "Done."), ("all is well", "Done."))

    def test_quotes_are_kept_together(self):
        self.assertEqual(turn('password: "two words" end', "x")[0], "password: [hidden] end")


if __name__ == "__main__":
    unittest.main()
