"""How a family's statements are read for a template: into the tokens that shapes are made of."""

from __future__ import annotations

from typing import Protocol

from loadstone.model.message import Message
from loadstone.mysql.tokens import NotSql, Token
from loadstone.servers.dialect import Dialect
from loadstone.traffic.kinds import StatementKind

__all__ = ["Grammar", "NotSql", "Token"]


class Grammar(Protocol):
    """The lexical rules of a family's statements, and what they are for."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of the template's statements."""

    def tokens_of(self, sql: str) -> list[Token]:
        """The statement without comments.

        Raises:
            NotSql: a literal, a name or a comment has no end, or cannot be in a template.
        """

    def kind_of(self, sql: str) -> StatementKind | Message:
        """The kind of a statement, or the words under which it is counted.

        Raises:
            NotSql: as `tokens_of`.
        """
