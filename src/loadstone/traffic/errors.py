"""Errors in a log or in a server's digests."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say


class TrafficRefused(LoadstoneError):
    """The input cannot be used; nothing was written."""

    exit_code = ExitCode.PLAN


class LogRefused(TrafficRefused):
    """A file is not a log of the given kind, or cannot be read to its end."""

    def __init__(self, file: str, line: int, what: str, hint: str) -> None:
        """`line`: 0 if no line of the file could be read."""
        said = say("{file}:{line}: {wrong}", file=file, line=line, wrong=what)
        super().__init__(said if line else say("{file}: {problem}", file=file, problem=what), hint)
