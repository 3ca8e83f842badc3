"""Puts the parameters of a prepared statement into its text, as PostgreSQL's log has them.

The log has them in the entry's DETAIL: `parameters: $1 = '5', $2 = NULL`, from PostgreSQL 16 on
with a capital P. All are written between quotes, so the server finds their types as it does those
of any other literal.
https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-PARAMETER-MAX-LENGTH
"""

from __future__ import annotations

import re

from loadstone.postgresql.tokens import HIDES

_LIST = re.compile(r"[Pp]arameters: (?P<list>.*)", re.DOTALL)
_ONE = re.compile(r"\$(?P<number>\d{1,5}) = (?P<value>NULL|'(?:[^']++|'')*+')(?:, |\Z)")
_PLACE = re.compile(rf"(?P<hidden>{HIDES}) | (?<![\w$])\$(?P<number>\d+)", re.VERBOSE | re.DOTALL)
_CUT = "...'"


class NoValues(Exception):
    """The log does not have all parameters of a statement."""


def values_of(detail: str) -> dict[int, str]:
    """The parameters in an entry's DETAIL, as literals by number; none where it has no list."""
    found = _LIST.fullmatch(detail)
    values: dict[int, str] = {}
    at = 0
    while found and (one := _ONE.match(found["list"], at)):
        values[int(one["number"])] = one["value"]
        at = one.end()
    return values


def are_cut(values: dict[int, str]) -> bool:
    """Whether a value ends like one that `log_parameter_max_length` has cut."""
    return any(value.endswith(_CUT) for value in values.values())


def with_values(sql: str, values: dict[int, str]) -> str:
    """The statement with literals in place of its parameters.

    Raises:
        NoValues: one of them has no value.
    """

    def filled(match: re.Match[str]) -> str:
        if match["hidden"] is not None:
            return match[0]
        value = values.get(int(match["number"]))
        if value is None:
            raise NoValues
        return value

    return _PLACE.sub(filled, sql)
