#!/usr/bin/env python3
"""my-plugin is a kaged plugin: it stores notes for the agent, and gives them to the model when a session starts.

manifest.yaml declares what it offers: after a change, run `./my-plugin.py manifest kaged >manifest.yaml`.
"""
from patchbay_plugin import Modify, Plugin, SessionEvent

p = Plugin("my-plugin", "0.1.0", "Stores notes, and gives them to the model when a session starts.", program=["python3", "my-plugin.py"])
state = p.state()


@p.on("session.start")
def start(e: SessionEvent):
    """The model gets the text that it injects."""
    if not notes():
        return None
    e.inject = "\n- ".join(["Notes from earlier:", *notes()])
    return Modify()


@p.tool("Store a note for later sessions.")
def add(text: str) -> str:
    state.put("notes", [*notes(), text])
    return "kept"


@p.tool("List the stored notes.", name="list")
def notes() -> list[str]:
    return state.get("notes", [])


if __name__ == "__main__":
    p.main()
