"""How the drop-in ends when it cannot go on: with exit code 1 as sysbench, or a script's own."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError


class Refused(LoadstoneError):
    """A line on stderr: the command line cannot be read, or names what there is not."""


class ScriptExit(LoadstoneError):
    """A script has called os.exit(): nothing more is said."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the script ended with {code}")
        self.code = code


class Fatal(LoadstoneError):
    """`FATAL: …` lines on stdout, where sysbench has its log."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines
