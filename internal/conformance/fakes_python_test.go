//go:build unix

package conformance

import "strings"

// pythonPlugin has every hook and no fault.
const pythonPlugin = `"""A fake."""
import asyncio
import subprocess
import threading
import time

__plugin__ = {"api": "1.0", "name": "fake", "version": "1.0"}


@on_begin
async def begin(ctx):
    ctx.state["calls"] = 0


@on_tool_call
async def before(ctx, call):
    ctx.state["calls"] += 1
    return None


@on_resolve_tool
async def resolve(ctx, call):
    return None


@on_tool_result
async def after(ctx, call, result):
    return None


@on_final
async def final(ctx, text):
    return text + "!"


@on_done
async def done(ctx):
    print("done", ctx.state["calls"])
`

func pythonFaults() []fault {
	list := []fault{
		{name: "fine", want: ""},
		{name: "syntax", want: "!file.loads"},
		{name: "raises-at-load", want: "!file.loads"},
		{name: "api", want: "!file.loads"},
		{name: "exits-at-load", want: "!file.loads"},
		{name: "parameters", want: "!file.loads"},
		{name: "field", want: "!hooks.known"},
		{name: "hangs-at-load", want: "!load.time", brief: "file.loads"},
		{name: "slow-load", want: "?load.time", brief: "load.time"},
		{name: "misspelt", want: "!hooks.known"},
		{name: "twice", want: "!hooks.known"},
		{name: "raises", want: "!hook.answers"},
		{name: "raises-on-empty", want: "!hook.answers"},
		{name: "exits", want: "!hook.answers"},
		{name: "type", want: "!hook.type"},
		{name: "type-input", want: "!hook.type"},
		{name: "type-set", want: "!hook.type"},
		{name: "type-output", want: "!hook.type"},
		{name: "type-success", want: "!hook.type"},
		{name: "type-unseen", want: "!hook.type"},
		{name: "slow", want: "!hook.time", brief: "hook.answers"},
		{name: "blocks", want: "!hook.blocking"},
		{name: "blocks-long", want: "!hook.time !hook.blocking", brief: "hook.time"},
		{name: "in-place", want: "?hook.inplace"},
		{name: "global-state", want: "!requests.apart"},
		{name: "huge", want: "!input.huge"},
		{name: "thread", want: "!process.exit"},
		{name: "leaves", want: "!process.left"},
		{name: "no-python", want: "!interpreter.found"},
	}
	for i := range list {
		list[i].dialect = "python"
	}
	return list
}

// pythonFake returns the plugin, changed by a fault.
func pythonFake(fault string) string {
	final := `    return text + "!"`
	for name, change := range map[string][2]string{
		"syntax":          {"__plugin__", "__plugin__ ="},
		"raises-at-load":  {"__plugin__", "raise RuntimeError('no')\n__plugin__"},
		"api":             {`"1.0", "name"`, `"2.0", "name"`},
		"exits-at-load":   {"__plugin__", "import os\nos._exit(3)\n__plugin__"},
		"parameters":      {"final(ctx, text)", "final(text)"},
		"field":           {`"version"`, `"verison"`},
		"hangs-at-load":   {"__plugin__", "time.sleep(3600)\n__plugin__"},
		"slow-load":       {"__plugin__", "time.sleep(0.3)\n__plugin__"},
		"misspelt":        {"@on_final", "@on_finale"},
		"twice":           {"@on_final", "@on_final\nasync def another(ctx, text):\n    return None\n\n\n@on_final"},
		"raises":          {final, "    return text / 2"},
		"raises-on-empty": {"    ctx.state[\"calls\"] += 1", "    ctx.state[\"calls\"] += 1\n    call.input[\"cmd\"]"},
		"exits":           {final, "    import os\n    os._exit(3)"},
		"type":            {final, "    return {\"text\": text}"},
		"type-input":      {"    ctx.state[\"calls\"] += 1\n    return None", "    ctx.state[\"calls\"] += 1\n    return ToolCall(call.tool_name, call.tool_call_id, str(call.input))"},
		"type-set":        {"    ctx.state[\"calls\"] += 1\n    return None", "    ctx.state[\"calls\"] += 1\n    return ToolCall(call.tool_name, call.tool_call_id, {'seen': set(call.input)})"},
		"type-success":    {"async def resolve(ctx, call):\n    return None", "async def resolve(ctx, call):\n    return ToolResult(call.tool_call_id, call.tool_name, 'no', str(False))"},
		"type-output":     {"async def after(ctx, call, result):\n    return None", "async def after(ctx, call, result):\n    return ToolResult(call.tool_call_id, call.tool_name, result.output.split())"},
		"type-unseen":     {final, "    if text == 'never said':\n        return [text]\n    return None"},
		"slow":            {final, "    await asyncio.sleep(3600)"},
		"blocks":          {final, "    if text == 'a':\n        time.sleep(1.5)\n    return None"},
		"blocks-long":     {final, "    if text == 'a':\n        time.sleep(1.5)\n    return None"},
		"in-place":        {"    ctx.state[\"calls\"] += 1", "    ctx.state[\"calls\"] += 1\n    call.input[\"timeout\"] = 30"},
		"global-state": {"@on_begin\nasync def begin(ctx):\n    ctx.state[\"calls\"] = 0", "current = []\n\n\n@on_begin\nasync def begin(ctx):\n" +
			"    ctx.state[\"calls\"] = 0\n    await asyncio.sleep(0.01)\n    assert not current, 'another request is under way'\n    current.append(ctx)\n    await asyncio.sleep(0.05)"},
		"huge":   {final, "    assert len(text) < 65536, 'too long'\n    return None"},
		"thread": {final, "    threading.Thread(target=time.sleep, args=(3600,)).start()\n    return None"},
		"leaves": {final, "    subprocess.Popen(['sleep', '300'], start_new_session=True)\n    return None"},
	} {
		if fault == name {
			text := strings.Replace(pythonPlugin, change[0], change[1], 1)
			if fault == "global-state" {
				text = strings.Replace(text, "    print(\"done\"", "    current.remove(ctx)\n    print(\"done\"", 1)
			}
			return text
		}
	}
	return pythonPlugin
}
