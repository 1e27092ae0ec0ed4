"""The objects that handlers get and return. The protocol fixes their fields and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class PluginContext:
    """One request. All plugins of the request get the same object at every hook."""

    session_id: str
    working_dir: str
    user_text: str
    state: dict[str, Any] = field(default_factory=dict)  # for plugins to store anything
    memory: list[dict[str, Any]] = field(default_factory=list)  # not used yet


@dataclass
class ToolCall:
    """A tool that is about to run."""

    tool_name: str
    tool_call_id: str
    input: dict[str, Any]


@dataclass
class ToolResult:
    """The result of a tool, or a plugin's result in its place."""

    tool_call_id: str
    tool_name: str
    output: str
    success: bool = True
    error: str | None = None


# What each hook may return instead of None. The answers of other hooks are ignored.
ANSWERS: dict[str, type] = {
    "on_tool_call": ToolCall,
    "on_resolve_tool": ToolResult,
    "on_tool_result": ToolResult,
    "on_final": str,
}
