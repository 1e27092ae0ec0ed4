"""Tests of the runner's package: python3 -m unittest discover -s tests -t . (in the folder above)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any

RUNNER = Path(__file__).parent.parent


class PluginCase(unittest.TestCase):
    """A test with a directory of plugins."""

    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)
        self.dir = self.home / ".agent" / "plugins"
        self.dir.mkdir(parents=True)

    def write(self, name: str, text: str) -> Path:
        path = self.dir / f"{name}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path


class Host:
    """A runner in its own process, started as the host starts it."""

    def __init__(self, home: Path):
        sources = {f"plugins.{p.stem}": p.read_text("utf-8") for p in (RUNNER / "plugins").glob("*.py")}
        package = json.dumps(sources).encode()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", "-c", (RUNNER / "bootstrap.py").read_text("utf-8")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"HOME": str(home), "PATH": os.environ.get("PATH", "")},
            cwd=home,
        )
        self.send(b"%08x" % len(package) + package)
        self._id = 0

    def send(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def start(self, method: str, **params: Any) -> int:
        """Send a request without waiting for its reply. Return its id."""
        self._id += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params, "id": self._id}
        self.send(json.dumps(message).encode() + b"\n")
        return self._id

    def receive(self) -> dict[str, Any]:
        """Return the next message of the runner."""
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and return the result or the error."""
        ident = self.start(method, **params)
        reply = self.receive()
        assert reply["id"] == ident, reply
        return reply.get("error", reply.get("result"))

    def close(self) -> str:
        """End the runner as the host does, and return its stderr."""
        _, stderr = self.process.communicate(timeout=30)
        return stderr.decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class HostCase(PluginCase):
    """A test with a runner, which is killed at the end unless the test closes it."""

    def setUp(self) -> None:
        super().setUp()
        self.host = Host(self.home)
        self.addCleanup(self.host.kill)

    def load(self, name: str, text: str) -> str:
        """Write a plugin, load it and return its path."""
        path = str(self.write(name, text))
        described = self.host.ask("load", path=path)
        self.assertIn("name", described)
        return path

    def lines(self) -> list[str]:
        """Close the runner and return the lines of its stderr, with | for the mark."""
        return self.host.close().replace("\x1e", "|").splitlines()
