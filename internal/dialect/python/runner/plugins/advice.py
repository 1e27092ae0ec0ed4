"""Warnings about the files of plugins."""

from __future__ import annotations


class Advice(str):
    """A warning about a file, with its fix."""

    fix: str

    def __new__(cls, text: str, fix: str) -> Advice:
        advice = super().__new__(cls, text)
        advice.fix = fix
        return advice


class WrongAnswer(Advice):
    """The warning about an answer of a handler that has the wrong type."""
