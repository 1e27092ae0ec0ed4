"""The six hooks over a list of plugins, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .invocation import DEFAULT_LIMIT, HookError, Invocation
from .loader import LoadedPlugin
from .models import PluginContext, ToolCall, ToolResult


class PluginPipeline:
    """Plugins asked one after another. "Plugin errors are logged but don't crash the pipeline"."""

    def __init__(self, plugins: Sequence[LoadedPlugin], timeout_s: float = DEFAULT_LIMIT):
        self.plugins = list(plugins)
        self.timeout_s = timeout_s  # for each handler

    async def on_begin(self, ctx: PluginContext) -> None:
        """A request starts."""
        for plugin in self.plugins:
            await self._ask(plugin, "on_begin", ctx)

    async def on_tool_call(self, ctx: PluginContext, call: ToolCall) -> ToolCall:
        """A tool is about to run; each plugin sees the call as the last one left it."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_tool_call", ctx, call)
            call = call if changed is None else changed
        return call

    async def on_resolve_tool(self, ctx: PluginContext, call: ToolCall) -> ToolResult | None:
        """Who answers in the tool's place? The first that does; None: nobody."""
        for plugin in self.plugins:
            result = await self._ask(plugin, "on_resolve_tool", ctx, call)
            if result is not None:
                return result
        return None

    async def on_tool_result(self, ctx: PluginContext, call: ToolCall, result: ToolResult) -> ToolResult:
        """A tool has run; each plugin sees the result as the last one left it."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_tool_result", ctx, call, result)
            result = result if changed is None else changed
        return result

    async def on_final(self, ctx: PluginContext, text: str) -> str:
        """The answer, before it is given. An empty one too: it is the host that asks nobody then."""
        for plugin in self.plugins:
            changed = await self._ask(plugin, "on_final", ctx, text)
            text = text if changed is None else changed
        return text

    async def on_done(self, ctx: PluginContext) -> None:
        """A request is over."""
        for plugin in self.plugins:
            await self._ask(plugin, "on_done", ctx)

    def __len__(self) -> int:
        return len(self.plugins)

    async def _ask(self, plugin: LoadedPlugin, hook: str, *args: Any) -> Any:
        """What one plugin answers. None: no handler, no opinion, or it failed, and that is logged."""
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
