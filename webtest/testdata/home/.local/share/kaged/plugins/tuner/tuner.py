"""A kaged plugin for the tests of the web page: what it answers depends on its knobs."""
import json
import os
import socket
import sys

config = {}
greeted = 0
openings = {"calm": "Hello", "warm": "Welcome", "loud": "HEY"}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def log(text):
    print(text, file=sys.stderr, flush=True)


def greet(params):
    global greeted
    greeted += 1
    line = f"{openings[config.get('tone', 'calm')]}, {params['who']}"
    if config.get("polite"):
        line += ", please"
    if params.get("loud"):
        line = line.upper()
    log(f"greeted {params['who']} for the {greeted}. time")
    send({"method": "tuner.greeted", "params": {"who": params["who"], "total": greeted}})
    return " ".join([line] * int(config.get("times", 1))) + f" (volume {config.get('volume')})"


def dial(params):
    with socket.create_connection(("192.0.2.7", 443), 5) as connection:
        if not connection.recv(1):
            raise OSError("the connection was closed at once")


def initialize(params):
    config.update(params["config"])
    log("tuner is up")
    return {"name": "tuner", "version": "1.2.0", "api_version": 1, "methods": ["tuner.count"],
            "notifications": ["tuner.greeted"], "capabilities_used": []}


def crash(params):
    log("about to crash")
    os._exit(3)


answers = {
    "initialize": initialize,
    "health.check": lambda params: {"ok": True},
    "shutdown": lambda params: {},
    "tuner.greet": greet,
    "tuner.crash": crash,
    "tuner.dial": dial,
    "tuner.count": lambda params: {"greeted": greeted},
    "kaged.hook.on_session_start": lambda params: {"inject": f"Speak in a {config.get('tone', 'calm')} tone."},
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = answers.get(request["method"])
    if answer is None:
        send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    try:
        send({"id": request["id"], "result": answer(request.get("params", {}))})
    except Exception as e:
        send({"id": request["id"], "error": {"code": -32000, "message": str(e)}})
