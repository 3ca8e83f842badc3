"""A server's answer on a statement that is examined without being executed."""

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


@dataclass(frozen=True)
class Prepared:
    """A statement with placeholders."""

    sql: str
    parameters: int
    """The number of its placeholders."""


RefusalKind = Literal["grammar", "no_such_name", "no_such_table", "no_such_type", "other"]
"""Why a statement is refused: it is invalid or not allowed there; a column or function, a table, or
a column's type is unknown; or another reason.
"""


@dataclass(frozen=True)
class Refusal:
    """Why a server refuses a statement."""

    kind: RefusalKind
    said: Message
    """The server's message, for display."""


class StatementRefused(Exception):
    """The server refuses a statement."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.said)
        self.refusal = refusal
