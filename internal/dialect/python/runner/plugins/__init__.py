"""Plugins: Python files with decorated functions that take part in an agent's work.

A program uses this package as docs/protocols/python.md shows: a registry finds and loads plugins, a
pipeline calls them. Patchbay runs the same code inside the interpreter that its plugins share.

    models.py      what handlers get and return
    decorators.py  @on_begin … @on_done
    loader.py      turns a file into a LoadedPlugin, or raises a PluginError with the place of the fault
    answers.py     warnings about handlers whose source returns a wrong type
    inspection.py  the same without running the file, as far as possible
    storage.py     ~/.agent/plugins: save, list, delete
    registry.py    loaded plugins, cached until they are reloaded
    invocation.py  one call of a handler: its time limit, its errors, the type of its answer (eager.py, threads.py)
    pipeline.py    the six hooks over a list of plugins
    runner.py      serves the host's requests, with calls.py, bodies.py, contexts.py, output.py and wire.py
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
