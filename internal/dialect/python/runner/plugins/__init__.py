"""Plugins: Python files with decorated functions that take part in an agent's work.

A program uses this package as the protocol document shows: a registry finds and loads plugins, a
pipeline asks them. Patchbay runs the same code inside the interpreter that its plugins share.

    models.py      what handlers are given and return
    decorators.py  @on_begin … @on_done
    loader.py      a file becomes a LoadedPlugin, or a PluginError that says where it is at fault
    inspection.py  the same without running it, as far as it goes
    storage.py     ~/.agent/plugins: save, list, delete
    registry.py    loaded plugins, cached until reloaded
    invocation.py  one handler at work: its time limit, its errors, the type of its answer (eager.py, threads.py)
    pipeline.py    the six hooks over a list of plugins
    runner.py      the host's end of the wire, with calls.py, bodies.py, contexts.py, output.py and wire.py
"""

from .decorators import on_begin, on_done, on_final, on_resolve_tool, on_tool_call, on_tool_result
from .loader import LoadedPlugin, PluginError, load_plugin_from_file
from .models import PluginContext, ToolCall, ToolResult
from .pipeline import PluginPipeline
from .registry import PluginRegistry, plugin_registry
from .storage import delete_plugin, list_plugins, save_plugin

__all__ = [
    "LoadedPlugin",
    "PluginContext",
    "PluginError",
    "PluginPipeline",
    "PluginRegistry",
    "ToolCall",
    "ToolResult",
    "delete_plugin",
    "list_plugins",
    "load_plugin_from_file",
    "on_begin",
    "on_done",
    "on_final",
    "on_resolve_tool",
    "on_tool_call",
    "on_tool_result",
    "plugin_registry",
    "save_plugin",
]
