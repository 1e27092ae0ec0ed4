package demo

// footer lists the tools of a turn below the answer.
var footer = file{pythonFolder, "footer.py", `"""Says which tools were used."""
__plugin__ = {"api": "1.0", "name": "footer"}

@on_begin
async def start(ctx):
    ctx.state["tools"] = []

@on_tool_call
async def note(ctx, call):
    ctx.state["tools"].append(call.tool_name)

@on_final
async def sign(ctx, text):
    return f"{text}\n\n(tools used: {', '.join(ctx.state['tools']) or 'none'})"
`}
