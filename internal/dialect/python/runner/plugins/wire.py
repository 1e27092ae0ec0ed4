"""Lines of JSON-RPC 2.0 on two descriptors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

_CHUNK = 256 << 10

# The codes of errors, as the host knows them.
PARSE_ERROR = -32700
UNKNOWN_METHOD = -32601
INTERNAL_ERROR = -32603
HOOK_FAILED = -32000
HOOK_TIMED_OUT = -32001
NOT_LOADED = -32002
LOAD_FAILED = -32003
TOO_DEEP = -32004

# How deep a value may be that goes to the host; it refuses a deeper one.
MOST_LEVELS = 1000

_compact = {"separators": (",", ":"), "allow_nan": False}
_encode = json.JSONEncoder(ensure_ascii=False, **_compact).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, **_compact).encode
_decode = json.JSONDecoder().decode

# The id of a message that cannot be decoded, at either end of it.
_ID = re.compile(rb'^\{"jsonrpc":"2\.0","id":(\d+),|"id":(\d+)\}$')


class WireError(Exception):
    """An error that goes back to the host."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None):
        super().__init__(message)
        self.code = code
        self.data = data


class TooDeepError(ValueError):
    """A value that is nested deeper than the host takes."""

    def __init__(self) -> None:
        super().__init__(f"its answer is nested deeper than the limit of {MOST_LEVELS} levels")


def encode(value: Any) -> bytes:
    """Compact JSON. ValueError, TypeError or RecursionError: the value has none."""
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8, but an escape
        return _encode_ascii(value).encode()


def decode(line: bytes) -> Any:
    """The message in a line. ValueError or RecursionError: there is none."""
    return _decode(line.decode())


def id_of(line: bytes) -> int | None:
    """The id of a request that cannot be decoded, so that it can be answered all the same."""
    match = _ID.search(line)
    return int(match[1] or match[2]) if match else None


class Lines:
    """Bytes that come in pieces, cut into lines."""

    def __init__(self, take: Callable[[bytes], None]):
        self._take = take
        self._parts: list[bytes] = []  # of the line that has not ended

    def feed(self, chunk: bytes) -> None:
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        for part in rest:
            line = b"".join(self._parts)
            self._parts = [part]
            if line:
                self._take(line)


def read(descriptor: int) -> bytes | None:
    """What there is to read; nothing at the end, None where it has not come yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def write(descriptor: int, message: bytes) -> None:
    """Write a whole message and its newline, in one piece where the pipe takes it."""
    data = memoryview(message + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
