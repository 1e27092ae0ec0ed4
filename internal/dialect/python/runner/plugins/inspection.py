"""Describes a plugin from its source text, without running it.

    inspect_plugin_source
      _checked    it is valid Python
      _top        the statements that run with the module
      _handlers   the decorated functions among them, one for each hook
      _declared   __plugin__, as far as it is a literal
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import decorators
from .answers import wrong_answers
from .loader import (
    API_VERSION,
    INJECTED,
    LoadedPlugin,
    PluginError,
    checked_metadata,
    fault,
    first_line,
    generator,
    in_class,
    meant,
    no_hook,
    odd_fields,
    two_handlers,
    uncallable,
    unmarked,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def inspect_plugin_source(source: str | bytes, path: Path) -> LoadedPlugin:
    """Describe a plugin from its source text; path is where its file would be.

    Raises PluginError if it is not a plugin. The hooks have no handlers, since nothing was run.
    """
    tree = _checked(source, path)
    statements = list(_top(tree.body))
    hooks, warnings = _handlers(statements, path)
    declared, known = _declared(statements)
    if not known:
        warnings.append("the value of __plugin__ is known only once the code runs")
    metadata = checked_metadata(declared, source, path)
    return LoadedPlugin(
        name=metadata["name"],
        path=path,
        hooks={hook: _not_run for hook in decorators.HOOKS if hook in hooks},
        metadata=metadata,
        description=first_line(metadata.get("description") or ast.get_docstring(tree)),
        warnings=[*warnings, *wrong_answers(tree), *odd_fields(metadata)],
    )


def _not_run(*_: Any) -> None:
    raise RuntimeError("this plugin was not loaded")


def _checked(source: str | bytes, path: Path) -> ast.Module:
    try:
        compile(source, str(path), "exec", dont_inherit=True)  # finds more errors than the parser
        return ast.parse(source, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise fault(error, path) from error


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is loaded: not those in functions and classes."""
    for statement in body:
        yield statement
        if isinstance(statement, (_Function, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _top(getattr(statement, name, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from _top(part.body)


def _handlers(statements: list[ast.stmt], path: Path) -> tuple[dict[str, str], list[str]]:
    """Return the function of each hook. If there are several, the last one by name is used, with a warning."""
    known, all_known = _names(statements)
    functions = {s.name: s for s in statements if isinstance(s, _Function)}  # the last one of a name is used
    found: dict[str, str] = {}
    warnings: list[str] = []
    for name, function in sorted(functions.items()):
        for decorator in function.decorator_list:
            hook = _hook(decorator, path)
            if hook is None and all_known and _is_unknown(decorator, known):
                if not (isinstance(decorator, ast.Name) and decorator.id.startswith("on_")):
                    raise _undefined(decorator, path)
                warnings += {no_hook(decorator.id)} - set(warnings)
            if hook is None:
                continue
            if found.get(hook, name) != name:
                warnings.append(two_handlers(hook, found[hook], name))
            found[hook] = name
    warnings += [in_class(s.name, inner.name, hook) for s in statements if isinstance(s, ast.ClassDef) for inner, hook in _marked(s, path)]
    for hook, name in found.items():
        _check_call(hook, functions[name], path)
        if _yields(functions[name]):
            warnings.append(generator(hook, name))
    for name, function in functions.items():
        if not function.decorator_list:
            warnings += filter(None, [unmarked(name, found)])
    return found, warnings


def _marked(outer: ast.ClassDef, path: Path) -> Iterator[tuple[_Function, str]]:
    """Yield the decorated methods of a class."""
    for inner in _top(outer.body):
        if isinstance(inner, _Function):
            yield from ((inner, hook) for d in inner.decorator_list if (hook := _hook(d, path)))


def _yields(function: _Function) -> bool:
    """Tell whether calling a function makes a generator. Other decorators may change that."""
    rest: list[ast.AST] = list(function.body) if len(function.decorator_list) == 1 else []
    while rest:
        node = rest.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (_Function, ast.ClassDef, ast.Lambda)):
            rest += ast.iter_child_nodes(node)
    return False


def _check_call(hook: str, function: _Function, path: Path) -> None:
    """Raise PluginError if a handler cannot be called with what its hook passes. Other decorators may change that."""
    arguments, given = function.args, len(decorators.PARAMETERS[hook])
    positional = len(arguments.posonlyargs) + len(arguments.args)
    fits = positional - len(arguments.defaults) <= given and (arguments.vararg or given <= positional)
    if len(function.decorator_list) > 1 or fits and None not in arguments.kw_defaults:
        return
    start = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    takes = f"({ast.unparse(arguments)})"
    raise uncallable(hook, f"{start} {function.name}", takes, path, function.lineno, function.col_offset + 1)


def _hook(decorator: ast.expr, path: Path) -> str | None:
    called = isinstance(decorator, ast.Call)
    target = decorator.func if called else decorator
    if not (isinstance(target, ast.Name) and target.id in decorators.HOOKS):
        return None
    if called:
        error = decorators.ParenthesesError(target.id)
        raise PluginError(f"TypeError: {error}", path, decorator.lineno, decorator.col_offset + 1, error.fix)
    return target.id


def _is_unknown(decorator: ast.expr, known: set[str]) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(target, ast.Name) and target.id not in known


def _undefined(decorator: ast.expr, path: Path) -> PluginError:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _at(decorator, f"NameError: name '{target.id}' is not defined{meant(target.id)}", path)


def _names(statements: list[ast.stmt]) -> tuple[set[str], bool]:
    """Return the names that a module defines, and whether the list is complete."""
    names = {*INJECTED, *dir(builtins)}
    all_known = True
    for statement in statements:
        if isinstance(statement, (_Function, ast.ClassDef)):
            names.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.alias):
                names.add((node.asname or node.name).split(".")[0])
                all_known = all_known and node.name != "*"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Call):
                all_known = all_known and not _makes_names(node)
    return names, all_known


def _makes_names(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("exec", "globals", "vars", "setattr")


def _declared(statements: list[ast.stmt]) -> tuple[Any, bool]:
    """Return the value of __plugin__, or {} if there is none, and whether it is known."""
    value: ast.expr | None = None
    for statement in statements:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == "__plugin__" for t in targets):
            value = getattr(statement, "value", None)
    if value is None:
        return {}, True
    try:
        return ast.literal_eval(value), True
    except (ValueError, TypeError, RecursionError, MemoryError):
        return {"api": API_VERSION}, False


def _at(node: ast.expr, message: str, path: Path) -> PluginError:
    return PluginError(message, path, node.lineno, node.col_offset + 1)
