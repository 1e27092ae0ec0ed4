"""Marks each line that plugins print or log with the name of its plugin.

The host reads the lines from the runner's stderr and logs each for its plugin. Nothing changes before
take_over is called: in a program that uses the package, print works as usual.
"""

from __future__ import annotations

import contextvars
import io
import logging
import os
import sys
import threading

# The plugin whose code is running. Tasks and threads of a handler inherit it.
current_plugin: contextvars.ContextVar[str] = contextvars.ContextVar("current_plugin", default="")

# A line is MARK name MARK level MARK text. Names are printable, so they contain no MARK; the text may be
# anything. A line without a mark was written by a subprocess, or with os.write.
MARK = "\x1e"

# A longer line is ended here; the host shortens it further.
_LONGEST_PART = 16 << 10


class Output:
    """Writes marked lines to a descriptor."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._lock = threading.Lock()  # protects _parts
        self._parts: dict[tuple[str, str], str] = {}  # unfinished lines by plugin and level

    def write(self, text: str, level: str) -> None:
        """Send the whole lines of a text, and store the rest until the line ends."""
        plugin = current_plugin.get()
        with self._lock:
            text = self._parts.pop((plugin, level), "") + text
            lines, newline, part = text.rpartition("\n")
            if len(part) > _LONGEST_PART:
                lines, newline, part = text, "\n", ""
            if part:
                self._parts[plugin, level] = part
        if newline:
            self._send(plugin, level, lines)

    def finish(self, plugin: str) -> None:
        """Send the unfinished line of a plugin whose handler has ended."""
        if not self._parts:
            return
        with self._lock:
            levels = [level for name, level in self._parts if name == plugin]
            left = [(level, self._parts.pop((plugin, level))) for level in levels]
        for level, text in left:
            self._send(plugin, level, text)

    def _send(self, plugin: str, level: str, text: str) -> None:
        head = f"{MARK}{plugin}{MARK}{level}{MARK}"
        lines = "".join(f"{head}{line}\n" for line in text.split("\n"))
        data = memoryview(lines.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self._descriptor, data) :]


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr for plugins."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, output: Output, descriptor: int):
        self._output = output
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._output.write(text, "I")
        return len(text)

    def writable(self) -> bool:
        return True

    def reconfigure(self, **_: object) -> None:
        """Do nothing: the stream has UTF-8 and line buffering already."""

    def fileno(self) -> int:
        """Return the descriptor for subprocess and os.write, whose lines have no mark."""
        return self._descriptor

    @property
    def buffer(self) -> io.RawIOBase:
        """Return a stream for code that writes bytes."""
        return _Bytes(self)


class _Bytes(io.RawIOBase):
    def __init__(self, stream: Stream):
        self._stream = stream

    def write(self, data: bytes) -> int:
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def writable(self) -> bool:
        return True


class LogLines(logging.Handler):
    """Writes log records to the output: only the message, since the mark has the level."""

    def __init__(self, output: Output):
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._output.write(self.format(record) + "\n", _level(record.levelno))
        except Exception:
            self.handleError(record)


def _level(number: int) -> str:
    if number >= logging.ERROR:
        return "E"
    if number >= logging.WARNING:
        return "W"
    return "I" if number >= logging.INFO else "D"


def take_over(descriptor: int) -> Output:
    """Send everything that Python code prints or logs to a descriptor, marked with its plugin."""
    output = Output(descriptor)
    sys.stdout = Stream(output, 1)
    sys.stderr = Stream(output, 2)
    root = logging.getLogger()
    root.handlers[:] = [LogLines(output)]
    root.setLevel(logging.INFO)
    return output


def own_logger(output: Output) -> logging.Logger:
    """Return a logger that plugins do not change with logging.disable, basicConfig or dictConfig.

    The host does not log a failure that the runner has logged, so its line must not be lost.
    """
    logger = logging.Logger("plugins", logging.INFO)
    logger.manager = logging.Manager(logging.RootLogger(logging.WARNING))
    logger.addHandler(LogLines(output))
    return logger
