"""MySQL's SQL: implements `servers.dialect.Dialect`."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.error_codes import MYSQL
from loadstone.model.template import Notation
from loadstone.mysql.statements import administers, effect_of

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

family = MYSQL
notation = Notation()
folds_names = False
longest_name = 64
digits_unsaid: int | None = 10
integers: Mapping[str, int] = {
    "TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "INTEGER": 32, "BIGINT": 64,
}  # fmt: skip
hides = r"""
    '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*`
    | /\*.*?\*/ | \#[^\n]* | --(?=[\s]|$)[^\n]*
"""
opens = r"""['"`] | /\*"""


def placeholder(number: int) -> str:
    """The placeholder of a statement's parameter."""
    return "?"
