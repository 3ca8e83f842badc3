"""Errors that end the drop-in: with exit code 1, as in sysbench, or with a script's own."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError

FAILED = 1
"""The exit code after an error."""


class Refused(LoadstoneError):
    """A line on stderr: the command line cannot be read, or names something unknown."""


class ScriptExit(LoadstoneError):
    """A script has called os.exit(): nothing more is printed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the script ended with {code}")
        self.code = code


class Fatal(LoadstoneError):
    """`FATAL: …` lines on stdout, where sysbench has its log."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self._lines = lines

    @property
    def lines(self) -> tuple[str, ...]:
        """Those that are printed."""
        return self._lines
