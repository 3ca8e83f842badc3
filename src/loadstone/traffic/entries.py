"""What logs have in common: what a session did, when, and where that stands in the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Command = Literal["connect", "quit", "schema", "statement"]

_EXAMPLES = 5


class Entry(NamedTuple):
    """An entry of a log."""

    at_s: float
    """When it began, in seconds since 1970 as far as the log tells; its clock is the server's."""

    session: int
    """The server's number of the connection."""

    command: Command
    text: str
    """The statement, or the name of the schema; empty where none is named."""

    line: int
    """Where the entry begins in the file."""


@dataclass
class ReadStats:
    """What a reader could not use of a log, and what it knows of all of it."""

    file: str
    left_out: Counter[str] = field(default_factory=Counter)
    """By why."""

    noted: Counter[str] = field(default_factory=Counter)
    """What is in a template otherwise than it was in the log: how often, and how."""

    examples: list[str] = field(default_factory=list)
    """The first few of them, each with file and line."""

    whole_seconds: bool = False
    """Whether its times are whole seconds: order within a second is known, and nothing more."""

    entries: int = 0

    def leave_out(self, line: int, why: str) -> None:
        """Count an entry that is not used, and keep the first few by their lines."""
        self.left_out[why] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{self.file}:{line}: {why}")
