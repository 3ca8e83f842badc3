"""The columns that sessions' statements set, by the words of these statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loadstone.postgresql.tokens import NotSql, Token, tokens_of

UPDATES = """
SELECT DISTINCT left(query, 1000) FROM pg_stat_activity
WHERE datname = {database} AND query ~* '^\\s*(update|insert)\\M' AND query ~* '\\mset\\M' LIMIT 20
"""
"""Statements that sessions of the load's database execute, or have executed last."""

_ENDS = frozenset({"WHERE", "FROM", "RETURNING"})
_NO_NAME = frozenset({"ONLY", "AS"})


def updated_columns(statements: Iterable[str]) -> dict[str, set[str]]:
    """By table without its schema, the columns that these statements set.

    A statement that is cut off within a literal counts as none.
    """
    found: dict[str, set[str]] = {}
    for statement in statements:
        try:
            tokens = tokens_of(statement)
        except NotSql:
            continue
        table = _table(tokens)
        if table:
            found.setdefault(table, set()).update(_set(tokens))
    return {table: columns for table, columns in found.items() if columns}


def with_question_marks(statement: str) -> str:
    """The statement in one line without its comments, with a question mark for each value.

    Of one that is cut off within a literal only its first word is left.
    """
    try:
        tokens = tokens_of(statement)
    except NotSql:
        return f"{statement.split(maxsplit=1)[0]} …" if statement.strip() else ""
    return "".join(_shown(tokens)).strip()


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        is_value = token.kind in ("number", "text")
        yield f"{' ' if token.gap else ''}{'?' if is_value else token.text}"


def _table(tokens: Sequence[Token]) -> str:
    """The name behind UPDATE or INTO, without its schema; empty: there is none."""
    for at, token in enumerate(tokens):
        if token.word not in ("UPDATE", "INTO"):
            continue
        rest = [one for one in tokens[at + 1 : at + 5] if one.word not in _NO_NAME]
        if len(rest) > 2 and rest[1].text == ".":
            rest = rest[2:]
        return rest[0].name if rest and rest[0].kind in ("word", "name") else ""
    return ""


def _set(tokens: Sequence[Token]) -> Iterator[str]:
    """What stands first in each part of a list behind SET."""
    inside, depth, first, grouped = False, 0, False, False
    for token in tokens:
        if not inside:
            inside = first = token.word == "SET"
            continue
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth <= 0 and token.word in _ENDS:
            return
        if first and token.text == "(":
            grouped = True  # SET (a, b) = …
        elif token.kind in ("word", "name") and (first or grouped):
            yield token.name
        elif token.text == ")":
            grouped = False
        first = token.text == "," and depth == 0
