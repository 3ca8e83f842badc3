"""PostgreSQL's SQL: implements `servers.dialect.Dialect`."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.template import Notation
from loadstone.postgresql.effects import administers, effect_of
from loadstone.postgresql.tokens import HIDES, OPENS

__all__ = [
    "administers",
    "digits_unsaid",
    "effect_of",
    "family",
    "folds_names",
    "hides",
    "integers",
    "longest_name",
    "notation",
    "opens",
    "placeholder",
]

family = POSTGRESQL
notation = Notation(quote='"', table_end="")
folds_names = True
longest_name = 63
digits_unsaid: int | None = None
integers: Mapping[str, int] = {
    "SMALLINT": 16, "INT2": 16, "SMALLSERIAL": 16, "INT": 32, "INTEGER": 32, "INT4": 32,
    "SERIAL": 32, "BIGINT": 64, "INT8": 64, "BIGSERIAL": 64,
}  # fmt: skip
hides, opens = HIDES, OPENS


def placeholder(number: int) -> str:
    """The placeholder of a statement's parameter."""
    return f"${number}"
