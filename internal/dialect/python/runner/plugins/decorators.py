"""The decorators that make a function the handler of a hook.

They only mark functions; the loader collects the marked functions of a module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

# In the order of a request, which is also the order of all lists of hooks.
HOOKS = ("on_begin", "on_tool_call", "on_resolve_tool", "on_tool_result", "on_final", "on_done")

# What the handler of each hook is called with.
PARAMETERS = {
    "on_begin": ("ctx",),
    "on_tool_call": ("ctx", "call"),
    "on_resolve_tool": ("ctx", "call"),
    "on_tool_result": ("ctx", "call", "result"),
    "on_final": ("ctx", "text"),
    "on_done": ("ctx",),
}

_MARK = "__plugin_hooks__"

Handler = TypeVar("Handler", bound=Callable[..., Any])


class ParenthesesError(TypeError):
    """A decorator was called like a function: @on_done()."""

    def __init__(self, hook: str):
        super().__init__(f"@{hook} takes no arguments: write it without parentheses")
        self.fix = f"write @{hook} without parentheses"


def _decorator(hook: str) -> Callable[[Handler], Handler]:
    def decorate(*handlers: Handler, **options: Any) -> Handler:
        if len(handlers) != 1 or options:
            raise ParenthesesError(hook)
        handler = handlers[0]
        if not callable(handler):
            raise TypeError(f"@{hook} is for functions, not for {type(handler).__name__}")
        setattr(handler, _MARK, (*hooks_of(handler), hook))
        return handler

    decorate.__name__ = decorate.__qualname__ = hook
    decorate.__doc__ = f"Make a function the handler of {hook}."
    return decorate


def hooks_of(value: object) -> tuple[str, ...]:
    """Return the hooks that a value handles. Nearly all values handle none.

    The mark is looked up in the value's own dictionary. A module may hold objects that answer any
    getattr, such as mocks and lazy imports.
    """
    try:
        mark = value.__dict__.get(_MARK)
    except Exception:
        return ()
    return mark if isinstance(mark, tuple) else ()


on_begin = _decorator("on_begin")
on_tool_call = _decorator("on_tool_call")
on_resolve_tool = _decorator("on_resolve_tool")
on_tool_result = _decorator("on_tool_result")
on_final = _decorator("on_final")
on_done = _decorator("on_done")
