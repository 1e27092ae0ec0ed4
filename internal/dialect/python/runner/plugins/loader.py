"""Loads a Python file as a plugin.

    load_plugin_from_file
      load_plugin_from_source
        _execute    runs the module, with decorators and models in its globals
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
from .advice import Advice
from .answers import wrong_answers

API_VERSION = "1.0"

# Names are shown in logs and messages, so they must be short and fit on a line.
_LONGEST_NAME = 64

# Far more than a plugin written by hand; the host does not show larger files either.
_LARGEST = 4 << 20

# The names that the loader adds to a module.
INJECTED = (*decorators.HOOKS, "PluginContext", "ToolCall", "ToolResult")

# The fields of __plugin__ that are used. A plugin may have others for itself.
_FIELDS = ("api", "name", "version", "description")

# Every load makes a new module, so that a failed reload leaves the old one intact.
_numbers = itertools.count(1)


@dataclass
class LoadedPlugin:
    """A plugin that was loaded from a file."""

    name: str
    path: Path
    called: str = ""  # the name in __plugin__, which is its name unless it belongs to another file
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)  # in the order of a request
    coroutines: frozenset[str] = frozenset()  # the hooks whose handlers are async
    metadata: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    warnings: list[str] = field(default_factory=list)
    module: ModuleType | None = None


class PluginError(ImportError, ValueError):
    """A file is not a plugin. line and column count from 1, and are 0 if they are unknown.

    reaches: it failed because of something outside, such as a file, a module or the network.
    warnings: what else is wrong with the file, as far as that is known without running it.
    """

    def __init__(self, message: str, path: Path, line: int = 0, column: int = 0, fix: str = "", reaches: bool = False):
        super().__init__(message, path=str(path))
        self.warnings: list[str] = []
        self.line = line
        self.column = column
        self.fix = fix
        self.reaches = reaches


def load_plugin_from_file(plugin_path: str | Path) -> LoadedPlugin:
    """Load the plugin in a file.

    Raises FileNotFoundError if there is no such file, and PluginError if it cannot be read, is not
    valid Python, fails while it runs, or needs another API version.
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
    """Return the content of a file. Refuse named pipes, which would block, and devices, which may be endless."""
    _check_kind(os.stat(path), path)  # opening some devices has effects
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        _check_kind(os.fstat(descriptor), path)  # it may have been replaced meanwhile
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise PluginError(f"cannot be read: it has more than {_LARGEST >> 20} MiB", path)
    return text


def _check_kind(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PluginError("cannot be read: it is not a regular file", path)


def load_plugin_from_source(source: str | bytes, path: Path) -> LoadedPlugin:
    """Load a plugin from its source text; path is where its file is or would be."""
    module = ModuleType(f"plugin_{path.stem}_{next(_numbers)}")
    sys.modules[module.__name__] = module  # dataclasses and pickle need it there
    try:
        unknown, wrong = _execute(module, source, path)
        metadata = checked_metadata(getattr(module, "__plugin__", {}), source, path)
        hooks, warnings = _handlers(module)
        for hook, handler in hooks.items():
            check_call(hook, handler, source, path)
        warnings = [*map(no_hook, unknown), *warnings, *wrong, *odd_fields(metadata)]
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


def reserved(name: str) -> bool:
    """Return whether Python itself uses files of that name, such as __init__: docs/protocols/python.md, row P14."""
    return name.startswith("__") and name.endswith("__")


def _name(called: str, path: Path) -> str:
    """Return the name in __plugin__, or the file's name if that one belongs to another file: docs/protocols/python.md, row P19."""
    if called == path.stem:
        return called
    others = [p for p in path.parent.glob("*.py") if p.name[0] != "." and not reserved(p.stem) and p.is_file()]
    owned = any(p.stem == called or p.stem < path.stem and declared_name(p) == called for p in others)
    return path.stem if owned else called


def declared_name(path: Path) -> str | None:
    """Return the name in __plugin__, if it can be read without running the file."""
    try:
        body = ast.parse(read(path)).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None  # loading the file reports the error
    for statement in reversed(body):
        if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__plugin__" for t in statement.targets):
            try:
                return ast.literal_eval(statement.value).get("name")
            except (ValueError, TypeError, AttributeError, SyntaxError, MemoryError, RecursionError):
                return None
    return None


def discard(module: ModuleType | None) -> None:
    """Remove a module that is not used any more."""
    if module is not None:
        sys.modules.pop(module.__name__, None)


def _execute(module: ModuleType, source: str | bytes, path: Path) -> tuple[list[str], list[str]]:
    """Run a file. Return the decorators in it that are named like hooks but are not hooks, and warnings about answers."""
    module.__file__ = str(path)
    for hook in decorators.HOOKS:
        setattr(module, hook, getattr(decorators, hook))
    for model in (models.PluginContext, models.ToolCall, models.ToolResult):
        setattr(module, model.__name__, model)
    stand_ins: dict[str, Any] = {}
    try:
        # Without dont_inherit, the future statements of this file would apply to the plugin too.
        code = compile(source, str(path), "exec", dont_inherit=True)
        tree = ast.parse(source)
        stand_ins = {name: _stand_in for name in unknown_hooks(tree)}
        module.__dict__.update(stand_ins)
        exec(code, module.__dict__)
    except BaseException as error:  # the event loop would swallow the others, and the host wait for an answer
        failed = fault(error, path)
        # Another name may be a decorator that the file defines further below.
        missed = [name for name in stand_ins if module.__dict__.get(name) is _stand_in and nearest(name, decorators.HOOKS)]
        failed.warnings = [no_hook(name) for name in missed]
        raise failed from error
    unknown = [name for name in stand_ins if module.__dict__.get(name) is _stand_in]
    for name in unknown:
        del module.__dict__[name]
    return unknown, wrong_answers(tree)


def _stand_in(handler: Any) -> Any:
    """Replace a decorator that does not exist: the function stays as it is, and handles nothing."""
    return handler


def unknown_hooks(tree: ast.Module) -> list[str]:
    """Return the decorators of a file that are named like hooks but are not hooks. The file may define them itself."""
    return list(dict.fromkeys(
        decorator.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Name) and decorator.id.startswith("on_") and decorator.id not in decorators.HOOKS
    ))


def no_hook(name: str) -> str:
    """Return the warning about a decorator that is named like a hook but is not one."""
    near = nearest(name, decorators.HOOKS)
    text = f"there is no hook {name}, so what it decorates handles nothing"
    if near:
        return Advice(f"{text}: did you mean @{near}?", f"write @{near} instead of @{name}")
    return Advice(text, "the hooks are " + ", ".join(decorators.HOOKS))


def fault(error: BaseException, path: Path) -> PluginError:
    """Return the error of a file that does not compile or run, with its place."""
    message = str(error.msg if isinstance(error, SyntaxError) else error)
    kind = (TypeError if isinstance(error, decorators.ParenthesesError) else type(error)).__name__
    message = f"{kind}: {message}" if message else kind
    if isinstance(error, NameError):
        message += meant(error.name)
    line, column = _place(error, str(path))
    return PluginError(message, path, line, column, _fix(error, line), _reaches(error))


def _fix(error: BaseException, line: int) -> str:
    """Return how to fix a file that does not compile or run, or "" if there is nothing more to say than the error."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("plugins."):
        return "remove the import: the decorators, ToolCall and ToolResult are there without one"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install the module {error.name} for {sys.executable}"
    if isinstance(error, decorators.ParenthesesError):
        return error.fix
    if isinstance(error, SyntaxError) and line:
        return f"correct line {line}, which is not valid Python"
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "remove what ends the program: the file is loaded into an interpreter that other plugins use too"
    return ""


def meant(name: object) -> str:
    """Return a hint for an undefined name: a similar name that the loader defines, or ""."""
    near = nearest(name, INJECTED)
    return f": did you mean {near}?" if near else ""


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the most similar known name, or "" if none is similar."""
    from difflib import get_close_matches  # slow to import, and most plugins never need it

    near = get_close_matches(name, known, n=1, cutoff=0.75) if isinstance(name, str) else []
    return near[0] if near else ""


def unmarked(name: str, handled: Container[str]) -> str:
    """Return the warning about a function without a decorator that is named like a hook, or ""."""
    hook = name if name in decorators.HOOKS else nearest(name, decorators.HOOKS) if name.startswith("on_") else ""
    if not hook or hook in handled:
        return ""
    return Advice(f"the function {name} handles nothing: did you mean to put @{hook} before it?",
                  f"put @{hook} before it, or give it another name")


def _reaches(error: BaseException | None) -> bool:
    """Tell whether an error, or one of its causes, is about something outside the plugin."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, (OSError, ImportError)):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _place(error: BaseException, filename: str) -> tuple[int, int]:
    """Return the place of the error in the file: that of a syntax error, otherwise that in the traceback."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return error.lineno or 0, max(error.offset or 1, 1)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == filename:
            return frame.lineno or 0, (getattr(frame, "colno", None) or 0) + 1  # colno: Python 3.11
    return 0, 0


def checked_metadata(declared: Any, source: str | bytes, path: Path) -> dict[str, Any]:
    """Return __plugin__ with its defaults. Raises PluginError if it is not valid."""
    if not isinstance(declared, dict):
        fix = f'write __plugin__ = {{"api": "{API_VERSION}", "name": "{path.stem}"}}'
        raise _misdeclared(f"__plugin__ must be a dict, not {type(declared).__name__}", fix, source, path)
    metadata = {"api": API_VERSION, "name": path.stem, **declared}
    if str(metadata["api"]).split(".")[0] != API_VERSION.split(".")[0]:
        message = f"Incompatible plugin API version: {metadata['api']} (expected {API_VERSION})"
        raise _misdeclared(message, f'write "api": "{API_VERSION}"', source, path)
    name = metadata["name"]
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME):
        message = f"the name in __plugin__ must be a string of 1 to {_LONGEST_NAME} printable characters"
        raise _misdeclared(message, f'write "name": "{path.stem}", or leave it out', source, path)
    return metadata


def _misdeclared(message: str, fix: str, source: str | bytes, path: Path) -> PluginError:
    for statement in ast.parse(source).body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == "__plugin__" for t in targets):
            return PluginError(message, path, statement.lineno, statement.col_offset + 1, fix)
    return PluginError(message, path, fix=fix)


def odd_fields(metadata: dict[str, Any]) -> list[str]:
    """Return warnings about misspelt fields of __plugin__, and about values that cannot be shown."""
    warnings: list[str] = []
    for name, value in metadata.items():
        near = "" if name in _FIELDS else "api" if name == "api_version" else nearest(name, _FIELDS)
        if near:
            text = f"{name!r} in __plugin__ is not used: did you mean {near!r}?"
            warnings.append(Advice(text, f'write "{near}" instead of "{name}" in __plugin__'))
        elif name in ("version", "description") and not isinstance(value, str):
            text = f"{name!r} in __plugin__ is not shown: it must be a string, not {type(value).__name__}"
            example = value if isinstance(value, (int, float)) else "…"
            warnings.append(Advice(text, f'write "{name}": "{example}"'))
    return warnings


def check_call(hook: str, handler: Callable[..., Any], source: str | bytes, path: Path) -> None:
    """Raise PluginError if a handler cannot be called with what its hook passes."""
    try:
        # A wrapper is called itself, whatever it passes on to the function in it.
        signature = inspect.signature(handler, follow_wrapped=False)
    except (TypeError, ValueError):
        return  # some callables that are written in C do not tell
    try:
        signature.bind(*decorators.PARAMETERS[hook])
    except TypeError:
        name = getattr(handler, "__name__", type(handler).__name__)
        start = "async def" if inspect.iscoroutinefunction(handler) else "def"
        line, column = _definition(handler, source, path)
        names = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        takes = str(signature.replace(parameters=names, return_annotation=signature.empty))
        raise uncallable(hook, f"{start} {name}", takes, path, line, column) from None


def uncallable(hook: str, start: str, takes: str, path: Path, line: int, column: int) -> PluginError:
    """Return the error of a handler with the wrong parameters. start is the beginning of its definition."""
    wanted = f"({', '.join(decorators.PARAMETERS[hook])})"
    message = f"the handler of {hook} is called with {wanted}, but {start.split()[-1]} takes {takes}"
    return PluginError(message, path, line, column, f"write {start}{wanted}:")


def _definition(handler: Callable[..., Any], source: str | bytes, path: Path) -> tuple[int, int]:
    """Return the place of a function's definition, or zeros if it is not in the file."""
    code = getattr(inspect.unwrap(handler), "__code__", None)
    if code is None or code.co_filename != str(path):
        return 0, 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            if code.co_firstlineno in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return node.lineno, node.col_offset + 1
    return code.co_firstlineno, 1


def _handlers(module: ModuleType) -> tuple[dict[str, Callable[..., Any]], list[str]]:
    """Return the handler of each hook. If there are several, the last one by name is used, with a warning."""
    found: dict[str, tuple[str, Callable[..., Any]]] = {}
    warnings: list[str] = []
    for name, value in sorted(vars(module).items()):
        for hook in dict.fromkeys(decorators.hooks_of(value)):
            if hook in found and found[hook][1] is not value:
                warnings.append(two_handlers(hook, found[hook][0], name))
            found[hook] = (name, value)
        if type(value) is type and value.__module__ == module.__name__:
            warnings += [in_class(name, inner, hook) for inner, part in vars(value).items() for hook in decorators.hooks_of(part)]
    warnings += [generator(hook, name) for hook, (name, value) in found.items() if _is_generator(value)]
    for name, value in vars(module).items():
        if type(value) is FunctionType and value.__globals__ is module.__dict__ and not decorators.hooks_of(value):
            warnings += filter(None, [unmarked(name, found)])
    return {hook: found[hook][1] for hook in decorators.HOOKS if hook in found}, warnings


def two_handlers(hook: str, first: str, last: str) -> str:
    """Return the warning about a second handler of a hook."""
    return Advice(f"{hook} has two handlers, {first} and {last}: {last} is used", f"keep one of them, and call {first} from it if both are needed")


def _is_generator(handler: Any) -> bool:
    return inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler)


def generator(hook: str, name: str) -> str:
    """Return the warning about a handler with a yield."""
    return Advice(f"{name}, the handler of {hook}, has a yield: calling it only makes a generator, and its code never runs",
                  "remove the yield, and return the answer")


def in_class(name: str, method: str, hook: str) -> str:
    """Return the warning about a decorated method of a class."""
    return Advice(f"@{hook} before the method {name}.{method} has no effect: only functions outside of classes are called",
                  "move the function out of the class")


def first_line(text: object) -> str:
    """Return the first line of a description or docstring."""
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return lines[0].strip() if lines else ""
