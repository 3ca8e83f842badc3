"""What logs have in common: what a session did, when, and where that stands in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, say
from loadstone.model.refusals import message_of
from loadstone.mysql.tokens import NotSql

Command = Literal["connect", "quit", "schema", "statement"]

_EXAMPLES = 5


class Entry(NamedTuple):
    """An entry of a log."""

    at_s: float
    """When it started, in seconds since 1970 as far as the log says; its clock is the server's."""

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
    left_out: Counter[Message] = field(default_factory=Counter)
    """By reason."""

    noted: Counter[Message] = field(default_factory=Counter)
    """What is in a template otherwise than it was in the log: how often, and how."""

    examples: list[Message] = field(default_factory=list)
    """The first few of them, each with the file's name and its line.

    Without the file's folder: a template is handed on, and whose folder the log was in is
    nobody's business.
    """

    whole_seconds: bool = False
    """Whether its times are whole seconds: order within a second is known, and nothing more."""

    entries: int = 0

    def leave_out(self, line: int, why: Message) -> None:
        """Count an entry that is not used, and keep the first few by their lines."""
        self.left_out[why] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(
                say("{file}:{line}: {wrong}", file=Path(self.file).name, line=line, wrong=why)
            )


def left_out(why: Message, count: int) -> Message:
    """How many were not used, and why."""
    return say("left out: {number} {what}", number=Count(count), what=why)


def noted(what: Message, count: int) -> Message:
    """How many are in a template otherwise than in the log, and how."""
    return say("{number} {what}", number=Count(count), what=what)


def not_a_statement(unfit: NotSql) -> Message:
    """The reason to leave out what a log has in place of a statement."""
    return say("texts that are not statements: {reason}", reason=message_of(unfit))


def clauses(texts: Iterable[Message]) -> Message:
    """Several in one line."""
    return say("{clauses}", clauses=Joined(texts, "clauses"))
