"""Calls the six hooks of a list of plugins, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .invocation import DEFAULT_LIMIT, HookError, Invocation
from .loader import LoadedPlugin
from .models import PluginContext, ToolCall, ToolResult


class PluginPipeline:
    """Calls plugins one after another. Their errors are logged, and the others go on: docs/protocols/python.md, row P38."""

    def __init__(self, plugins: Sequence[LoadedPlugin], timeout_s: float = DEFAULT_LIMIT):
        self.plugins = list(plugins)
        self.timeout_s = timeout_s  # for each handler

    async def on_begin(self, ctx: PluginContext) -> None:
        """Tell plugins that a request starts."""
        for plugin in self.plugins:
            await self._ask(plugin, "on_begin", ctx)

    async def on_tool_call(self, ctx: PluginContext, call: ToolCall) -> ToolCall:
        """Let plugins change a call before the tool runs. Each gets the call as changed by those before it."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_tool_call", ctx, call)
            call = call if changed is None else changed
        return call

    async def on_resolve_tool(self, ctx: PluginContext, call: ToolCall) -> ToolResult | None:
        """Return the first result that a plugin gives in place of the tool, or None."""
        for plugin in self.plugins:
            result = await self._ask(plugin, "on_resolve_tool", ctx, call)
            if result is not None:
                return result
        return None

    async def on_tool_result(self, ctx: PluginContext, call: ToolCall, result: ToolResult) -> ToolResult:
        """Let plugins change a tool's result. Each gets the result as changed by those before it."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_tool_result", ctx, call, result)
            result = result if changed is None else changed
        return result

    async def on_final(self, ctx: PluginContext, text: str) -> str:
        """Let plugins change the final answer, even an empty one. The host itself does not call on_final for an empty text."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_final", ctx, text)
            text = text if changed is None else changed
        return text

    async def on_done(self, ctx: PluginContext) -> None:
        """Tell plugins that a request is over."""
        for plugin in self.plugins:
            await self._ask(plugin, "on_done", ctx)

    def __len__(self) -> int:
        return len(self.plugins)

    async def _ask(self, plugin: LoadedPlugin, hook: str, *args: Any) -> Any:
        """Return the answer of one plugin. None: it has no handler, changes nothing, or failed, which is logged."""
        if hook not in plugin.hooks:
            return None
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def finish(value: Any, _: HookError | None) -> None:
            if not answer.done():
                answer.set_result(value)

        invocation = Invocation(plugin, hook, self.timeout_s, finish)
        invocation.start(*args)
        try:
            return await answer
        except asyncio.CancelledError:
            invocation.cancel()
            raise
