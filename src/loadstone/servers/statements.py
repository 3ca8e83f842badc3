"""What a server says to a statement that is not executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loadstone.model.message import Message


@dataclass(frozen=True)
class Access:
    """How the server would reach the rows of one table of a statement."""

    table: str
    how: str
    """The column `type` of EXPLAIN; `ALL` reads the whole table."""

    key: str
    rows: int | None


RefusalKind = Literal["grammar", "no_such_name", "no_such_table", "no_such_type", "other"]
"""It is no statement, or none that is taken there; a column or a function is unknown, a table, a
type of a column; or something else."""


@dataclass(frozen=True)
class Refusal:
    """What a server has against a statement."""

    kind: RefusalKind
    said: Message
    """In the server's words, for a person."""


class StatementRefused(Exception):
    """The server refuses a statement."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.said)
        self.refusal = refusal
