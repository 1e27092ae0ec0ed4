"""What goes over the wire as JSON: arguments of handlers, their answers, loaded plugins, errors."""

from __future__ import annotations

import traceback
from typing import Any

from .loader import LoadedPlugin
from .models import ToolCall, ToolResult
from .wire import encode


def arguments(params: dict[str, Any]) -> list[Any]:
    """What a handler is given after the context: what the params have, in this order."""
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


def answer(value: Any) -> dict[str, Any] | None:
    """A handler's answer, whose type was checked; None is no opinion."""
    if isinstance(value, ToolCall):
        return {
            "call": {"tool_name": value.tool_name, "tool_call_id": str(value.tool_call_id), "input": value.input}
        }
    if isinstance(value, ToolResult):
        # Lenient: a plugin that answers in a tool's place must not let the tool run because of a type.
        error = None if value.error is None else str(value.error)
        return {"result": {"output": _text(value.output), "success": bool(value.success), "error": error}}
    return None if value is None else {"text": value}


def described(plugin: LoadedPlugin) -> dict[str, Any]:
    """A plugin, as list, validate and reload tell of it."""
    return {
        "name": plugin.name,
        "called": plugin.called,
        "hooks": list(plugin.hooks),
        "metadata": _plain(plugin.metadata),
        "description": plugin.description,
        "warnings": plugin.warnings,
    }


def raised(error: BaseException | None) -> dict[str, Any] | None:
    """The type of an exception, and the line of the plugin where it was raised."""
    if error is None:
        return None
    frames = traceback.extract_tb(error.__traceback__, limit=1)
    return {"type": type(error).__name__, "line": frames[0].lineno if frames else 0}


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
    """Metadata may hold anything; what has no JSON is shown as Python would."""
    try:
        encode(value)
        return value
    except (TypeError, ValueError, RecursionError):
        pass
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)
