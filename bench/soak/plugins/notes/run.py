"""A kaged plugin that uses its storage: its tool puts a note, reads it back, deletes the previous one and lists the rest.

Several calls may be under way at once, so each is a generator: it yields a request to the host and is given the answer.
"""

import json
import sys

waiting = {}  # generators by the id of the request that each waits for, with the id of the call that it answers
asked = 0


def say(message):
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def keep(p):
    yield "kaged.storage.put", {"key": p["key"], "value": {"note": p["note"]}}
    kept = yield "kaged.storage.get", {"key": p["key"]}
    yield "kaged.storage.delete", {"key": p["old"]}
    left = yield "kaged.storage.list", {"prefix": ""}
    return json.dumps({"note": kept["value"]["note"], "keys": len(left["keys"])})


def go_on(work, call, answer):
    global asked
    try:
        method, params = work.send(answer)
    except StopIteration as end:
        say({"jsonrpc": "2.0", "id": call, "result": end.value})
        return
    asked += 1
    waiting[asked] = (work, call)
    say({"jsonrpc": "2.0", "id": asked, "method": method, "params": params})


for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        work, call = waiting.pop(m["id"])
        if "error" in m:
            say({"jsonrpc": "2.0", "id": call, "error": m["error"]})
        else:
            go_on(work, call, m["result"])
    elif m["method"] == "notes.keep":
        go_on(keep(m["params"]), m["id"], None)
    elif m["method"] == "initialize":
        say({"jsonrpc": "2.0", "id": m["id"], "result": {
            "name": "notes", "version": "1.0.0", "api_version": 1, "methods": ["notes.ping"], "notifications": [],
            "capabilities_used": ["kaged:storage:read", "kaged:storage:write"]}})
    elif m["method"] == "kaged.hook.on_session_start":
        say({"jsonrpc": "2.0", "id": m["id"], "result": {"inject": "Notes are kept."}})
    elif "id" in m:
        say({"jsonrpc": "2.0", "id": m["id"], "result": {"ok": True}})
