"""Reads statements of MySQL and MariaDB for templates: implements `Grammar`."""

from __future__ import annotations

from loadstone.model.message import Message
from loadstone.mysql import dialect as _dialect
from loadstone.mysql.tokens import tokens_of
from loadstone.servers.dialect import Dialect
from loadstone.traffic import kinds
from loadstone.traffic.kinds import StatementKind

__all__ = ["dialect", "kind_of", "tokens_of"]

dialect: Dialect = _dialect


def kind_of(sql: str) -> StatementKind | Message:
    """The kind of a statement.

    Raises:
        NotSql: the text was cut off, or is not a statement.
    """
    return kinds.kind_of(tokens_of(sql))
