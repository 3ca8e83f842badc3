"""What can be wrong with a log or with what a server counted."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say


class TrafficRefused(LoadstoneError):
    """Nothing can be made of what was read; nothing was written."""

    exit_code = ExitCode.PLAN


class LogRefused(TrafficRefused):
    """A file that is no log of the kind that was named, or that cannot be read to its end."""

    def __init__(self, file: str, line: int, what: str, hint: str) -> None:
        super().__init__(say("{file}:{line}: {wrong}", file=file, line=line, wrong=what), hint)
