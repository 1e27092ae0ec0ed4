"""Write a plugin once, as functions; the same file speaks every protocol that supports them.

    #!/usr/bin/env python3
    from patchbay_plugin import Deny, Plugin, ToolEvent

    p = Plugin("careful", "1.0.0", "Keeps an eye on the shell.")

    @p.tool("Counts words.")
    def count(text: str) -> int:
        return len(text.split())

    @p.on("tool.before", only="shell")
    def guard(e: ToolEvent):
        if "rm -rf" in e.argument("cmd"):
            return Deny("rm -rf is not allowed here", suggest="name the files")

    if __name__ == "__main__":
        p.main()

This is the whole SDK: one file for Python 3.10 or newer, without dependencies. Copy it beside your plugin. main()
determines the dialect from the verb among the arguments (dotagent), the envelope on stdin (mine), or the handshake
(kaged, scaffold, MCP). `./careful manifest kaged` and `./careful manifest mine` print the manifests that kaged and mine
need. The output of print goes to stderr, which hosts store as the plugin's log; only commands print to stdout.

README.md beside this file is the tutorial; patchbay_plugintest.py tests plugins without a host.
"""

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False  # type checkers assume True; importing typing would slow a process that is started for each call
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO, Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

__version__ = "0.1.0"
__all__ = [
    "Answer", "Call", "CommandCall", "CommandEvent", "CompactEvent", "CompactedEvent", "ContextEvent", "Continue", "Deny",
    "Fail", "Field", "FinalEvent", "IdleEvent", "InputEvent", "JobEvent", "Modify", "NoOpinion", "Plugin", "PluginError",
    "PromptEvent", "ReplyEvent", "SessionEvent", "Skip", "State", "Stop", "ToolEvent", "TurnEvent", "Verdict",
]

DIALECTS = ("dotagent", "mine", "kaged", "scaffold", "mcp")

# For each point: its dialect, the name of its hook, and the verdicts that it supports besides Continue, NoOpinion and
# Fail. The python dialect uses export().
_NATIVES = {
    "session.start": ("kaged", "on_session_start", ("modify",)),
    "turn.input": ("scaffold", "post_user_input", ("modify", "stop", "skip", "deny")),
    "prompt.context": ("scaffold", "context_enhance", ("modify",)),
    "prompt.send": ("scaffold", "pre_llm_send", ("modify", "stop")),
    "model.reply": ("scaffold", "post_llm_response", ("modify", "stop")),
    "tool.before": ("scaffold", "pre_tool_execute", ("modify", "stop", "answer", "deny")),
    "tool.resolve": ("scaffold", "pre_tool_execute", ("answer",)),
    "tool.after": ("scaffold", "post_tool_execute", ("modify", "stop")),
    "turn.final": ("scaffold", "post_llm_response", ("modify", "stop")),
    "session.idle": ("kaged", "on_session_idle", ()),
    "compact.before": ("kaged", "pre_compact", ("modify",)),
    "compact.after": ("kaged", "post_compact", ("modify",)),
    "command.validate": ("mine", "prevalidate", ("modify", "deny")),
    "command.before": ("mine", "preexec", ("modify", "deny")),
    "command.after": ("mine", "postexec", ("modify", "deny")),
    "command.done": ("mine", "notify", ()),
    "job.preflight": ("dotagent", "preflight", ("deny",)),
    "job.sink": ("dotagent", "sink", ("deny",)),
    "job.notify": ("dotagent", "notify", ("deny",)),
    "turn.begin": ("python", "on_begin", ()),
    "turn.done": ("python", "on_done", ()),
}

_WANTS = {
    "dotagent": "a handler of job.preflight, job.sink or job.notify",
    "mine": "a command, or a handler of command.validate, command.before, command.after or command.done",
    "kaged": "a tool, a method, or a handler of session.start, session.idle, compact.before or compact.after",
    "scaffold": "a tool, or a handler of turn.input, prompt.context, prompt.send, model.reply, turn.final or tool.*",
    "mcp": "a tool",
}

# Exit codes of a plugin's process.
_OK, _FAILED, _USAGE = 0, 1, 2

# Codes of JSON-RPC.
_BAD_REQUEST, _NO_METHOD, _BAD_PARAMS, _ERROR, _TOO_LARGE = -32600, -32601, -32602, -32000, -32001

# Limits a message: kaged allows 4 MiB, scaffold 10 MB, and an MCP client may send more.
_MOST = 16 << 20

_MCP_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class PluginError(Exception):
    """A failure that needs no traceback in the log. code is for dialects that support one (mine)."""

    def __init__(self, message: str, code: str = ""):
        super().__init__(message)
        self.code = code


class _RPCError(Exception):
    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


# --- verdicts ---------------------------------------------------------------------------------------------------------


class Verdict:
    """A handler's answer to an event. A handler that returns None has no opinion."""

    __slots__ = ("answer", "error", "failed", "kind", "reason", "suggest")

    def __init__(self, kind: str, reason: str = "", suggest: str = "", answer: Any = None, failed: bool = False,
                 error: BaseException | None = None):
        self.kind = kind  # "", continue, modify, stop, answer, skip, deny or fail
        self.reason = reason
        self.suggest = suggest
        self.answer = answer
        self.failed = failed
        self.error = error

    def __repr__(self) -> str:
        return f"Verdict({self.kind!r}, {self.reason!r})" if self.reason else f"Verdict({self.kind!r})"


def NoOpinion() -> Verdict:
    """Leaves the event as it is, as None does."""
    return Verdict("")


def Continue() -> Verdict:
    """Agrees: the event continues unchanged."""
    return Verdict("continue")


def Modify() -> Verdict:
    """Continues with the event as the handler has changed it. Without it, changes of the event are dropped."""
    return Verdict("modify")


def Stop() -> Verdict:
    """Continues with the event as the handler has changed it, and no other plugin is called."""
    return Verdict("stop")


def Answer(result: Any, failed: bool = False) -> Verdict:
    """Answers in place of a tool, which does not run. A result that is not a string becomes JSON."""
    return Verdict("answer", answer=result, failed=failed)


def Skip() -> Verdict:
    """Drops a message of the user."""
    return Verdict("skip")


def Deny(reason: str, suggest: str = "") -> Verdict:
    """Refuses the tool, the command, the job or the message. suggest says what the user can do about it."""
    return Verdict("deny", reason, suggest)


def Fail(reason: str | BaseException) -> Verdict:
    """Says that the handler could not do its work. Raising an exception does the same."""
    error = reason if isinstance(reason, BaseException) else PluginError(reason)
    return Verdict("fail", _words(error), error=error)


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


# --- events -----------------------------------------------------------------------------------------------------------


class _Event:
    __slots__ = ()

    def __init__(self, **values: Any):
        for name in self.__slots__:
            setattr(self, name, values.pop(name, self._default(name)))
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    @classmethod
    def _default(cls, name: str) -> Any:
        if name in ("tool_calls", "transcript", "messages", "compacted", "remaining", "retain", "args", "tools"):
            return []
        if name in ("arguments", "flags"):
            return {}
        return {"success": True, "state": {}}.get(name, "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class SessionEvent(_Event):
    """A session begins. To add a text at the beginning of the conversation, set inject and return Modify()."""

    __slots__ = ("inject", "project_root", "session_id", "working_dir")
    session_id: str
    working_dir: str
    project_root: str
    inject: str


class TurnEvent(_Event):
    """A turn begins or is over (only in the python dialect)."""

    __slots__ = ("session_id", "state", "user_text", "working_dir")
    session_id: str
    working_dir: str
    user_text: str
    state: dict[str, Any]


class InputEvent(_Event):
    """A message of the user. message can be changed."""

    __slots__ = ("message",)
    message: str


class ContextEvent(_Event):
    """Asks for context for the prompt. dynamic_context can be changed; add() appends to it."""

    __slots__ = ("dynamic_context", "user_message")
    user_message: str
    dynamic_context: str

    def add(self, text: str) -> None:
        """Appends a paragraph to the context."""
        self.dynamic_context += ("\n\n" if self.dynamic_context else "") + text


class PromptEvent(_Event):
    """The prompt before it goes to the model. Both parts can be changed."""

    __slots__ = ("base_prompt", "dynamic_context")
    base_prompt: str
    dynamic_context: str


class ReplyEvent(_Event):
    """A reply of the model. text can be changed; tool_calls are dicts with name and arguments."""

    __slots__ = ("text", "tool_calls")
    text: str
    tool_calls: list[dict[str, Any]]


class FinalEvent(_Event):
    """The answer of a turn. text can be changed."""

    __slots__ = ("text",)
    text: str


class ToolEvent(_Event):
    """A tool that is about to run, or has run. arguments can be changed before it runs, result after it has run."""

    __slots__ = ("arguments", "call_id", "result", "success", "tool")
    tool: str
    call_id: str
    arguments: dict[str, Any]
    result: str
    success: bool

    def argument(self, name: str) -> str:
        """Returns one argument as a text: a string as it is, anything else as JSON; "" if it is missing."""
        value = self.arguments.get(name) if isinstance(self.arguments, dict) else None
        return "" if value is None else _text(value)


class IdleEvent(_Event):
    """A session is idle. transcript has its messages, dicts with role and content."""

    __slots__ = ("session_id", "transcript")
    session_id: str
    transcript: list[dict[str, Any]]


class CompactEvent(_Event):
    """A transcript is about to be compacted. The compactor sets summary or messages and returns Modify()."""

    __slots__ = ("messages", "session_id", "strategy", "summary", "trigger")
    session_id: str
    messages: list[dict[str, Any]]
    strategy: str
    trigger: str
    summary: str


class CompactedEvent(_Event):
    """A transcript was compacted. To bring messages back, set retain; to add a text, set inject; then return Modify()."""

    __slots__ = ("compacted", "inject", "remaining", "retain", "session_id", "strategy", "trigger")
    session_id: str
    compacted: list[dict[str, Any]]
    remaining: list[dict[str, Any]]
    strategy: str
    trigger: str
    retain: list[dict[str, Any]]
    inject: str


class CommandEvent(_Event):
    """A command before or after it runs. command, args, flags and result (None before it runs) can be changed."""

    __slots__ = ("args", "command", "flags", "result", "timestamp")
    command: str
    args: list[str]
    flags: dict[str, str]
    result: Any
    timestamp: str

    @classmethod
    def _default(cls, name: str) -> Any:
        return None if name == "result" else super()._default(name)

    @property
    def output(self) -> str:
        """The output of the command: the stdout of a program, or a result that is a text."""
        value = self.result.get("stdout") if isinstance(self.result, dict) else self.result
        return "" if value is None else _text(value)

    @output.setter
    def output(self, text: str) -> None:
        if isinstance(self.result, dict) and "stdout" in self.result:
            self.result = {**self.result, "stdout": text}
        else:
            self.result = text


class JobEvent(_Event):
    """About a scheduled agent. message is the agent's output for a sink, and a text for people for a notifier."""

    __slots__ = ("agent", "event", "message", "schedule")
    agent: str
    schedule: str
    event: str
    message: str


class CommandCall:
    """One run of a command. stdout and stderr are the user's; args are as they were typed."""

    def __init__(self, args: list[str], stdin: IO[str], stdout: IO[str], stderr: IO[str]):
        self.args = args
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


class Call:
    """Says for whom a handler runs, as far as the dialect says, and how long it may take."""

    def __init__(self, dialect: str = "", context: Mapping[str, Any] | None = None, deadline: float | None = None):
        known = context if isinstance(context, dict) else {}
        self.dialect = dialect
        self.session_id = str(known.get("session_id", ""))
        self.project_id = str(known.get("project_id", ""))
        self.project_root = str(known.get("project_root", ""))
        self.operator_id = str(known.get("operator_id", ""))
        self.agent_path = str(known.get("agent_path", ""))
        self.request_id = str(known.get("request_id", ""))
        self.deadline = deadline

    def remaining(self) -> float | None:
        """Returns the seconds that remain of the handler's own `within`; None if it has none."""
        if self.deadline is None:
            return None
        import time

        return max(0.0, self.deadline - time.monotonic())


# --- schemas ----------------------------------------------------------------------------------------------------------


class Field:
    """Describes and limits an argument or a setting: Annotated[int, Field("How many.", min=1, max=20)].

    min and max limit a number, or the length of a text. knob is the label of a control for people (kaged). control is
    the type of that control, if it must not follow from the type of the field. env is the environment variable with a
    secret.
    """

    def __init__(self, doc: str = "", *, min: float | None = None, max: float | None = None, enum: Sequence[Any] = (),
                 knob: str = "", control: str = "", env: str = ""):
        self.doc, self.min, self.max, self.enum = doc, min, max, list(enum)
        self.knob, self.control, self.env = knob, control, env


_REQUIRED: Any = object()


def _schema_of(hint: Any, default: Any = _REQUIRED) -> tuple[dict[str, Any], Field, bool]:
    """Returns the JSON Schema of a type hint, its Field, and whether the value may be left out."""
    import types
    import typing

    field, optional = Field(), default is not _REQUIRED
    if typing.get_origin(hint) is typing.Annotated:
        hint, *more = typing.get_args(hint)
        for item in more:
            field = item if isinstance(item, Field) else Field(item) if isinstance(item, str) else field
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        optional = optional or len(inner) < len(typing.get_args(hint))
        if len(inner) != 1:
            raise TypeError(f"{hint} has several types: give the schema by hand")
        hint = inner[0]
    schema = _type_schema(hint)
    if field.doc:
        schema["description"] = field.doc
    if field.enum:
        schema["enum"] = field.enum
    low, high = ("minLength", "maxLength") if schema.get("type") == "string" else ("minimum", "maximum")
    if field.min is not None:
        schema[low] = field.min
    if field.max is not None:
        schema[high] = field.max
    if default is not _REQUIRED and default not in (None, "", False) and default == default and not isinstance(default, (dict, list)):
        schema["default"] = default
    return schema, field, optional


def _type_schema(hint: Any) -> dict[str, Any]:
    import typing

    plain = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    if hint is typing.Any or hint is object:
        return {}
    if isinstance(hint, type) and hint in plain:
        return {"type": plain[hint]}
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        kind = plain.get(type(args[0]))
        return {**({"type": kind} if kind else {}), "enum": list(args)}
    if origin is list:
        return {"type": "array", "items": _schema_of(args[0])[0]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema_of(args[1])[0]}
    raise TypeError(f"{hint} has no JSON Schema: use str, int, float, bool, list, dict or Literal, or give the schema by hand")


def _object_schema(fields: dict[str, tuple[dict[str, Any], Field, bool]]) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "object", "properties": {name: schema for name, (schema, _, _) in fields.items()}}
    required = [name for name, (_, _, optional) in fields.items() if not optional]
    return {**out, "required": required} if required else out


def _function_schema(function: Callable[..., Any]) -> dict[str, Any]:
    import inspect
    import typing

    hints = typing.get_type_hints(function, include_extras=True)
    fields = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the parameter {name} cannot be given by name")
        if name not in hints:
            raise TypeError(f"the parameter {name} has no type")
        default = _REQUIRED if parameter.default is parameter.empty else parameter.default
        fields[name] = _schema_of(hints[name], default)
    return _object_schema(fields)


def _class_fields(cls: type) -> dict[str, tuple[dict[str, Any], Field, bool]]:
    import typing

    hints = typing.get_type_hints(cls, include_extras=True)
    return {name: _schema_of(hint, getattr(cls, name, _REQUIRED)) for name, hint in hints.items() if not name.startswith("_")}


_TYPES = {
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool) or isinstance(v, float) and v.is_integer(),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "null": lambda v: v is None,
}


def _article(kind: str) -> str:
    return "a whole number" if kind == "integer" else ("an " if kind in ("object", "array") else "a ") + kind


def _faults(schema: Any, value: Any, path: str = "", strict: bool = False) -> list[str]:
    """Lists what is wrong with a value, by the part of JSON Schema that this file writes itself. Hosts check the rest."""
    if not isinstance(schema, dict):
        return []
    where = path or "the value"
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES and not _TYPES[kind](value):
        return [f"{where}: must be {_article(kind)}"]
    out = []
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{where}: must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        out += _bounds(schema, where, "minimum", "maximum", value, "be", "")
    elif isinstance(value, str):
        out += _bounds(schema, where, "minLength", "maxLength", len(value), "have", "character")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            out += _faults(schema.get("items"), item, f"{path}[{i}]", strict)
    elif isinstance(value, dict):
        out += _object_faults(schema, value, path, strict)
    return out


def _bounds(schema: dict[str, Any], where: str, low: str, high: str, n: float, verb: str, unit: str) -> list[str]:
    def figure(limit: float) -> str:
        return f"{limit} {unit}{'s' if limit != 1 else ''}" if unit else str(limit)

    out = []
    if low in schema and n < schema[low]:
        out.append(f"{where}: must {verb} at least {figure(schema[low])}")
    if high in schema and n > schema[high]:
        out.append(f"{where}: must {verb} at most {figure(schema[high])}")
    return out


def _object_faults(schema: dict[str, Any], value: dict[str, Any], path: str, strict: bool) -> list[str]:
    def join(name: str) -> str:
        return f"{path}.{name}" if path else name

    properties = schema.get("properties", {})
    out = [f"{join(name)}: is required" for name in schema.get("required", []) if name not in value]
    for name, inner in value.items():
        if name in properties:
            out += _faults(properties[name], inner, join(name), strict)
        elif isinstance(schema.get("additionalProperties"), dict):
            out += _faults(schema["additionalProperties"], inner, join(name), strict)
        elif strict and "properties" in schema:
            out.append(f"{join(name)}: is not known; there are {', '.join(properties) or 'none'}")
    return out


def _check(schema: dict[str, Any], value: Any, strict: bool = False) -> None:
    """Raises ValueError with everything that is wrong with a value."""
    faults = _faults(schema, value, strict=strict)
    if faults:
        raise ValueError("; ".join(faults))


# --- JSON, texts ------------------------------------------------------------------------------------------------------


class _Huge(float):
    """A number that is too large for Python. It counts as infinite, and is sent back as it came.

    If such a number were an error, a guard would not be asked about an event with one.
    """

    text: str

    def __new__(cls, text: str) -> _Huge:
        huge = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        huge.text = text
        return huge

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)  # for copies


def _float(text: str) -> float:
    value = float(text)
    return value if value - value == 0 else _Huge(text)


def _int(text: str) -> float:
    return int(text) if len(text) <= 4300 else _Huge(text)  # Python converts that many digits


def _marked(value: Any, numbers: dict[str, str]) -> Any:
    """Returns a value with a mark for each huge number, and adds the JSON of both to numbers."""
    if isinstance(value, dict):
        return {key: _marked(item, numbers) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(item, numbers) for item in value]
    if isinstance(value, _Huge):
        mark = os.urandom(16).hex()
        numbers[f'"{mark}"'] = value.text
        return mark
    return value


def _json(value: Any) -> str:
    try:
        return _dump(value)
    except ValueError as error:
        if "Out of range" not in str(error):
            raise
    numbers: dict[str, str] = {}
    text = _dump(_marked(value, numbers))
    for mark, number in numbers.items():
        text = text.replace(mark, number)
    return text


def _dump(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if text.isascii():
        return text
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)  # UTF-8 has no bytes for it


def _text(value: Any) -> str:
    """Returns a result as a text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _load(data: bytes | str) -> Any:
    """Decodes JSON from a host. Raises ValueError if it is invalid or nested too deep."""
    try:
        return _decode(data)
    except RecursionError:
        usual = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(_MOST_LEVELS)
        return _decode(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    finally:
        sys.setrecursionlimit(usual)


# The host's payloads have at most 2,000 levels. Python needs some for the functions that are running, too.
_MOST_LEVELS = 5000


def _decode(data: bytes | str) -> Any:
    try:
        return json.loads(data, parse_float=_float)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an int with too many digits
        return json.loads(data, parse_float=_float, parse_int=_int)


def _matches(pattern: str, subject: str) -> bool:
    if pattern in ("", "*"):
        return True
    import fnmatch

    return fnmatch.fnmatchcase(subject, pattern)


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0].strip()


# --- state ------------------------------------------------------------------------------------------------------------


class State:
    """Stores values for later processes of the plugin. Keys have at most 512 bytes, values are any JSON.

    In kaged they are in the host's storage, if it has one. In other dialects they are in files, in
    $XDG_DATA_HOME/NAME/state or ~/.local/share/NAME/state, if the plugin may write there.
    """

    def __init__(self, plugin: Plugin):
        self._plugin = plugin

    def _store(self, key: str) -> Any:
        session = self._plugin._session
        if session is None:
            raise PluginError("the plugin is not running: state is for handlers")
        if len(key.encode()) > 512:
            raise PluginError(f"the key has {len(key.encode())} bytes; the limit is 512")
        if session.store is None:
            raise PluginError("there is no place for state: no storage in the host, and no home directory")
        return session.store

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a key, or default."""
        value = self._store(key).get(key)
        return default if value is None else value

    def put(self, key: str, value: Any) -> None:
        """Stores a value."""
        self._store(key).put(key, value)

    def delete(self, key: str) -> None:
        """Deletes a key; a missing one is not an error."""
        self._store(key).delete(key)

    def list(self, prefix: str = "") -> list[str]:
        """Returns the keys that begin with a prefix, sorted."""
        return sorted(self._store(prefix).list(prefix))


class _Files:
    """Stores each key in its own file, which is replaced as a whole: parallel calls never see half of one."""

    def __init__(self, directory: str):
        self.directory = directory

    def path(self, key: str) -> str:
        import hashlib

        return os.path.join(self.directory, hashlib.sha256(key.encode()).hexdigest()[:32] + ".json")

    def get(self, key: str) -> Any:
        try:
            with open(self.path(key), encoding="utf-8") as file:
                return json.load(file)["value"]
        except FileNotFoundError:
            return None

    def put(self, key: str, value: Any) -> None:
        import tempfile

        text = _json({"key": key, "value": value})
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=self.directory)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, self.path(key))
        except BaseException:
            os.unlink(temporary)
            raise

    def delete(self, key: str) -> None:
        try:
            os.unlink(self.path(key))
        except FileNotFoundError:
            pass

    def list(self, prefix: str) -> list[str]:
        keys = []
        for name in os.listdir(self.directory) if os.path.isdir(self.directory) else []:
            if name.startswith("."):
                continue
            try:
                with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                    key = json.load(file)["key"]
            except FileNotFoundError:
                continue  # deleted meanwhile
            if key.startswith(prefix):
                keys.append(key)
        return keys


class _HostStore:
    """kaged's storage."""

    def __init__(self, ask: Callable[[str, Any], Any]):
        self.ask = ask

    def get(self, key: str) -> Any:
        return self.ask("kaged.storage.get", {"key": key}).get("value")

    def put(self, key: str, value: Any) -> None:
        self.ask("kaged.storage.put", {"key": key, "value": value})

    def delete(self, key: str) -> None:
        self.ask("kaged.storage.delete", {"key": key})

    def list(self, prefix: str) -> list[str]:
        return self.ask("kaged.storage.list", {"prefix": prefix}).get("keys", [])


class Log:
    """Writes lines to stderr, which hosts store as the plugin's log."""

    def __init__(self, plugin: Plugin):
        self._plugin = plugin

    def _line(self, level: str, message: str, fields: dict[str, Any]) -> None:
        words = [f"level={level}", f"msg={_quoted(message)}", *(f"{k}={_quoted(_shown(v))}" for k, v in fields.items())]
        session = self._plugin._session
        if session is None:
            print(" ".join(words), file=sys.stderr)
        else:
            session.log(" ".join(words) + "\n")

    def debug(self, message: str, **fields: Any) -> None:
        self._line("DEBUG", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._line("INFO", message, fields)

    def warn(self, message: str, **fields: Any) -> None:
        self._line("WARN", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._line("ERROR", message, fields)


def _shown(value: Any) -> str:
    try:
        return _text(value)
    except (TypeError, ValueError):
        return repr(value)


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[^\s\"=]+", text) else json.dumps(text, ensure_ascii=False)


# --- the plugin -------------------------------------------------------------------------------------------------------


class _Handler:
    def __init__(self, call: Callable[[Any], Any], only: str, within: float | None):
        self.call, self.only, self.within = call, only, within


class _Operation:
    """A tool or a method: a function with a schema of its arguments."""

    def __init__(self, name: str, description: str, run: Callable[..., Any], schema: dict[str, Any] | None, within: float | None):
        self.name, self.description, self.run, self.within = name, description, run, within
        self.given = schema
        self._schema: dict[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        if self._schema is None:
            self._schema = _function_schema(self.run) if self.given is None else self.given
        return self._schema

    def takes(self) -> list[str]:
        """Returns the names of the arguments that the function takes; the host may send more."""
        return list(self.schema.get("properties", {}))


class _Command:
    def __init__(self, name: str, description: str, run: Callable[[CommandCall], Any], args: str, user_stdin: bool):
        self.name, self.description, self.run, self.args, self.user_stdin = name, description, run, args, user_stdin


_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_TOOL = re.compile(r"[a-z][a-z0-9_-]*")
_METHOD = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){1,3}")


class Plugin:
    """A plugin consists of functions: handlers of points, tools, methods and commands.

    The name has lower-case letters and digits, with single hyphens between; the version is a semantic version; the
    description is a sentence for people. author is required by mine. priority determines the order among plugins
    (scaffold): lower ones are called first. compactor says that the handler of compact.before compacts, and does not
    only observe (kaged). program is how hosts start the plugin, for manifests.
    """

    def __init__(self, name: str, version: str, description: str, *, author: str = "", license: str = "", homepage: str = "",
                 priority: int = 500, platforms: Sequence[str] = (), compactor: bool = False, program: Sequence[str] = ()):
        self.name, self.version, self.description = name, version, description
        self.author, self.license, self.homepage = author, license, homepage
        self.priority, self.platforms, self.compactor, self.program = priority, list(platforms), compactor, list(program)
        self.log = Log(self)
        self._handlers: dict[str, list[_Handler]] = {}
        self._tools: dict[str, _Operation] = {}
        self._methods: dict[str, _Operation] = {}
        self._commands: dict[str, _Command] = {}
        self._notifications: list[str] = []
        self._capabilities: list[str] = []
        self._variables: list[str] = []
        self._config: _Settings | None = None
        self._secrets: _Settings | None = None
        self._uses_state = False
        self._start: list[Callable[[], Any]] = []
        self._stop: list[Callable[[], Any]] = []
        self._health: Callable[[], Any] | None = None
        self._session: _Session | None = None
        self._calls: Any = None  # a ContextVar once a handler has been asked
        if not _NAME.fullmatch(name) or len(name) > 64 or name in ("kaged", "system"):
            raise ValueError(f"the name {name!r} is invalid: use lower-case letters and digits, a letter first, single hyphens between, at most 64 characters")
        if not _VERSION.fullmatch(version):
            raise ValueError(f"the version {version!r} is not a semantic version, such as 1.2.3")
        if not 0 < len(description) <= 200:
            raise ValueError(f"the description has {len(description)} characters, and must have 1 to 200")

    # The parts of the plugin.

    def on(self, point: str, *, only: str = "", within: float | None = None) -> Callable[[Function], Function]:
        """Adds a handler for a point. Several handlers of one point are called in the order of their definition.

        only limits it to tools or commands that match a pattern, such as "git*". within is how many seconds it may take.
        """
        if point not in _NATIVES:
            raise ValueError(f"there is no point {point!r}; the points are {', '.join(_NATIVES)}")
        if only and not point.startswith(("tool.", "command.")):
            raise ValueError(f"{point}: only= is for tools and commands, and this point has neither")

        def decorate(function: Function) -> Function:
            self._handlers.setdefault(point, []).append(_Handler(function, only, within))
            return function

        return decorate

    def tool(self, description: str = "", *, name: str = "", schema: dict[str, Any] | None = None,
             within: float | None = None) -> Callable[[Function], Function]:
        """Adds a tool, which a model can call. The function's parameters are the arguments, by name and type.

        A result that is not a string reaches the model as JSON. The default description is the first line of the
        docstring. schema replaces the JSON Schema that is made from the parameters; the arguments are still passed as
        keywords.
        """
        def decorate(function: Function) -> Function:
            called = name or function.__name__
            if not _TOOL.fullmatch(called):
                raise ValueError(f"tool {called!r}: the name is invalid: use lower-case letters, digits, _ and -, a letter first")
            self._add(self._tools, "tool", _Operation(called, description or _first_line(function), function, schema, within))
            return function

        return decorate

    def method(self, name: str, description: str = "", *, schema: dict[str, Any] | None = None,
               within: float | None = None) -> Callable[[Function], Function]:
        """Adds a method, which programs can call by its full name, such as "words.total" (kaged)."""
        if not _METHOD.fullmatch(name) or name.startswith(("kaged.", "system.")):
            raise ValueError(f"method {name!r}: the name is invalid: use 2 to 4 lower-case words with dots between, the first not kaged or system")

        def decorate(function: Function) -> Function:
            self._add(self._methods, "method", _Operation(name, description or _first_line(function), function, schema, within))
            return function

        return decorate

    @staticmethod
    def _add(all: dict[str, _Operation], what: str, operation: _Operation) -> None:
        if operation.name in all:
            raise ValueError(f"{what} {operation.name!r} is defined twice")
        if what == "tool" and not operation.description:
            raise ValueError(f"tool {operation.name!r} has no description: a model reads it")
        all[operation.name] = operation

    def command(self, description: str = "", *, name: str = "", args: str = "", user_stdin: bool = False) -> Callable[[Function], Function]:
        """Adds a command that people run: `patchbay PLUGIN NAME ARG…` (mine). Its output is shown unchanged.

        args is a line of help about the arguments. With user_stdin the command gets the user's stdin: the terminal, or
        piped input. An exception is shown, and ends the command with exit code 1.
        """
        def decorate(function: Function) -> Function:
            called = name or function.__name__.replace("_", "-")
            if not re.fullmatch(r"[^-\s]\S*", called) or called in self._commands:
                raise ValueError(f"command {called!r}: the name must be one word that does not begin with a hyphen, and there must be one of it")
            self._commands[called] = _Command(called, description or _first_line(function), function, args, user_stdin)
            return function

        return decorate

    def config(self, cls: type[Any]) -> Any:
        """Declares the plugin's config: a class whose annotations are its keys, with their defaults.

        Returns an object of the class that has the values when handlers run. A method validate(self) may raise
        ValueError. Config comes from the host if the dialect supports it (kaged, dotagent). Otherwise it is read from
        $XDG_CONFIG_HOME/NAME/config.json, or ~/.config/NAME/config.json, if that file exists.
        """
        if self._config is not None:
            raise ValueError("there are two configs")
        self._config = _Settings("config", cls)
        return self._config.values

    def secrets(self, cls: type[Any]) -> Any:
        """Declares values that must not be in a config: tokens, passwords. They come from kaged's system_config, or
        else from the variables that the env of each Field names. A field without a value keeps its default, or is
        ""."""
        if self._secrets is not None:
            raise ValueError("there are two sets of secrets")
        self._secrets = _Settings("secrets", cls)
        return self._secrets.values

    def state(self) -> State:
        """Declares that the plugin stores values; call it before main()."""
        self._uses_state = True
        return State(self)

    def notification(self, name: str) -> Callable[[Any], None]:
        """Declares a notification, and returns a function that sends it. kaged hosts get it; in other dialects it is logged."""
        if not name or name in self._notifications:
            raise ValueError(f"notification {name!r} is empty or defined twice")
        self._notifications.append(name)

        def send(params: Any) -> None:
            if self._session is None:
                raise PluginError("the plugin is not running: notifications are for handlers")
            if self._session.tell is None:
                self.log.info(name, params=params)
            else:
                self._session.tell(name, params)

        return send

    def needs(self, *capabilities: str) -> None:
        """Declares what the plugin uses, in kaged's words: read:fs:/path, write:fs:/path, exec:NAME:/path, net:HOST:PORT."""
        self._capabilities += capabilities

    def env(self, *names: str) -> None:
        """Declares variables of the environment that the plugin reads. mine passes on no others."""
        self._variables += names

    def start(self, function: Function) -> Function:
        """Runs a function once in each process, before its first handler, when the config is known."""
        self._start.append(function)
        return function

    def stop(self, function: Function) -> Function:
        """Runs a function once when a process ends in order."""
        self._stop.append(function)
        return function

    def health(self, function: Function) -> Function:
        """Sets the function that checks the plugin's health when the host asks: it raises an exception if there is a fault."""
        self._health = function
        return function

    @property
    def call(self) -> Call:
        """The call of the running handler."""
        return self._calls.get() if self._calls is not None else Call()

    # What hosts read about the plugin.

    def speaks(self) -> list[str]:
        """Lists the dialects in which the plugin offers something."""
        return [d for d in DIALECTS if self._speaks(d)]

    def _speaks(self, dialect: str) -> bool:
        return bool(
            dialect == "mine" and self._commands
            or dialect == "kaged" and (self._tools or self._methods)
            or dialect in ("scaffold", "mcp") and self._tools
            or self._hooks(dialect)
        )

    def _hooks(self, dialect: str) -> list[str]:
        """Lists the hooks of a dialect that the plugin has handlers for."""
        return list(dict.fromkeys(hook for point, (d, hook, _) in _NATIVES.items() if d == dialect and self._handlers.get(point)))

    def _unspoken(self, dialect: str) -> str:
        return f"{self.name} has nothing for {dialect}: it needs {_WANTS[dialect]}"

    def check(self) -> None:
        """Raises ValueError if the definition as a whole is wrong. main() calls it too."""
        for name in self._methods:
            if name.startswith(self.name + ".") and name[len(self.name) + 1:] in self._tools:
                raise ValueError(f"method {name!r} has the name that kaged gives to the tool")
        if not any(self._handlers.values()) and not self.speaks():
            raise ValueError("the plugin has no handler, tool, method or command")
        for operation in (*self._tools.values(), *self._methods.values()):
            try:
                _ = operation.schema
            except TypeError as error:
                raise ValueError(f"{operation.name}: {error}") from error

    def manifest(self, dialect: str, program: str = "") -> str:
        """Returns the file that a dialect needs beside the plugin: manifest.yaml for kaged, mine-plugin.toml for mine.

        The others need none. For dotagent and scaffold it is the plugin's answer, for mcp the entry for Patchbay's config.toml.
        """
        self.check()
        if dialect not in _WANTS:
            raise ValueError(f"there is no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
        if not self._speaks(dialect):
            raise ValueError(self._unspoken(dialect))
        if dialect == "kaged":
            return _yaml(_kaged_manifest(self, program))
        if dialect == "mine":
            return _mine_manifest(self, program)
        if dialect == "dotagent":
            return _json(_info(self)) + "\n"
        if dialect == "scaffold":
            return _json(_scaffold_manifest(self)) + "\n"
        command = self.program or ["python3", os.path.abspath(program or self.name)]
        return f"\n[[mcp]]\nname = {_toml(self.name)}\ncommand = {_toml(command)}\n"

    def main(self) -> None:
        """Runs the plugin and ends the program."""
        if len(sys.argv) < 2 and sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(_usage(self, os.path.basename(sys.argv[0])))
            sys.exit(_USAGE)
        import signal

        def obey(number: int, frame: Any) -> None:
            sys.exit(128 + number)

        signal.signal(signal.SIGTERM, obey)
        real = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)  # the output of print, and of programs that this one starts, goes to the log
        sys.stdout = sys.stderr
        code = _FAILED
        try:
            code = self.run(sys.argv[1:], os.environ, sys.stdin.buffer, real, sys.stderr, program=sys.argv[0], owns_stdout=True)
        except KeyboardInterrupt:
            code = 130
        except BrokenPipeError:
            pass  # the host is gone
        finally:
            sys.stderr.flush()
        sys.exit(code)

    def run(self, args: Sequence[str], env: Mapping[str, str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[str], *,
            program: str = "", owns_stdout: bool = False) -> int:
        """Does what main() does, with the given arguments, environment and streams, and returns the exit code."""
        if self._session is not None:
            raise RuntimeError("the plugin is running already")
        session = _Session(self, list(args), env, stdin, stdout, stderr, program, owns_stdout)
        try:
            self.check()
        except ValueError as error:
            session.complain(f"the definition of the plugin has a mistake: {error}")
            return _USAGE
        self._session = session
        try:
            return session.detect()
        finally:
            try:
                session.end()
                session.release()
            finally:
                self._session = None

    # Calling functions of the author.

    def _ask(self, point: str, event: Any, subject: str = "", dialect: str = "", context: Any = None) -> Verdict:
        """Calls the handlers of a point. Returns the first verdict that ends the event; else modify if a handler changed it."""
        verdict = NoOpinion()
        for handler in self._handlers.get(point, ()):
            if not _matches(handler.only, subject):
                continue
            got = self._called(point, handler.call, handler.within, dialect, context, event)
            allowed = _NATIVES[point][2]
            if got.kind not in ("", "continue", "fail", *allowed):
                words = ", ".join(["NoOpinion", "Continue", "Fail", *(k.capitalize() for k in allowed)])
                return Fail(f"{got.kind} cannot be returned at {point}: return one of {words}")
            if got.kind == "modify" or got.kind == "continue" and not verdict.kind:
                verdict = got
            elif got.kind not in ("", "continue"):
                return got
        return verdict

    def _called(self, where: str, function: Callable[..., Any], within: float | None, dialect: str, context: Any, event: Any) -> Verdict:
        try:
            got = self._invoke(function, within, dialect, context, (event,), {})
        except Exception as error:
            self._report(where, error)
            return Fail(error)
        if got is None:
            return NoOpinion()
        if not isinstance(got, Verdict):
            return Fail(f"the handler of {where} returned {type(got).__name__}, not a verdict or None")
        return got

    def _invoke(self, function: Callable[..., Any], within: float | None, dialect: str, context: Any, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> Any:
        """Calls a function of the author, async or not. Meanwhile p.call describes this call."""
        import contextvars

        if self._calls is None:
            self._calls = contextvars.ContextVar("patchbay_call", default=Call())
        deadline = None
        if within is not None:
            import time

            deadline = time.monotonic() + within
        token = self._calls.set(Call(dialect, context, deadline))
        try:
            got = function(*args, **kwargs)
            if hasattr(got, "__await__"):
                import asyncio

                async def wait() -> Any:
                    return await asyncio.wait_for(got, within)

                got = asyncio.run(wait())
            return got
        finally:
            self._calls.reset(token)

    def _operate(self, operation: _Operation, arguments: Any, dialect: str, context: Any = None) -> Any:
        """Checks the arguments and calls a tool or a method."""
        arguments = {} if arguments is None else arguments
        try:
            _check(operation.schema, arguments)
        except ValueError as error:
            raise _RPCError(_BAD_PARAMS, str(error)) from None
        known = operation.takes()
        kwargs = {k: v for k, v in arguments.items() if k in known} if operation.given is None or known else dict(arguments)
        try:
            return self._invoke(operation.run, operation.within, dialect, context, (), kwargs)
        except Exception as error:
            self._report(operation.name, error)
            raise

    def _report(self, where: str, error: BaseException) -> None:
        """Logs an exception with its traceback, except PluginError and errors of the protocol."""
        if isinstance(error, (PluginError, _RPCError)):
            return
        import traceback

        self.log.error(f"{type(error).__name__} in {where}: {error}", traceback="".join(traceback.format_exception(error)))

    def export(self, module: dict[str, Any]) -> None:
        """Makes the module a plugin of the python dialect too: p.export(globals()), before main().

        Outside of that dialect's interpreter it does nothing. The dialect has the points turn.begin, tool.before,
        tool.resolve, tool.after, turn.final and turn.done. It has no tools, methods or commands, and no denial: a
        denied tool call gets the refusal as its result.
        """
        if "on_tool_call" in module and "ToolResult" in module:
            _export(self, module)


class _Settings:
    """A class of settings, and the object that is filled before the first handler runs."""

    def __init__(self, what: str, cls: type[Any]):
        self.what, self.cls = what, cls
        self.values = cls.__new__(cls)
        self._fields: dict[str, tuple[dict[str, Any], Field, bool]] | None = None

    @property
    def fields(self) -> dict[str, tuple[dict[str, Any], Field, bool]]:
        if self._fields is None:
            self._fields = _class_fields(self.cls)
        return self._fields

    @property
    def schema(self) -> dict[str, Any]:
        schema = _object_schema(self.fields)
        if self.what == "secrets":
            schema.pop("required", None)
        return {**schema, "additionalProperties": False}

    def fill(self, values: Any) -> None:
        """Sets the fields. Raises ValueError if the values are invalid."""
        _check(self.schema, values, strict=True)
        fresh = self.cls.__new__(self.cls)
        for name in self.fields:
            default = getattr(self.cls, name, "")
            value = values.get(name, default.copy() if isinstance(default, (dict, list)) else default)
            setattr(fresh, name, value)
        if hasattr(fresh, "validate"):
            fresh.validate()
        for name in self.fields:
            setattr(self.values, name, getattr(fresh, name))


# How to install a plugin in each dialect.
_PLACES = {
    "dotagent": "mkdir -p ~/.config/dotagent/plugins && cp {program} ~/.config/dotagent/plugins/dotagent-plugin-{name}",
    "mine": "mkdir -p ~/.local/share/mine/plugins/{name} && cp {program} ~/.local/share/mine/plugins/{name}/, and beside it: {program} manifest mine >mine-plugin.toml",
    "kaged": "mkdir -p ~/.local/share/kaged/plugins/{name} && cp {program} ~/.local/share/kaged/plugins/{name}/, and beside it: {program} manifest kaged >manifest.yaml",
    "scaffold": "mkdir -p ~/.local/scaffold/plugins && cp {program} ~/.local/scaffold/plugins/",
    "mcp": "{program} manifest mcp >>~/.config/patchbay/config.toml, or any MCP client",
}


def _usage(p: Plugin, program: str) -> str:
    out = (f"{p.name} {p.version}: {p.description}\n\nThis is a plugin: a host starts it and speaks to it on stdin and stdout. "
           "Copy patchbay_plugin.py to the same directory. It is for\n\n")
    return out + "".join(f"  {d:10}{_PLACES[d].format(program=program or p.name, name=p.name)}\n" for d in p.speaks())


# --- one process, in one dialect --------------------------------------------------------------------------------------


class _Session:
    def __init__(self, plugin: Plugin, args: list[str], env: Mapping[str, str], stdin: IO[bytes], stdout: IO[bytes],
                 stderr: IO[str], program: str, owns_stdout: bool):
        self.plugin, self.args, self.env = plugin, args, env
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.program, self.owns_stdout = program, owns_stdout
        self.tell: Callable[[str, Any], None] | None = None
        self.begun = False
        self.held: list[str] | None = None  # mine: log lines, until the hook has ended
        directory = self.in_home("XDG_DATA_HOME", ".local/share", plugin.name, "state")
        self.store: Any = _Files(directory) if directory else None

    def in_home(self, variable: str, otherwise: str, *parts: str) -> str:
        base = self.env.get(variable, "")
        if not os.path.isabs(base):
            home = self.env.get("HOME") or self.env.get("USERPROFILE")
            if not home:
                return ""
            base = os.path.join(home, otherwise)
        return os.path.join(base, *parts)

    def log(self, line: str) -> None:
        if self.held is not None:
            self.held.append(line)
            return
        self.stderr.write(line)
        self.stderr.flush()

    def release(self) -> None:
        """Writes the held log lines."""
        lines, self.held = self.held, None
        for line in lines or ():
            self.log(line)

    def complain(self, text: str) -> None:
        self.log(f"{self.plugin.name}: {text}\n")

    def write(self, text: str) -> None:
        """Writes one whole message."""
        data = memoryview((text + "\n").encode("utf-8", "replace"))
        while data:
            data = data[self.stdout.write(data) or 0:]
        self.stdout.flush()

    def detect(self) -> int:
        """Determines the dialect and the call."""
        args = self.args
        if len(args) == 1 and args[0] in ("info", "validate", "invoke"):
            return self.dotagent(args[0])
        if args and args[0] == "manifest":
            return self.manifest(args[1:])
        if args in (["help"], ["--help"], ["-h"]):
            self.write(_usage(self.plugin, os.path.basename(self.program or self.plugin.name)).rstrip("\n"))
            return _OK
        if args:
            self.complain(f"unknown argument {args[0]!r}\n{_usage(self.plugin, os.path.basename(self.program))}")
            return _USAGE
        given = self.env.get("MINE_INVOCATION", "")
        if given:
            invocation = _invocation(given)
            command = self.plugin._commands.get(str((invocation or {}).get("command")))
            if invocation and invocation["type"] == "command" and command is not None and command.user_stdin:
                return self.mine(invocation, self.stdin)
        return self.read()

    def read(self) -> int:
        """Reads the first line of stdin, which determines the dialect."""
        first = self.stdin.readline(_MOST)
        while first and not first.strip():
            first = self.stdin.readline(_MOST)
        try:
            message = _load(first)
        except ValueError:
            message = None
        if isinstance(message, dict) and "jsonrpc" in message:
            return _Conversation(self).serve(message)
        whole = first + self.stdin.read(_MOST)  # a person may have written an envelope of several lines
        invocation = _invocation(whole)
        if invocation is not None:
            return self.mine(invocation, None)
        self.complain("cannot tell which protocol the host speaks: stdin has neither JSON-RPC (kaged, scaffold, MCP) nor an envelope of mine: "
                      f"{whole[:100]!r}\n{_usage(self.plugin, os.path.basename(self.program))}")
        return _USAGE

    def manifest(self, args: list[str]) -> int:
        if len(args) != 1:
            self.complain("say for which dialect: manifest kaged | mine | dotagent | scaffold | mcp")
            return _USAGE
        try:
            self.write(self.plugin.manifest(args[0], self.program).rstrip("\n"))
        except ValueError as error:
            self.complain(str(error))
            return _FAILED
        return _OK

    # Before and after handlers.

    def begin(self, config: Any = None, secrets: Any = None) -> None:
        """Prepares the plugin for its first handler. Raises ValueError if its settings are invalid."""
        self.configure(config)
        self.fill_secrets(secrets)
        self.begun = True
        for function in self.plugin._start:
            self.plugin._invoke(function, None, "", None, (), {})

    def configure(self, given: Any) -> None:
        settings = self.plugin._config
        if settings is None:
            return
        file = ""
        if given is None:
            given, file = {}, self.in_home("XDG_CONFIG_HOME", ".config", self.plugin.name, "config.json")
            if file and os.path.exists(file):
                with open(file, encoding="utf-8") as text:
                    given = _load(text.read())
        try:
            settings.fill(given)
        except ValueError as error:
            raise ValueError(f"config: {error}" + (f"; the config is {file}" if file else "")) from None

    def fill_secrets(self, given: Any) -> None:
        settings = self.plugin._secrets
        if settings is None:
            return
        values = dict(given or {})
        for name, (_, field, _) in settings.fields.items():
            if name not in values and field.env and self.env.get(field.env):
                values[name] = self.env[field.env]
        try:
            settings.fill(values)
        except ValueError as error:
            raise ValueError(f"secrets: {error}") from None

    def end(self) -> None:
        if not self.begun:
            return
        self.begun = False
        for function in self.plugin._stop:
            try:
                self.plugin._invoke(function, None, "", None, (), {})
            except Exception as error:
                self.plugin._report("stop", error)

    def healthy(self) -> None:
        if self.plugin._health is not None:
            self.plugin._invoke(self.plugin._health, None, "", None, (), {})

    # dotagent: one verb.

    def dotagent(self, verb: str) -> int:
        if not self.plugin._speaks("dotagent"):
            return self.refuse(self.plugin._unspoken("dotagent"), code=_FAILED)
        if verb == "info":
            self.write(_json(_info(self.plugin)))
            return _OK
        try:
            given = _load(self.stdin.read(_MOST))
        except ValueError as error:
            return self.refuse(f"stdin has no JSON: {error}", code=_FAILED)
        return self.validate(given) if verb == "validate" else self.invoke(given)

    def validate(self, config: Any) -> int:
        settings = self.plugin._config
        if settings is None and config != {}:
            return self.refuse(f"{self.plugin.name} takes no config" if isinstance(config, dict) else "the config is not a JSON object")
        try:
            if settings is not None:
                settings.fill(config)
        except Exception as error:
            return self.refuse(_words(error))
        self.write('{"ok":true}')
        return _OK

    def invoke(self, payload: Any) -> int:
        if not isinstance(payload, dict):
            return self.refuse("the payload is not a JSON object", code=_FAILED)
        kind = payload.get("kind")
        kinds = self.plugin._hooks("dotagent")
        if kind not in kinds:
            return self.refuse(f"{self.plugin.name} is no {kind} plugin, but {', '.join(kinds)}", code=_FAILED)
        try:
            self.begin(payload.get("config") or {})
        except Exception as error:
            self.plugin._report("start", error if not isinstance(error, ValueError) else PluginError(str(error)))
            return self.refuse(_words(error), code=_FAILED)
        event = JobEvent(**{name: str(payload.get(name) or "") for name in JobEvent.__slots__})
        verdict = self.plugin._ask(f"job.{kind}", event, dialect="dotagent")
        self.end()
        if verdict.kind == "fail":
            return self.refuse(verdict.reason, code=_FAILED)
        if verdict.kind == "deny":
            return self.refuse(verdict.reason, verdict.suggest)
        self.write('{"ok":true}')
        return _OK

    def refuse(self, reason: str, suggest: str = "", code: int = _OK) -> int:
        self.write(_json({"ok": False, "error": reason, **({"suggest": suggest} if suggest else {})}))
        return code

    # mine: one envelope.

    def mine(self, invocation: dict[str, Any], stdin: IO[bytes] | None) -> int:
        version = str(invocation["protocol_version"])
        if version.split(".")[0] != "1":
            return self.fail(PluginError(f"unsupported protocol version {version}: this plugin speaks 1.0.0", "UNSUPPORTED_PROTOCOL_VERSION"))
        if not self.plugin._speaks("mine"):
            return self.fail(PluginError(self.plugin._unspoken("mine")))
        kind = invocation["type"]
        if kind == "hook":
            return self.mine_hook(invocation)
        if kind == "command":
            return self.mine_command(invocation, stdin)
        if kind == "lifecycle":
            return self.mine_lifecycle(invocation.get("event"))
        return self.fail(PluginError(f"unknown type of invocation {str(kind)[:100]!r}"))

    def mine_hook(self, invocation: dict[str, Any]) -> int:
        stage = invocation.get("stage")
        point = next((p for p, (d, hook, _) in _NATIVES.items() if d == "mine" and hook == stage), "")
        context = invocation.get("context")
        if not self.plugin._handlers.get(point):
            program = os.path.basename(self.program or self.plugin.name)
            return self.fail(PluginError(f"{self.plugin.name} has no handler of the stage {str(stage)[:100]!r}: write its manifest again "
                                         f'with "{program} manifest mine"'))
        if not isinstance(context, dict):
            return self.fail(PluginError("the context is not an object"))
        event = CommandEvent(command=str(context.get("command") or ""), args=list(context.get("args") or []),
                             flags=dict(context.get("flags") or {}), result=context.get("result"), timestamp=context.get("timestamp") or "")
        self.held = []
        try:
            self.begin()
        except Exception as error:
            return self.fail(error)
        verdict = self.plugin._ask(point, event, event.command, "mine")
        self.end()
        if verdict.kind == "fail":
            return self.fail(verdict.error or PluginError(verdict.reason))
        if verdict.kind == "deny":
            return self.fail(PluginError(verdict.reason + (f"; {verdict.suggest}" if verdict.suggest else ""), "DENIED"))
        self.release()
        if invocation.get("mode") == "notify":
            return _OK  # the host does not read stdout
        reply: dict[str, Any] = {"status": "ok"}
        if verdict.kind == "modify":
            reply["context"] = {"command": event.command, "args": [str(a) for a in event.args],
                                "flags": {k: str(v) for k, v in event.flags.items()}, "result": event.result, "timestamp": event.timestamp}
        try:
            self.write(_json(reply))
        except (TypeError, ValueError) as error:
            return self.fail(error)
        return _OK

    def fail(self, error: BaseException) -> int:
        """Writes mine's error object to stderr, with the log inside it: a host recognises it only if stderr has nothing else."""
        lines, self.held = self.held, None
        said: dict[str, Any] = {"status": "error", "error": _words(error)}
        if getattr(error, "code", "") and isinstance(error, PluginError):
            said["code"] = error.code
        if lines:
            said["log"] = [line.rstrip("\n") for line in lines]
        self.log(_json(said) + "\n")
        return _FAILED

    def mine_command(self, invocation: dict[str, Any], stdin: IO[bytes] | None) -> int:
        import io

        command = self.plugin._commands.get(str(invocation.get("command")))
        if command is None:
            names = ", ".join(self.plugin._commands) or "none"
            return self.fail(PluginError(f"{self.plugin.name} has no command {str(invocation.get('command'))[:100]!r}; there are {names}", "UNKNOWN_COMMAND"))
        out = io.TextIOWrapper(self.stdout, encoding="utf-8", errors="replace", write_through=True)  # type: ignore[type-var]
        given = io.TextIOWrapper(stdin, encoding="utf-8", errors="replace") if stdin is not None else io.StringIO()
        if self.owns_stdout:  # a command's output is for the user
            os.dup2(self.stdout.fileno(), 1)
            sys.stdout = out
        try:
            self.begin()
            self.plugin._invoke(command.run, None, "mine", None, (CommandCall(list(invocation.get("args") or []), given, out, self.stderr),), {})
        except Exception as error:
            self.plugin._report(command.name, error)
            self.end()
            self.flush_output(out)
            return self.fail(error)
        self.end()
        self.flush_output(out)
        return _OK

    def flush_output(self, out: Any) -> None:
        """Flushes the output of a command. The program's own stdout stays open, because its threads may still print."""
        out.flush()
        if not self.owns_stdout:
            out.detach()

    def mine_lifecycle(self, event: Any) -> int:
        """Handles lifecycle events. init and shutdown need no answer: each process begins and ends by itself."""
        if event != "health":
            return _OK
        try:
            self.begin()
            self.healthy()
        except Exception as error:
            return self.fail(error)
        self.end()
        self.write('{"status":"ok"}')
        return _OK


def _invocation(data: bytes | str) -> dict[str, Any] | None:
    """Decodes mine's envelope. Returns None if data is something else."""
    try:
        found = _load(data)
    except ValueError:
        return None
    if isinstance(found, dict) and isinstance(found.get("protocol_version"), str) and isinstance(found.get("type"), str):
        return found
    return None


class _Conversation:
    """JSON-RPC with a host: kaged, scaffold and MCP."""

    def __init__(self, session: _Session):
        import threading

        self.session, self.plugin = session, session.plugin
        self.dialect = ""
        self.lock = threading.Lock()  # protects writes to stdout, and waiting
        self.waiting: dict[str, list[Any]] = {}  # our own requests, by id
        self.next = 0
        self.threads: list[Any] = []

    def serve(self, message: Any) -> int:
        done = self.take(message)
        while not done:
            line = self.session.stdin.readline(_MOST)
            if not line:
                break
            if len(line) >= _MOST and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = self.session.stdin.readline(_MOST)
                self.reply(None, error=_RPCError(_TOO_LARGE, f"a message of more than {_MOST} bytes"))
                continue
            if not line.strip():
                continue
            try:
                message = _load(line)
            except ValueError:
                message = None
            done = self.take(message)
        self.abandon()
        for thread in self.threads:
            thread.join(1.0)
        self.session.end()
        return _OK

    def take(self, m: Any) -> bool:
        """Handles one message; True after a shutdown."""
        if not isinstance(m, dict) or "jsonrpc" not in m or isinstance(m.get("id"), (dict, list)):
            self.reply(None, error=_RPCError(_BAD_REQUEST, "not a message of JSON-RPC 2.0"))
        elif "method" not in m:
            self.deliver(m)
        elif "id" not in m:
            pass  # a notification, which needs no answer
        elif not self.dialect:
            self.greet(m)
        elif m["method"] == "shutdown" and self.dialect != "mcp":
            self.reply(m["id"], {"ok": True} if self.dialect == "scaffold" else {})
            return True
        elif self.dialect == "scaffold":  # one request at a time
            self.respond(m)
        else:
            self.spawn(self.respond, m)
        return False

    def spawn(self, function: Callable[..., None], *args: Any) -> None:
        import threading

        self.threads = [t for t in self.threads if t.is_alive()]
        thread = threading.Thread(target=function, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def respond(self, m: dict[str, Any]) -> None:
        try:
            result = self.answer(str(m["method"]), m.get("params"))
            self.reply(m["id"], result)
        except Exception as error:
            self.reply(m["id"], error=error)

    def reply(self, id: Any, result: Any = None, error: BaseException | None = None) -> None:
        if error is None:
            self.send({"jsonrpc": "2.0", "id": id, "result": result})
            return
        code = error.code if isinstance(error, _RPCError) else _ERROR
        self.send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": _words(error)}})

    def send(self, message: dict[str, Any]) -> None:
        text = _json(message)
        with self.lock:
            self.session.write(text)

    def greet(self, m: dict[str, Any]) -> None:
        """Answers the handshake, which determines the dialect."""
        if m["method"] != "initialize":
            self.reply(m["id"], error=_RPCError(_NO_METHOD, f"unknown method {str(m['method'])[:100]!r} before initialize"))
            return
        params = m.get("params")
        try:
            dialect = _handshake(params)
            if not self.plugin._speaks(dialect):
                raise _RPCError(_ERROR, self.plugin._unspoken(dialect))
        except _RPCError as error:
            self.reply(m["id"], error=error)
            return
        if dialect == "kaged":  # start functions may use the storage, and this thread must read the answers
            self.spawn(self.welcome, m, dialect)
        else:
            self.welcome(m, dialect)

    def welcome(self, m: dict[str, Any], dialect: str) -> None:
        try:
            result = getattr(self, "greet_" + dialect)(m.get("params"))
        except Exception as error:
            if isinstance(error, ValueError):
                error = _RPCError(_BAD_PARAMS, str(error))
            self.plugin._report("initialize", error)
            self.reply(m["id"], error=error)
            return
        self.dialect = dialect
        self.reply(m["id"], result)

    def greet_scaffold(self, params: Any) -> Any:
        self.session.begin()
        return _scaffold_manifest(self.plugin)

    def greet_mcp(self, params: Any) -> Any:
        self.session.begin()
        version = params["protocolVersion"]
        return {"protocolVersion": version if version in _MCP_VERSIONS else _MCP_VERSIONS[0], "capabilities": {"tools": {}},
                "serverInfo": {"name": self.plugin.name, "version": self.plugin.version}, "instructions": self.plugin.description}

    def greet_kaged(self, params: Any) -> Any:
        if params.get("api_version") != 1:
            raise _RPCError(_BAD_PARAMS, f"api_version is {params.get('api_version')}, and this plugin speaks 1")
        if params.get("plugin_name") not in (None, "", self.plugin.name):
            self.plugin.log.warn("the manifest has another name than the plugin", manifest=params["plugin_name"], plugin=self.plugin.name)
        self.session.tell = self.notify
        self.session.store = _HostStore(self.request) if params.get("storage_available") else None
        self.session.begin(params.get("config") or {}, params.get("system_config") or {})
        p = self.plugin
        return {"name": p.name, "version": p.version, "api_version": 1, "methods": list(p._methods), "notifications": p._notifications,
                "capabilities_used": _capabilities(p)}

    def answer(self, method: str, params: Any) -> Any:
        if self.dialect == "scaffold":
            return self.answer_scaffold(method, params or {})
        if self.dialect == "mcp":
            return self.answer_mcp(method, params or {})
        return self.answer_kaged(method, params or {})

    # scaffold

    def answer_scaffold(self, method: str, params: dict[str, Any]) -> Any:
        p = self.plugin
        if method == "tool/execute":
            operation = p._tools.get(str(params.get("name")))
            if operation is None:
                raise _RPCError(_BAD_PARAMS, f"there is no tool {str(params.get('name'))[:100]!r}")
            try:
                return {"success": True, "result": _text(p._operate(operation, params.get("arguments"), "scaffold"))}
            except Exception as error:
                return {"success": False, "result": _words(error)}
        if method == "hook/post_user_input":
            e: Any = InputEvent(message=_string(params, "message"))
            return self.scaffold(p._ask("turn.input", e, dialect="scaffold"), e, "message")
        if method == "hook/context_enhance":
            e = ContextEvent(user_message=_string(params, "user_message"), dynamic_context=_string(params, "dynamic_context"))
            return self.scaffold(p._ask("prompt.context", e, dialect="scaffold"), e, "dynamic_context")
        if method == "hook/pre_llm_send":
            e = PromptEvent(base_prompt=_string(params, "base_prompt"), dynamic_context=_string(params, "dynamic_context"))
            return self.scaffold(p._ask("prompt.send", e, dialect="scaffold"), e, "base_prompt", "dynamic_context")
        if method == "hook/post_llm_response":
            return self.scaffold_reply(params)
        if method == "hook/pre_tool_execute":
            return self.scaffold_before(params)
        if method == "hook/post_tool_execute":
            e = _tool_event(params)
            return self.scaffold(p._ask("tool.after", e, e.tool, "scaffold"), e, "result")
        raise _RPCError(_NO_METHOD, f"unknown method {method[:100]!r}")

    def scaffold(self, verdict: Verdict, event: Any, *fields: str) -> Any:
        """Returns the answer of a hook."""
        if verdict.kind == "fail":
            raise verdict.error or PluginError(verdict.reason)
        if verdict.kind in ("deny", "skip"):
            if verdict.kind == "deny":  # the protocol has no field for the reason
                self.plugin.log.warn("message denied", reason=verdict.reason, suggest=verdict.suggest)
            return {"action": "skip"}
        if verdict.kind not in ("modify", "stop"):
            return {"action": "continue"}
        out = {"action": "stop" if verdict.kind == "stop" else "continue"}
        for name in fields:
            out[name] = _text(getattr(event, name))
        return out

    def scaffold_reply(self, params: dict[str, Any]) -> Any:
        """Calls the handlers of model.reply, and of turn.final if the model asks for no more tools."""
        calls = [{"name": c.get("name", ""), "arguments": _arguments(c.get("arguments"))} for c in params.get("tool_calls") or []]
        e = ReplyEvent(text=_string(params, "text"), tool_calls=calls)
        verdict = self.plugin._ask("model.reply", e, dialect="scaffold")
        if not calls and verdict.kind in ("", "continue", "modify"):
            final = FinalEvent(text=e.text)
            last = self.plugin._ask("turn.final", final, dialect="scaffold")
            if last.kind not in ("", "continue"):
                verdict, e.text = last, final.text
        return self.scaffold(verdict, e, "text")

    def scaffold_before(self, params: dict[str, Any]) -> Any:
        """Calls the handlers of tool.before, and then of tool.resolve unless the first has ended the event."""
        e = _tool_event(params)
        verdict = self.plugin._ask("tool.before", e, e.tool, "scaffold")
        if verdict.kind in ("", "continue", "modify"):
            resolved = self.plugin._ask("tool.resolve", e, e.tool, "scaffold")
            if resolved.kind in ("answer", "fail"):
                verdict = resolved
        if verdict.kind == "answer":
            return {"action": "stop", "result": _text(verdict.answer), "success": not verdict.failed}
        if verdict.kind == "deny":
            return {"action": "stop", "result": _refusal(verdict), "success": False}
        return self.scaffold(verdict, e, "arguments")

    # MCP

    def answer_mcp(self, method: str, params: dict[str, Any]) -> Any:
        p = self.plugin
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [{"name": t.name, "description": t.description, "inputSchema": t.schema} for t in p._tools.values()]}
        if method != "tools/call":
            raise _RPCError(_NO_METHOD, f"unknown method {method[:100]!r}")
        operation = p._tools.get(str(params.get("name")))
        if operation is None:
            raise _RPCError(_BAD_PARAMS, f"there is no tool {str(params.get('name'))[:100]!r}")
        failed = False
        try:
            text = _text(p._operate(operation, params.get("arguments"), "mcp"))
        except Exception as error:
            text, failed = _words(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}

    # kaged

    def answer_kaged(self, method: str, params: dict[str, Any]) -> Any:
        p = self.plugin
        if not isinstance(params, dict):
            raise _RPCError(_BAD_PARAMS, "the params are not an object")
        context = params.pop("_context", None)
        if method == "health.check":
            self.session.healthy()
            return {"ok": True}
        if method.startswith("kaged.hook."):
            return self.kaged_hook(method[len("kaged.hook."):], params, context)
        operation = p._methods.get(method)
        if operation is None and method.startswith(p.name + "."):
            operation = p._tools.get(method[len(p.name) + 1:])
        if operation is None:
            raise _RPCError(_NO_METHOD, f"unknown method {method[:100]!r}")
        return p._operate(operation, params, "kaged", context)

    def kaged_hook(self, hook: str, params: dict[str, Any], context: Any) -> Any:
        point = next((name for name, (d, h, _) in _NATIVES.items() if d == "kaged" and h == hook), "")
        if not self.plugin._handlers.get(point):
            raise _RPCError(_NO_METHOD, f"unknown method {('kaged.hook.' + hook)[:100]!r}")
        cls = {"session.start": SessionEvent, "session.idle": IdleEvent, "compact.before": CompactEvent, "compact.after": CompactedEvent}[point]
        renamed = {"compacted": "messages_being_compacted", "remaining": "messages_remaining"}
        e: Any = cls(**{n: params[renamed.get(n, n)] for n in cls.__slots__ if params.get(renamed.get(n, n)) is not None})
        verdict = self.plugin._ask(point, e, "", "kaged", context)
        if verdict.kind == "fail":
            raise verdict.error or PluginError(verdict.reason)
        if verdict.kind != "modify":
            return None
        if point == "session.start":
            return {"inject": e.inject}
        if point == "compact.after":
            return {"retain": e.retain, **({"inject": e.inject} if e.inject else {})}
        if not self.plugin.compactor:
            raise PluginError(f"modify cannot be returned at {point}, unless the plugin is the compactor: Plugin(…, compactor=True)")
        return {"summary": e.summary} if e.summary else {"messages": e.messages}

    def request(self, method: str, params: Any) -> Any:
        """Sends a request to the host, and waits for its answer."""
        import threading

        answered = threading.Event()
        with self.lock:
            self.next += 1
            id = f"{self.plugin.name}-{self.next}"
            entry: list[Any] = [answered, None]
            self.waiting[id] = entry
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        answered.wait()
        m = entry[1]
        if m is None:
            raise PluginError("the host is gone")
        if "error" in m:
            raise PluginError(str((m["error"] or {}).get("message", "the host answered with an error")))
        return m.get("result") or {}

    def deliver(self, m: dict[str, Any]) -> None:
        with self.lock:
            entry = self.waiting.pop(str(m.get("id")), None)
        if entry is not None:
            entry[1] = m
            entry[0].set()

    def abandon(self) -> None:
        with self.lock:
            entries, self.waiting = list(self.waiting.values()), {}
        for entry in entries:
            entry[0].set()

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})


def _handshake(params: Any) -> str:
    """Determines the dialect from the params of initialize."""
    if not isinstance(params, dict):
        params = {}
    marks = {"mcp": ("protocolVersion",), "scaffold": ("protocol_version",), "kaged": ("api_version", "plugin_name", "daemon_version")}
    found = [d for d, names in marks.items() if any(name in params for name in names)]
    if len(found) != 1:
        raise _RPCError(_BAD_PARAMS, "cannot tell which protocol this is: initialize has api_version and plugin_name in kaged, "
                                     "protocol_version in scaffold, protocolVersion in MCP; it must have those of one protocol only")
    return found[0]


def _string(params: dict[str, Any], name: str) -> str:
    return _text(params.get(name))


def _arguments(value: Any) -> Any:
    """Decodes arguments, which are a string of JSON in scaffold. Any other value stays as it is."""
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        return _load(value)
    except json.JSONDecodeError:  # any other error fails the call: a guard must not miss its arguments
        return value


def _tool_event(params: dict[str, Any]) -> ToolEvent:
    return ToolEvent(tool=_string(params, "tool_name"), arguments=_arguments(params.get("arguments")), result=_string(params, "result"),
                     success=params.get("success") is not False)


def _refusal(verdict: Verdict) -> str:
    return _json({"error": verdict.reason, **({"suggest": verdict.suggest} if verdict.suggest else {})})


# --- manifests --------------------------------------------------------------------------------------------------------


def _info(p: Plugin) -> dict[str, Any]:
    out: dict[str, Any] = {"name": p.name, "version": p.version, "description": p.description, "kinds": p._hooks("dotagent")}
    if p.platforms:
        out["platforms"] = p.platforms
    if p._config is not None:
        out["schema"] = p._config.schema
    return out


def _scaffold_manifest(p: Plugin) -> dict[str, Any]:
    tools = [{"name": t.name, "description": t.description, "parameters": _parameters(t.schema)} for t in p._tools.values()]
    return {"name": p.name, "version": p.version, "description": p.description, "hooks": p._hooks("scaffold"), "tools": tools,
            "priority": p.priority}


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Translates a schema to scaffold's list, which has no enum: the values go into the description."""
    out = []
    for name, s in schema.get("properties", {}).items():
        doc = s.get("description", "")
        if "enum" in s:
            doc += f" One of: {', '.join(map(str, s['enum']))}."
        out.append({"name": name, "type": s.get("type", ""), "description": doc.strip(), "required": name in schema.get("required", [])})
    return out


def _capabilities(p: Plugin) -> list[str]:
    storage = ["kaged:storage:read", "kaged:storage:write"] if p._uses_state else []
    return [*p._capabilities, *(c for c in storage if c not in p._capabilities)]


def _file(p: Plugin, program: str) -> str:
    return os.path.basename(program) or p.name


def _kaged_manifest(p: Plugin, program: str) -> dict[str, Any]:
    hooks = p._hooks("kaged")
    within = [h.within for point, (d, _, _) in _NATIVES.items() if d == "kaged" for h in p._handlers.get(point, ()) if h.within]
    m: dict[str, Any] = {
        "name": p.name, "version": p.version, "kaged_api": 1, "description": p.description, "author": p.author, "license": p.license,
        "homepage": p.homepage, "command": p.program or ["python3", _file(p, program)], "capabilities": _capabilities(p),
        "methods": list(p._methods), "notifications": p._notifications, "hooks": hooks,
        "roles": ["observer", "compactor"] if p.compactor and "pre_compact" in hooks else [],
        "tools": [{"name": t.name, "description": t.description, "parameters_schema": t.schema} for t in p._tools.values()],
        "config_schema": p._config.schema if p._config else {}, "system_config_schema": p._secrets.schema if p._secrets else {},
        "knobs": _knobs(p), "hook_timeout_sec": min(max(int(-(-max(within) // 1)), 1), 60) if within else "",
    }
    return {name: value for name, value in m.items() if value not in ("", [], {})}


def _knobs(p: Plugin) -> dict[str, Any]:
    out = {}
    for name, (schema, field, _) in (p._config.fields if p._config else {}).items():
        if not field.knob:
            continue
        kinds = {"boolean": "boolean", "integer": "int_range", "number": "range"}
        kind = field.control or ("enum" if "enum" in schema else kinds.get(schema.get("type", ""), "text"))
        knob = {"type": kind, "label": field.knob, "binds_to": f"config.{name}"}
        out[name] = {**knob, **{k: schema[k] for k in ("description", "default") if k in schema}}
    return out


def _mine_manifest(p: Plugin, program: str) -> str:
    if not p.author:
        raise ValueError("mine requires an author: Plugin(…, author=…)")
    entry = p.program[0] if len(p.program) == 1 else _file(p, program)
    out = f"[plugin]\nname = {_toml(p.name)}\nversion = {_toml(p.version)}\ndescription = {_toml(p.description)}\nauthor = {_toml(p.author)}\n"
    if p.license:
        out += f"license = {_toml(p.license)}\n"
    out += f'protocol_version = "1.0.0"\nentrypoint = {_toml(entry[2:] if entry.startswith("./") else entry)}\n'
    for point, (dialect, stage, _) in _NATIVES.items():
        handlers = p._handlers.get(point, [])
        if dialect != "mine" or not handlers:
            continue
        # One entry for a stage: the host does not say which entry it calls, so two entries would call every handler
        # twice.
        patterns = {h.only or "*" for h in handlers}
        pattern = patterns.pop() if len(patterns) == 1 else "*"
        out += f"\n[[hooks]]\ncommand = {_toml(pattern)}\nstage = {_toml(stage)}\nmode = {_toml('notify' if stage == 'notify' else 'transform')}\n"
        within = max((h.within or 0 for h in handlers), default=0)
        if within:
            out += f"timeout = {_toml(f'{round(within * 1000)}ms')}\n"
    for c in p._commands.values():
        out += f"\n[[commands]]\nname = {_toml(c.name)}\ndescription = {_toml(c.description)}\n"
        out += (f"args = {_toml(c.args)}\n" if c.args else "") + ('stdin = "user"\n' if c.user_stdin else "")
    return out + _permissions(p)


def _permissions(p: Plugin) -> str:
    """Translates capabilities to mine's permissions, which are wider: all of the network, and directories to read and write."""
    directories = list(dict.fromkeys(c.split(":", 2)[2] for c in p._capabilities if c.startswith(("read:fs:", "write:fs:"))))
    if p._uses_state:
        directories.append(f"~/.local/share/{p.name}")
    if p._config is not None:
        directories.append(f"~/.config/{p.name}")
    variables = p._variables + [f.env for _, f, _ in (p._secrets.fields if p._secrets else {}).values() if f.env]
    out = "network = true\n" if any(c.startswith("net:") and c != "net:[]" for c in p._capabilities) else ""
    out += f"filesystem = {_toml(directories)}\n" if directories else ""
    out += f"env_vars = {_toml(variables)}\n" if variables else ""
    return f"\n[permissions]\n{out}" if out else ""


def _toml(value: str | Sequence[str]) -> str:
    """Writes a TOML string: a JSON string, with DEL escaped, as TOML requires."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "[" + ", ".join(map(_toml, value)) + "]"


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ,._/()-]*[A-Za-z0-9.)]|\d+\.\d+\.\d+")
_YAML_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")


def _yaml(value: dict[str, Any], indent: int = 0) -> str:
    """Writes YAML in block style. Lists of plain values are written as JSON, which is YAML too."""
    out = ""
    for name, inner in value.items():
        key = name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) and name.lower() not in _YAML_WORDS else json.dumps(name)
        out += " " * indent + key + ":"
        if isinstance(inner, dict) and inner:
            out += "\n" + _yaml(inner, indent + 2)
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict) and inner[0]:
            out += "\n"
            for item in inner:
                text = _yaml(item, indent + 4)
                out += text[: indent + 2] + "-" + text[indent + 3:]
        elif isinstance(inner, str) and _PLAIN.fullmatch(inner) and inner.lower() not in _YAML_WORDS:
            out += f" {inner}\n"
        else:
            out += f" {_json(inner)}\n"
    return out


# --- the python dialect -----------------------------------------------------------------------------------------------


def _export(p: Plugin, module: dict[str, Any]) -> None:
    """Adds handlers of the python dialect to a module, with the decorators that the dialect's interpreter provides."""
    import io

    result_type, call_type = module["ToolResult"], module["ToolCall"]
    module.setdefault("__plugin__", {"api": "1.0", "name": p.name, "version": p.version, "description": p.description})
    begun: list[bool] = []
    settled: dict[str, Verdict] = {}  # answers for tool calls that must not run, by call id, until on_resolve_tool returns them

    def session() -> None:
        if not begun:
            begun.append(True)
            p._session = _Session(p, [], os.environ, io.BytesIO(), io.BytesIO(), sys.stderr, "", False)  # no stdin and stdout: the interpreter uses them
            p._session.begin()

    def raising(verdict: Verdict) -> Verdict:
        if verdict.kind == "fail":
            raise verdict.error or PluginError(verdict.reason)
        return verdict

    def event(call: Any, result: Any = None) -> ToolEvent:
        return ToolEvent(tool=call.tool_name, call_id=call.tool_call_id, arguments=call.input,
                         result="" if result is None else result.output, success=result is None or result.success)

    def on_begin(ctx: Any) -> None:
        session()
        raising(p._ask("turn.begin", TurnEvent(session_id=ctx.session_id, working_dir=str(ctx.working_dir), user_text=ctx.user_text, state=ctx.state), dialect="python"))

    def on_tool_call(ctx: Any, call: Any) -> Any:
        session()
        e = event(call)
        verdict = raising(p._ask("tool.before", e, e.tool, "python"))
        if verdict.kind in ("answer", "deny"):
            settled[call.tool_call_id] = verdict
        return call_type(e.tool, e.call_id, e.arguments) if verdict.kind in ("modify", "stop") else None

    def on_resolve_tool(ctx: Any, call: Any) -> Any:
        session()
        e = event(call)
        verdict = settled.pop(call.tool_call_id, None) or raising(p._ask("tool.resolve", e, e.tool, "python"))
        if verdict.kind == "deny":
            return result_type(call.tool_call_id, call.tool_name, _refusal(verdict), False, verdict.reason)
        if verdict.kind == "answer":
            return result_type(call.tool_call_id, call.tool_name, _text(verdict.answer), not verdict.failed)
        return None

    def on_tool_result(ctx: Any, call: Any, result: Any) -> Any:
        session()
        e = event(call, result)
        verdict = raising(p._ask("tool.after", e, e.tool, "python"))
        return result_type(result.tool_call_id, result.tool_name, e.result, result.success, result.error) if verdict.kind in ("modify", "stop") else None

    def on_final(ctx: Any, text: str) -> Any:
        session()
        e = FinalEvent(text=text)
        verdict = raising(p._ask("turn.final", e, dialect="python"))
        return e.text if verdict.kind in ("modify", "stop") else None

    def on_done(ctx: Any) -> None:
        session()
        raising(p._ask("turn.done", TurnEvent(session_id=ctx.session_id, working_dir=str(ctx.working_dir), user_text=ctx.user_text, state=ctx.state), dialect="python"))

    points = {"on_begin": ["turn.begin"], "on_tool_call": ["tool.before"], "on_resolve_tool": ["tool.resolve", "tool.before"],
              "on_tool_result": ["tool.after"], "on_final": ["turn.final"], "on_done": ["turn.done"]}
    for function in (on_begin, on_tool_call, on_resolve_tool, on_tool_result, on_final, on_done):
        if any(p._handlers.get(point) for point in points[function.__name__]):
            module["_patchbay_" + function.__name__] = module[function.__name__](function)
