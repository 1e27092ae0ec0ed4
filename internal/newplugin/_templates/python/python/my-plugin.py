"""Hides secrets in the results of tools, and says so below the answer."""
import re

__plugin__ = {"api": "1.0", "name": "my-plugin", "version": "0.1.0"}

# The name of a secret, an equals sign or a colon, and the value.
SECRET = re.compile(r"(?i)\b([\w-]*(?:password|passwd|secret|token|api[_-]?key)[\w-]*\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)")


def hide(text):
    """Returns a text without the secrets in it, and how many there were."""
    return SECRET.subn(r"\1[hidden]", text)


@on_begin
async def begin(ctx):
    ctx.state["my-plugin"] = 0  # the state belongs to the turn, and all hooks of all plugins share it


@on_tool_result
async def clean(ctx, call, result):
    output, hidden = hide(result.output)
    if hidden == 0:
        return None  # unchanged
    ctx.state["my-plugin"] = ctx.state.get("my-plugin", 0) + hidden
    return ToolResult(result.tool_call_id, result.tool_name, output, result.success, result.error)


@on_final
async def tell(ctx, text):
    hidden = ctx.state.get("my-plugin", 0)
    return f"{text}\n\n({hidden} secrets hidden from the model)" if hidden else None
