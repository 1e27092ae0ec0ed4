#!/usr/bin/env python3
"""my-plugin is an MCP server with one tool, which counts words."""
from patchbay_plugin import Plugin

p = Plugin("my-plugin", "0.1.0", "Counts words")


@p.tool("Count the words, lines and characters of a text")
def count(text: str) -> str:
    """If it raises an exception, the call fails."""
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    return f"words: {len(text.split())}, lines: {lines}, characters: {len(text)}"


if __name__ == "__main__":
    p.main()
