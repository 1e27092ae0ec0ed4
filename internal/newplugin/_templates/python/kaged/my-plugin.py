#!/usr/bin/env python3
"""my-plugin is a kaged plugin: it keeps notes for the agent, and brings them back when a session starts.

What it offers is also declared in manifest.yaml: after a change, run `./my-plugin.py manifest kaged >manifest.yaml`.
"""
from patchbay_plugin import Modify, Plugin, SessionEvent

p = Plugin("my-plugin", "0.1.0", "Keeps notes, and brings them back when a session starts.", program=["python3", "my-plugin.py"])
state = p.state()


@p.on("session.start")
def start(e: SessionEvent):
    """What it injects is told to the model."""
    if not notes():
        return None
    e.inject = "\n- ".join(["Notes from earlier:", *notes()])
    return Modify()


@p.tool("Keep a note for later sessions.")
def add(text: str) -> str:
    state.put("notes", [*notes(), text])
    return "kept"


@p.tool("List the notes that were kept.", name="list")
def notes() -> list[str]:
    return state.get("notes", [])


if __name__ == "__main__":
    p.main()
