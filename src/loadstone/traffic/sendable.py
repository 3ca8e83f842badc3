"""What a replay needs to know of a family's SQL, and why a statement of a log is not sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from loadstone.model.effect import TableName
from loadstone.model.message import Message, say

NOT_READ = say("statements that do not only read (--writes sends them too)")
PASSWORDS = say("statements that may hold a password")
SERVER = say("statements that change the server or its sessions")


class Judged(NamedTuple):
    """Whether a statement is sent."""

    left_out: Message | None
    """Why not; `None`: it is sent."""

    qualifiers: frozenset[str] = frozenset()
    """Names before a dot in a statement that writes: schemas, tables or aliases."""


class Sendable(Protocol):
    """How a family's statements are judged by their words."""

    def judged(self, text: str, *, writes: bool) -> Judged:
        """Whether a statement is sent; `writes`: what changes data is, too."""

    def tables_in(self, sql: str) -> Sequence[TableName]:
        """The tables that a statement names."""

    def names_made(self, sql: str) -> frozenset[str]:
        """All names in a statement that may make a table of that name; else none."""
