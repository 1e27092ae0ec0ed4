"""Loaded plugins, cached until they are reloaded, so that their module globals persist."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from .loader import LoadedPlugin, declared_name, discard, load_plugin_from_file
from .storage import NAME, list_plugins, plugin_path

logger = logging.getLogger("plugins")


class PluginRegistry:
    """The plugins of a directory, ~/.agent/plugins unless another is given, and any file by its path."""

    def __init__(self, plugins_dir: Path | None = None):
        self.plugins_dir = plugins_dir
        self._loaded: dict[str, LoadedPlugin] = {}  # by their files

    def discover(self) -> list[str]:
        """The names of all plugins in the directory, loaded or not."""
        return [path.stem for path in list_plugins(self.plugins_dir)]

    def load(self, name: str) -> LoadedPlugin:
        """The plugin of that name. ValueError: there is none."""
        path = self._find(name)
        return self.get(str(path)) or _told(self.reopen(path))

    def load_many(self, names: Iterable[str]) -> list[LoadedPlugin]:
        """The plugins of those names, in order. It fails with the first that cannot be loaded."""
        return [self.load(name) for name in names]

    def reload(self, name: str) -> LoadedPlugin:
        """Load a plugin from disk again. Where that fails, the old one stays."""
        return _told(self.reopen(self._find(name)))

    def open(self, path: str | Path) -> LoadedPlugin:
        """The plugin in a file, loaded now unless it was before."""
        return self.get(str(path)) or self.reopen(path)

    def reopen(self, path: str | Path) -> LoadedPlugin:
        """The plugin in a file, loaded now. Where that fails, the old one stays. Its warnings are the caller's to tell."""
        plugin = load_plugin_from_file(path)
        self.close(path)
        self._loaded[str(path)] = plugin
        return plugin

    def get(self, path: str) -> LoadedPlugin | None:
        """The plugin of a file, where it is loaded."""
        return self._loaded.get(path)

    def close(self, path: str | Path) -> None:
        """Forget the plugin of a file."""
        plugin = self._loaded.pop(str(path), None)
        if plugin is not None:
            discard(plugin.module)

    def _find(self, name: str) -> Path:
        """The file of a plugin: of that name, or, where there is none, one that calls itself so."""
        if isinstance(name, str) and NAME.fullmatch(name) and plugin_path(name, self.plugins_dir).is_file():
            return plugin_path(name, self.plugins_dir)
        for path in list_plugins(self.plugins_dir):
            if declared_name(path) == name:
                return path
        plugin_path(name, self.plugins_dir)  # a name that no plugin can have is told apart
        raise ValueError(f"Plugin not found: {name}")


def _told(plugin: LoadedPlugin) -> LoadedPlugin:
    for warning in plugin.warnings:
        logger.warning("Plugin %s: %s", plugin.name, warning)
    return plugin


plugin_registry = PluginRegistry()
