"""Plugin files in ~/.agent/plugins: list, save, delete."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from .loader import discard, load_plugin_from_source, reserved

# The names under which a plugin can be saved. None of them leads out of the directory.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def default_dir() -> Path:
    """Return the plugins directory. It depends on the current $HOME."""
    return Path.home() / ".agent" / "plugins"


def list_plugins(plugins_dir: Path | None = None) -> list[Path]:
    """Return the files of all plugins, by name. Hidden files, and names that Python itself uses, are not plugins."""
    try:
        paths = list((plugins_dir or default_dir()).glob("*.py"))
    except OSError:
        return []
    return sorted((p for p in paths if p.name[0] != "." and not reserved(p.stem) and p.is_file()), key=lambda p: p.stem)


def plugin_path(name: str, plugins_dir: Path | None = None) -> Path:
    """Return the file of a plugin, whether it exists or not. Raises ValueError for an invalid name."""
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise ValueError(f"Invalid plugin name: {name!r} (letters, digits, _ and -, 64 at most)")
    return (plugins_dir or default_dir()) / f"{name}.py"


def save_plugin(name: str, content: str, plugins_dir: Path | None = None) -> Path:
    """Save or replace a plugin atomically, and return the file's path.

    The content is loaded first. Raises PluginError if it is not a plugin; the old file stays then.
    """
    path = plugin_path(name, plugins_dir)
    if reserved(name):
        raise ValueError(f"Invalid plugin name: {name!r} (Python itself uses files of this name)")
    data = content.encode()
    discard(load_plugin_from_source(data, path).module)
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, data)
    return path


def delete_plugin(name: str, plugins_dir: Path | None = None) -> bool:
    """Delete a plugin. Return False if there was none."""
    try:
        plugin_path(name, plugins_dir).unlink()
    except FileNotFoundError:
        return False
    return True


def _replace(path: Path, data: bytes) -> None:
    """Write a temporary file and move it into place. A link in its place is replaced, not followed."""
    import tempfile  # slow to import, and most interpreters never need it

    path = path.parent.resolve() / path.name
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, _mode(path))
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file, or those of a new one."""
    try:
        return path.lstat().st_mode & 0o777 if not path.is_symlink() else 0o644
    except FileNotFoundError:
        return 0o644
