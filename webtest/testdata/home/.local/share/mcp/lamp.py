"""An MCP server for the tests of the web page: it has one tool."""
import json
import sys

tools = [{
    "name": "switch",
    "description": "Switches the lamp.",
    "inputSchema": {"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean", "description": "Whether it shines."}}},
}]


def call(params):
    on = params["arguments"]["on"]
    print(f"the lamp is {'on' if on else 'off'}", file=sys.stderr, flush=True)
    return {"content": [{"type": "text", "text": "It shines." if on else "It is dark."}]}


answers = {
    "initialize": lambda params: {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "lamp", "version": "0.3.0"}},
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": tools},
    "tools/call": call,
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = answers.get(request["method"])
    reply = {"result": answer(request.get("params", {}))} if answer else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
