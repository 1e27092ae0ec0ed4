"""The JSON in messages: arguments of handlers, their answers, loaded plugins, errors."""

from __future__ import annotations

import traceback
from typing import Any

from .loader import LoadedPlugin
from .models import ToolCall, ToolResult
from .threads import StoppedError
from .wire import Huge, encode


def arguments(params: dict[str, Any]) -> list[Any]:
    """Return the arguments of a handler after the context, in the order that handlers expect."""
    given: list[Any] = []
    call, result = params.get("call"), params.get("result")
    if call is not None:
        given.append(ToolCall(call["tool_name"], call["tool_call_id"], call["input"]))
    if result is not None:
        tool = given[0]
        given.append(
            ToolResult(tool.tool_call_id, tool.tool_name, result["output"], result["success"], result["error"])
        )
    if "text" in params:
        given.append(params["text"])
    return given


def unencodable(value: Any, name: str) -> str:
    """Return which part of a value is not JSON, in words, or "" if that is not known. name is the name of the value."""
    if isinstance(value, dict):
        parts = [(item, f"{name}[{key!r}]") for key, item in value.items()]
        odd = [key for key in value if not isinstance(key, (str, int, float, bool, type(None)))]
        if odd:
            return f"{name} has a key of type {type(odd[0]).__name__}, which JSON does not have"
    elif isinstance(value, (list, tuple)):
        parts = [(item, f"{name}[{number}]") for number, item in enumerate(value)]
    elif isinstance(value, float) and value - value != 0 and not isinstance(value, Huge):
        return f"{name} is {value}, which JSON does not have"
    elif isinstance(value, (str, int, float, type(None))):
        return ""
    else:
        return f"{name} is of type {type(value).__name__}, which JSON does not have"
    return next(filter(None, (unencodable(item, place) for item, place in parts)), "")


def answer(value: Any) -> dict[str, Any] | None:
    """Return a handler's answer as JSON; its type was checked. None changes nothing."""
    if isinstance(value, ToolCall):
        return {
            "call": {"tool_name": value.tool_name, "tool_call_id": str(value.tool_call_id), "input": value.input}
        }
    if isinstance(value, ToolResult):
        # Lenient: if a plugin answers in place of a tool, a wrong type must not make the tool run after all.
        error = None if value.error is None else str(value.error)
        return {"result": {"output": _text(value.output), "success": bool(value.success), "error": error}}
    return None if value is None else {"text": value}


def described(plugin: LoadedPlugin) -> dict[str, Any]:
    """Describe a plugin for the host."""
    return {
        "name": plugin.name,
        "called": plugin.called,
        "hooks": list(plugin.hooks),
        "metadata": _plain(plugin.metadata),
        "description": plugin.description,
        "warnings": plugin.warnings,
        "fixes": [getattr(warning, "fix", "") for warning in plugin.warnings],
    }


def raised(error: BaseException | None) -> dict[str, Any] | None:
    """Return the type of an exception, and the line of the plugin that raised it."""
    if error is None:
        return None
    frames = traceback.extract_tb(error.__traceback__, limit=1)
    kind = "" if isinstance(error, StoppedError) else type(error).__name__  # its text has the type
    return {"type": kind, "line": frames[0].lineno if frames else 0}


def remark(value: Any) -> str:
    """Return a note about an answer that is used although it probably is a mistake, or ""."""
    if not isinstance(value, ToolResult):
        return ""
    notes = []
    if value.output is None:
        notes.append("the output of its ToolResult is None: the result is empty")
    if not isinstance(value.success, bool):
        notes.append(f"the success of its ToolResult is of type {type(value.success).__name__}, and counts as {bool(value.success)}")
    if not isinstance(value.error, (str, type(None))):
        notes.append(f"the error of its ToolResult is of type {type(value.error).__name__}, and becomes a text")
    return "; ".join(notes)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _plain(value: Any) -> Any:
    """Return metadata as JSON. Values that JSON does not have are shown as Python shows them."""
    try:
        encode(value)
        return value
    except (TypeError, ValueError, RecursionError):
        pass
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)
