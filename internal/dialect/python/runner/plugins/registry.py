"""Loaded plugins, cached until they are reloaded, so that their module globals persist."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from .loader import LoadedPlugin, declared_name, discard, load_plugin_from_file
from .storage import NAME, list_plugins, plugin_path

logger = logging.getLogger("plugins")


class PluginRegistry:
    """The plugins of a directory, by default ~/.agent/plugins, and any file by its path."""

    def __init__(self, plugins_dir: Path | None = None):
        self.plugins_dir = plugins_dir
        self._loaded: dict[str, LoadedPlugin] = {}  # by path

    def discover(self) -> list[str]:
        """Return the names of all plugins in the directory, loaded or not."""
        return [path.stem for path in list_plugins(self.plugins_dir)]

    def load(self, name: str) -> LoadedPlugin:
        """Return the plugin of that name. Raises ValueError if there is none."""
        path = self._find(name)
        return self.get(str(path)) or _log_warnings(self.reopen(path))

    def load_many(self, names: Iterable[str]) -> list[LoadedPlugin]:
        """Return the plugins of those names, in order. Raises the error of the first one that cannot be loaded."""
        return [self.load(name) for name in names]

    def reload(self, name: str) -> LoadedPlugin:
        """Load a plugin from disk again. If that fails, the old one stays."""
        return _log_warnings(self.reopen(self._find(name)))

    def open(self, path: str | Path) -> LoadedPlugin:
        """Return the plugin in a file, and load it if necessary."""
        return self.get(str(path)) or self.reopen(path)

    def reopen(self, path: str | Path) -> LoadedPlugin:
        """Load the plugin in a file again. If that fails, the old one stays. The caller reports its warnings."""
        plugin = load_plugin_from_file(path)
        self.close(path)
        self._loaded[str(path)] = plugin
        return plugin

    def get(self, path: str) -> LoadedPlugin | None:
        """Return the plugin of a file, or None if it is not loaded."""
        return self._loaded.get(path)

    def close(self, path: str | Path) -> None:
        """Unload the plugin of a file."""
        plugin = self._loaded.pop(str(path), None)
        if plugin is not None:
            discard(plugin.module)

    def _find(self, name: str) -> Path:
        """Return the file of that name, or else the file whose __plugin__ has that name."""
        if isinstance(name, str) and NAME.fullmatch(name) and plugin_path(name, self.plugins_dir).is_file():
            return plugin_path(name, self.plugins_dir)  # without reading the directory
        for path in list_plugins(self.plugins_dir):
            if path.stem == name:
                return path
        for path in list_plugins(self.plugins_dir):
            if declared_name(path) == name:
                return path
        plugin_path(name, self.plugins_dir)  # raises another error for an invalid name
        raise ValueError(f"Plugin not found: {name}")


def _log_warnings(plugin: LoadedPlugin) -> LoadedPlugin:
    for warning in plugin.warnings:
        logger.warning("Plugin %s: %s", plugin.name, warning)
    return plugin


plugin_registry = PluginRegistry()
