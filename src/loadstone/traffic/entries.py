"""What all logs have in common: entries of what a session did and when, with their line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, say
from loadstone.model.refusals import message_of

OWN = say("statements of Loadstone itself")
Command = Literal["connect", "quit", "schema", "statement"]

_EXAMPLES = 5


class Entry(NamedTuple):
    """An entry of a log."""

    at_s: float
    """Start by the server's clock, in seconds since 1970, as exactly as the log gives it."""

    session: int
    """The server's number for the connection."""

    command: Command
    text: str
    """The statement, or the name of a schema; empty where the entry has neither."""

    line: int
    """The line on which the entry starts in the file."""

    took_s: float = 0.0
    """How long before `at_s` it started, where a reader knows only the second of its end."""


@dataclass
class ReadStats:
    """What a reader could not use of a log, and facts about the log as a whole."""

    file: str
    left_out: Counter[Message] = field(default_factory=Counter)
    """How many entries were not used, by reason."""

    noted: Counter[Message] = field(default_factory=Counter)
    """How often the template differs from the log, by the kind of difference."""

    examples: list[Message] = field(default_factory=list)
    """The first few entries that were not used, each with the file's name and its line.

    The file's folder is left out, because templates are shared and the path may be private.
    """

    whole_seconds: bool = False
    """Whether times are whole seconds, so that only the order within a second is known."""

    entries: int = 0

    def leave_out(self, line: int, why: Message) -> None:
        """Count an entry that is not used, and keep the first few as examples."""
        self.left_out[why] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(
                say("{file}:{line}: {wrong}", file=Path(self.file).name, line=line, wrong=why)
            )


def left_out(why: Message, count: int) -> Message:
    """A line on how many entries were not used, and why."""
    return say("left out: {number} {what}", number=Count(count), what=why)


def noted(what: Message, count: int) -> Message:
    """A line on how many statements differ in the template from the log, and how."""
    return say("{number} {what}", number=Count(count), what=what)


def not_a_statement(unfit: Exception) -> Message:
    """The reason for leaving out an entry whose text is not a statement."""
    return say("texts that are not statements: {reason}", reason=message_of(unfit))


def outside_of(schema: str) -> Message:
    """The reason for leaving out statements of sessions that are not in the schema."""
    return say("statements outside of the schema {schema}", schema=schema)


def clauses(texts: Iterable[Message]) -> Message:
    """Several messages in one line."""
    return say("{clauses}", clauses=Joined(texts, "clauses"))
