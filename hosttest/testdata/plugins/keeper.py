"""A python plugin: rewrites raw to cooked in commands, and keeps a password out of results."""
__plugin__ = {"api": "1.0", "name": "keeper"}


@on_tool_call
async def cook(ctx, call):
    command = call.input.get("cmd", "")
    if call.tool_name != "shell" or "raw" not in command:
        return None
    return ToolCall(
        tool_name=call.tool_name,
        tool_call_id=call.tool_call_id,
        input={**call.input, "cmd": command.replace("raw", "cooked")},
    )


@on_tool_result
async def hide(ctx, call, result):
    if "hunter2" not in result.output:
        return None
    return ToolResult(
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        output=result.output.replace("hunter2", "[kept back]"),
        success=result.success,
    )
