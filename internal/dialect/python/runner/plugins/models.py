"""What handlers are given and return. Fields and defaults are the protocol's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class PluginContext:
    """One request. All plugins of the request are given the same object at every hook."""

    session_id: str
    working_dir: str
    user_text: str
    state: dict[str, Any] = field(default_factory=dict)  # for plugins to keep what they like
    memory: list[dict[str, Any]] = field(default_factory=list)  # "Context injection (future use)"


@dataclass
class ToolCall:
    """A tool that is about to run."""

    tool_name: str
    tool_call_id: str
    input: dict[str, Any]


@dataclass
class ToolResult:
    """What a tool came to, or what a plugin says in its place."""

    tool_call_id: str
    tool_name: str
    output: str
    success: bool = True
    error: str | None = None
