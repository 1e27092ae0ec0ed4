"""Finds answers of the wrong type in the source of handlers, without running it.

    wrong_answers
      _returned   the values in its return statements
      _misfit     what is wrong with such a value
        _kind     the type of a value, if the source shows it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import decorators, models
from .advice import WrongAnswer

_Function = ast.FunctionDef | ast.AsyncFunctionDef

# The fields of an answer in their order, each with the name of its type. "": a value of another type is used, as a text.
_FIELDS = {
    "ToolCall": {"tool_name": "str", "tool_call_id": "", "input": "dict"},
    "ToolResult": {"tool_call_id": "", "tool_name": "", "output": "", "success": "bool", "error": ""},
}

# The kinds of expressions whose value has one type.
_KINDS: dict[type[ast.expr], str] = {
    ast.JoinedStr: "str", ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.ListComp: "list", ast.Set: "set",
    ast.SetComp: "set", ast.Tuple: "tuple", ast.GeneratorExp: "generator", ast.Lambda: "function",
}


def wrong_answers(tree: ast.Module) -> list[str]:
    """Return a warning for each answer of a handler that certainly has the wrong type. Other decorators may change an answer."""
    bound = {name for node in ast.walk(tree) for name in _binds(node)}
    warnings: list[str] = []
    for function in ast.walk(tree):
        if not (isinstance(function, _Function) and len(function.decorator_list) == 1):
            continue
        decorator = function.decorator_list[0]
        if isinstance(decorator, ast.Name) and decorator.id in decorators.HOOKS and decorator.id not in bound:
            for value in _returned(function):
                wrong = _misfit(decorator.id, value, bound)
                if wrong:
                    what, fix = wrong
                    text = f"{function.name}, the handler of {decorator.id}, returns {what} (line {value.lineno})"
                    warnings.append(WrongAnswer(text, fix))
    return warnings


def _binds(node: ast.AST) -> Iterator[str]:
    """Yield the names to which a statement gives another meaning."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name


def _returned(function: _Function) -> Iterator[ast.expr]:
    """Yield the values that a function returns itself, not those of functions in it."""
    rest: list[ast.AST] = list(reversed(function.body))
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _branches(node.value)
        elif not isinstance(node, (_Function, ast.ClassDef, ast.Lambda)):
            rest += reversed(list(ast.iter_child_nodes(node)))


def _branches(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from _branches(value.body)
        yield from _branches(value.orelse)
    else:
        yield value


def _misfit(hook: str, value: ast.expr, bound: set[str]) -> tuple[str, str] | None:
    """Return what is wrong with an answer, and the fix. None: nothing that the source shows."""
    kind = _kind(value, bound)
    if kind in ("", "None"):
        return None
    wanted = models.ANSWERS.get(hook)
    if wanted is None:
        return f"{_a(kind)}, which is ignored: {hook} returns nothing", "remove the value"
    if kind != wanted.__name__:
        return f"{_a(kind)}, not {_a(wanted.__name__)} or None", f"return {_a(wanted.__name__)}, or None to change nothing"
    if isinstance(value, ast.Call):
        return _wrong_field(value, _FIELDS[kind], bound)
    return None


def _wrong_field(call: ast.Call, fields: dict[str, str], bound: set[str]) -> tuple[str, str] | None:
    """Return what is wrong with the arguments of a ToolCall or ToolResult, and the fix."""
    given = [*zip(fields, call.args), *((k.arg, k.value) for k in call.keywords)]
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    for name, value in given:
        wanted, kind = fields.get(name or "", ""), _kind(value, bound)
        if wanted == "" or kind == "":
            continue
        if kind != wanted:
            return f"a {_kind(call, bound)} whose {name} is {_a(kind)}, not {_a(wanted)}", f"make {name} {_a(wanted)}"
        odd = _unencodable(value, name or "")
        if odd:
            return f"a {_kind(call, bound)} whose {odd}, which JSON does not have", "use only str, int, float, bool, None, list and dict"
    return None


def _unencodable(value: ast.expr, name: str) -> str:
    """Return which part of a literal dict or list is not JSON, in words, or ""."""
    parts: list[tuple[str, ast.expr]] = []
    if isinstance(value, ast.Dict):
        parts = [(f"{name}[{ast.unparse(key)}]", item) for key, item in zip(value.keys, value.values) if key is not None]
    elif isinstance(value, ast.List):
        parts = [(f"{name}[{number}]", item) for number, item in enumerate(value.elts)]
    elif isinstance(value, (ast.Set, ast.SetComp, ast.GeneratorExp, ast.Lambda)) or isinstance(value, ast.Constant) and isinstance(value.value, bytes):
        return f"{name} is {_a(_kind(value, set()))}"
    return next(filter(None, (_unencodable(item, place) for place, item in parts)), "")


def _kind(value: ast.expr, bound: set[str]) -> str:
    """Return the name of the type of a value, or "" if the source does not show it."""
    if isinstance(value, ast.Constant):
        return "None" if value.value is None else type(value.value).__name__
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _FIELDS and value.func.id not in bound:
        return value.func.id
    return _KINDS.get(type(value), "")


def _a(kind: str) -> str:
    return kind if kind == "None" else ("an " if kind[0] in "aeiou" else "a ") + kind
