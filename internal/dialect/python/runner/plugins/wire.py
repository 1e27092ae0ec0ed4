"""Lines of JSON-RPC 2.0 on two descriptors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

_CHUNK = 256 << 10

# Error codes, as in ../../messages.go.
PARSE_ERROR = -32700
UNKNOWN_METHOD = -32601
INTERNAL_ERROR = -32603
HOOK_FAILED = -32000
HOOK_TIMED_OUT = -32001
NOT_LOADED = -32002
LOAD_FAILED = -32003
TOO_DEEP = -32004

# How deep a value for the host may be nested. The host refuses deeper ones.
MOST_LEVELS = 1000

# The number of digits that Python converts to an int, and back, in any version.
_MOST_DIGITS = 4300


class Huge(float):
    """A number that is too large for Python. It counts as infinite, and is sent back as it came.

    If such a number were an error, an event with one would pass by every plugin.
    """

    def __new__(cls, text: str) -> Huge:
        huge = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        huge.text = text
        return huge

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)  # for copies

    text: str


def _float(text: str) -> float:
    value = float(text)
    return value if value - value == 0 else Huge(text)


def _int(text: str) -> float:
    return int(text) if len(text) <= _MOST_DIGITS else Huge(text)


_compact = {"separators": (",", ":"), "allow_nan": False}
_encode = json.JSONEncoder(ensure_ascii=False, **_compact).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, **_compact).encode
_decode = json.JSONDecoder(parse_float=_float).decode
# A decoder that calls a function for each int is slower, so it is used only if it must be.
_decode_long = json.JSONDecoder(parse_float=_float, parse_int=_int).decode

# Matches the id at the beginning or the end of a message that cannot be decoded.
_ID = re.compile(rb'^\{"jsonrpc":"2\.0","id":(\d+),|"id":(\d+)\}$')


class WireError(Exception):
    """An error that is sent to the host."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None):
        super().__init__(message)
        self.code = code
        self.data = data


class TooDeepError(ValueError):
    """A value is nested deeper than the host accepts."""

    def __init__(self) -> None:
        super().__init__(f"its answer is nested deeper than the limit of {MOST_LEVELS} levels")


def encode(value: Any) -> bytes:
    """Return compact JSON. Raises ValueError, TypeError or RecursionError if the value cannot be encoded."""
    try:
        return _bytes(value)
    except ValueError as error:
        if "Out of range" not in str(error):
            raise
    numbers: dict[bytes, bytes] = {}
    data = _bytes(_marked(value, numbers))
    for mark, number in numbers.items():
        data = data.replace(mark, number)
    return data


def _bytes(value: Any) -> bytes:
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair cannot be UTF-8, but can be escaped
        return _encode_ascii(value).encode()


def _marked(value: Any, numbers: dict[bytes, bytes]) -> Any:
    """Return a value with a mark for each huge number, and add the JSON of the mark and the number to numbers."""
    if isinstance(value, dict):
        return {key: _marked(item, numbers) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(item, numbers) for item in value]
    if isinstance(value, Huge):
        mark = os.urandom(16).hex()
        numbers[b'"%s"' % mark.encode()] = value.text.encode()
        return mark
    return value


def decode(line: bytes) -> Any:
    """Return the message in a line. Raises ValueError or RecursionError if there is none."""
    text = line.decode()
    try:
        return _decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an int with too many digits
        return _decode_long(text)


def id_of(line: bytes) -> int | None:
    """Return the id of a request that cannot be decoded, so that it can be answered with an error."""
    match = _ID.search(line)
    return int(match[1] or match[2]) if match else None


class Lines:
    """Splits chunks of bytes into lines."""

    def __init__(self, take: Callable[[bytes], None]):
        self._take = take
        self._parts: list[bytes] = []  # of the unfinished line

    def feed(self, chunk: bytes) -> None:
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        for part in rest:
            line = b"".join(self._parts)
            self._parts = [part]
            if line:
                self._take(line)


def read(descriptor: int) -> bytes | None:
    """Return available bytes: b"" at the end, None if there are none yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def write(descriptor: int, message: bytes) -> None:
    """Write a message and its newline, in one piece if it fits the pipe."""
    data = memoryview(message + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
