"""A Python file becomes a plugin.

    load_plugin_from_file
      load_plugin_from_source
        _execute    the module, with decorators and models in its globals
        checked_metadata   __plugin__, with its defaults and its API version checked
        _handlers   the decorated functions, one for each hook
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import stat
import sys
import traceback
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from . import decorators, models

API_VERSION = "1.0"

# A name goes into logs and messages: one line, of a length that a person can read.
_LONGEST_NAME = 64

# No plugin written by hand comes near; the host shows no larger file either.
_LARGEST = 4 << 20

# What the loader puts into a module.
INJECTED = (*decorators.HOOKS, "PluginContext", "ToolCall", "ToolResult")

# Every load makes a module of its own, so that a reload that fails leaves the old one whole.
_numbers = itertools.count(1)


@dataclass
class LoadedPlugin:
    """A plugin that was loaded from a file."""

    name: str
    path: Path
    called: str = ""  # what it calls itself: its name, unless another file has that
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)  # in the order of a request
    coroutines: frozenset[str] = frozenset()  # the hooks whose handlers are async
    metadata: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    warnings: list[str] = field(default_factory=list)
    module: ModuleType | None = None


class PluginError(ImportError, ValueError):
    """A file is no plugin. line and column count from 1, and are 0 where they are not known.

    reaches: it failed over something outside of itself, such as a file, a module or the network.
    """

    def __init__(self, message: str, path: Path, line: int = 0, column: int = 0, fix: str = "", reaches: bool = False):
        super().__init__(message, path=str(path))
        self.line = line
        self.column = column
        self.fix = fix
        self.reaches = reaches


def load_plugin_from_file(plugin_path: str | Path) -> LoadedPlugin:
    """Load the plugin in a file.

    Raises FileNotFoundError where there is no such file, and PluginError where it cannot be read,
    is no valid Python, fails while it runs, or asks for another API.
    """
    path = Path(plugin_path)
    try:
        source = read(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"Plugin file not found: {path}") from None
    except OSError as error:
        raise PluginError(f"cannot be read: {error.strerror}", path) from error
    return load_plugin_from_source(source, path)


def read(path: Path) -> bytes:
    """The text of a file. A named pipe would be waited for, and a device need not end: both are refused."""
    _check_kind(os.stat(path), path)  # merely to open some devices does something
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        _check_kind(os.fstat(descriptor), path)  # another may have taken its place meanwhile
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise PluginError(f"cannot be read: it has more than {_LARGEST >> 20} MiB", path)
    return text


def _check_kind(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PluginError("cannot be read: it is not a regular file", path)


def load_plugin_from_source(source: str | bytes, path: Path) -> LoadedPlugin:
    """Load a plugin from its text; path is where it stands, or where it would."""
    module = ModuleType(f"plugin_{path.stem}_{next(_numbers)}")
    sys.modules[module.__name__] = module  # dataclasses and pickle look modules up there
    try:
        unknown = _execute(module, source, path)
        metadata = checked_metadata(getattr(module, "__plugin__", {}), source, path)
        hooks, warnings = _handlers(module)
        warnings = [*map(no_hook, unknown), *warnings]
    except BaseException:
        discard(module)
        raise
    return LoadedPlugin(
        name=_name(metadata["name"], path),
        path=path,
        called=metadata["name"],
        hooks=hooks,
        coroutines=frozenset(hook for hook, handler in hooks.items() if inspect.iscoroutinefunction(handler)),
        metadata=metadata,
        description=first_line(metadata.get("description") or module.__doc__),
        warnings=warnings,
        module=module,
    )


def _name(called: str, path: Path) -> str:
    """A plugin has the name it calls itself, unless that is the name of another file beside it."""
    other = path.parent / f"{called}.py"
    if called == path.stem or called[0] in "._" or other.name != f"{called}.py" or other.parent != path.parent:
        return called
    return path.stem if other.is_file() else called


def declared_name(path: Path) -> str | None:
    """What the plugin in a file calls itself, as far as that can be read without running it."""
    try:
        body = ast.parse(read(path)).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None  # loading it says what is wrong
    for statement in reversed(body):
        if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__plugin__" for t in statement.targets):
            try:
                return ast.literal_eval(statement.value).get("name")
            except (ValueError, TypeError, AttributeError, SyntaxError, MemoryError, RecursionError):
                return None
    return None


def discard(module: ModuleType | None) -> None:
    """Forget a module that is not used any more."""
    if module is not None:
        sys.modules.pop(module.__name__, None)


def _execute(module: ModuleType, source: str | bytes, path: Path) -> list[str]:
    """Run a file, and return the decorators in it that are named like hooks and are none."""
    module.__file__ = str(path)
    for hook in decorators.HOOKS:
        setattr(module, hook, getattr(decorators, hook))
    for model in (models.PluginContext, models.ToolCall, models.ToolResult):
        setattr(module, model.__name__, model)
    try:
        # Without dont_inherit the future statements of this file would hold for the plugin too.
        code = compile(source, str(path), "exec", dont_inherit=True)
        stand_ins = {name: _stand_in for name in unknown_hooks(ast.parse(source))}
        module.__dict__.update(stand_ins)
        exec(code, module.__dict__)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise fault(error, path) from error
    unknown = [name for name in stand_ins if module.__dict__.get(name) is _stand_in]
    for name in unknown:
        del module.__dict__[name]
    return unknown


def _stand_in(handler: Any) -> Any:
    """Stands in for a decorator that does not exist: the function stays as it is, and handles nothing."""
    return handler


def unknown_hooks(tree: ast.Module) -> list[str]:
    """The decorators of a file that are named like hooks and are none of ours. The file may define them itself."""
    return list(dict.fromkeys(
        decorator.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Name) and decorator.id.startswith("on_") and decorator.id not in decorators.HOOKS
    ))


def no_hook(name: str) -> str:
    """What to say of a decorator that is named like a hook and is none."""
    near = nearest(name, decorators.HOOKS)
    return f"there is no hook {name}, so what it decorates handles nothing" + (f": did you mean @{near}?" if near else "")


def fault(error: BaseException, path: Path) -> PluginError:
    """The error of a file that does not compile or does not run, with its place."""
    message = str(error.msg if isinstance(error, SyntaxError) else error)
    message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, NameError):
        message += meant(error.name)
    line, column = _place(error, str(path))
    fix = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        fix = f"install the module {error.name} for {sys.executable}"
    return PluginError(message, path, line, column, fix, _reaches(error))


def meant(name: object) -> str:
    """What follows a name that is not defined: what the loader defines and is spelt nearly so."""
    near = nearest(name, INJECTED)
    return f": did you mean {near}?" if near else ""


def nearest(name: object, known: Iterable[str]) -> str:
    """The name that was probably meant; "" where none is near."""
    from difflib import get_close_matches  # slow to import, and most plugins never need it

    near = get_close_matches(name, known, n=1, cutoff=0.75) if isinstance(name, str) else []
    return near[0] if near else ""


def unmarked(name: str, handled: Container[str]) -> str:
    """What to say of a function without a decorator that is named like a hook; "": nothing."""
    hook = name if name in decorators.HOOKS else nearest(name, decorators.HOOKS) if name.startswith("on_") else ""
    if not hook or hook in handled:
        return ""
    return f"the function {name} handles nothing: did you mean to put @{hook} before it?"


def _reaches(error: BaseException | None) -> bool:
    """Whether an error, or one behind it, is about something that is not the plugin's own."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, (OSError, ImportError)):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _place(error: BaseException, filename: str) -> tuple[int, int]:
    """Where in the file it went wrong: what does not compile says so itself, else the traceback does."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return error.lineno or 0, max(error.offset or 1, 1)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == filename:
            return frame.lineno or 0, (getattr(frame, "colno", None) or 0) + 1  # colno: Python 3.11
    return 0, 0


def checked_metadata(declared: Any, source: str | bytes, path: Path) -> dict[str, Any]:
    """What a plugin declares of itself, with the defaults. PluginError: it will not do."""
    if not isinstance(declared, dict):
        raise _misdeclared(f"__plugin__ must be a dict, not {type(declared).__name__}", source, path)
    metadata = {"api": API_VERSION, "name": path.stem, **declared}
    if str(metadata["api"]).split(".")[0] != API_VERSION.split(".")[0]:
        message = f"Incompatible plugin API version: {metadata['api']} (expected {API_VERSION})"
        raise _misdeclared(message, source, path)
    name = metadata["name"]
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME):
        message = f"the name in __plugin__ must be a string of 1 to {_LONGEST_NAME} printable characters"
        raise _misdeclared(message, source, path)
    return metadata


def _misdeclared(message: str, source: str | bytes, path: Path) -> PluginError:
    for statement in ast.parse(source).body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == "__plugin__" for t in targets):
            return PluginError(message, path, statement.lineno, statement.col_offset + 1)
    return PluginError(message, path)


def _handlers(module: ModuleType) -> tuple[dict[str, Callable[..., Any]], list[str]]:
    """The handler of each hook. Of several the last one by name counts, with a warning."""
    found: dict[str, tuple[str, Callable[..., Any]]] = {}
    warnings: list[str] = []
    for name, value in sorted(vars(module).items()):
        for hook in dict.fromkeys(decorators.hooks_of(value)):
            if hook in found and found[hook][1] is not value:
                warnings.append(f"{hook} has two handlers, {found[hook][0]} and {name}: {name} is used")
            found[hook] = (name, value)
    for name, value in vars(module).items():
        if type(value) is FunctionType and value.__globals__ is module.__dict__ and not decorators.hooks_of(value):
            warnings += filter(None, [unmarked(name, found)])
    return {hook: found[hook][1] for hook in decorators.HOOKS if hook in found}, warnings


def first_line(text: object) -> str:
    """A description: what the metadata says, or the docstring."""
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return lines[0].strip() if lines else ""
