"""The tables that a statement names, as its words show them, and names without their numbers.

Words alone do not show everything: what stands after FROM may be a view, and a name in a statement
that is not understood may be missed. Code that refuses a name asks the server first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from loadstone.model.effect import TableName
from loadstone.mysql.sql_keywords import BETWEEN_THEM, KEYWORDS, TABLE_FOLLOWS
from loadstone.mysql.tokens import NotSql, Token, name_of, tokens_of, with_code

_NUMBERED = re.compile(r"(.*[A-Za-z_])([1-9]\d{0,5})")
_AFTER_TABLE = BETWEEN_THEM | {"IF", "NOT", "EXISTS", "LATERAL"}
_NO_TABLES = frozenset({"DUAL", "OUTFILE", "DUMPFILE"})
# In their parentheses FROM separates arguments: EXTRACT(YEAR FROM bought).
_FROM_WITHIN = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "MID"})
_STRUCTURE = frozenset({"TABLE", "INTO"})
"""Words after which a name before a parenthesis is a table with its columns, not a function."""


# What follows their FROM may be a schema.
_ASKS = frozenset({"SHOW", "HELP"})
_MAKES = frozenset({"CREATE", "ALTER", "RENAME"})


def tables_in(sql: str) -> tuple[TableName, ...]:
    """The tables that a statement names; none if it cannot be read, or only asks the server."""
    try:
        tokens = with_code(tokens_of(sql))
    except NotSql:
        return ()
    return () if _word(tokens, 0) in _ASKS else tuple(dict.fromkeys(tables_named(tokens)))


def names_made(sql: str) -> frozenset[str]:
    """All names in a statement that may make a table of that name; else none."""
    try:
        tokens = with_code(tokens_of(sql))
    except NotSql:
        return frozenset()
    if _word(tokens, 0) not in _MAKES:
        return frozenset()
    return frozenset(name_of(token) for token in tokens if token.kind in ("word", "name"))


def tables_named(tokens: Sequence[Token]) -> list[TableName]:
    """The tables after FROM, JOIN, INTO, UPDATE and TABLE; queries named by WITH are none."""
    found: list[TableName] = []
    defined = _defined_by_with(tokens)
    functions: list[bool] = []
    awaited, after, again = False, "", -1
    for at, token in enumerate(tokens):
        word = _word(tokens, at)
        if token.text == "(":
            functions.append(_word(tokens, at - 1) in _FROM_WITHIN)
        elif token.text == ")" and functions:
            functions.pop()
        if awaited and (word in _AFTER_TABLE or token.text == "("):
            continue
        if awaited and _is_name(tokens, at):
            name, behind = _qualified(tokens, at)
            is_function = _text(tokens, behind) == "(" and after not in _STRUCTURE
            if not is_function and name.name.upper() not in _NO_TABLES and str(name) not in defined:
                found.append(name)
            again = _behind_alias(tokens, behind)
        if at == again and token.text == ",":
            awaited = True
            continue
        awaited = _table_follows(tokens, at) and not (word == "FROM" and any(functions[-1:]))
        after = word if awaited else after
    return found


def _table_follows(tokens: Sequence[Token], at: int) -> bool:
    word, before = _word(tokens, at), _word(tokens, at - 1)
    # FOR UPDATE only locks, ON DUPLICATE KEY UPDATE is followed by columns, USE INDEX FOR JOIN by
    # an index.
    return word in TABLE_FOLLOWS and not (word in ("UPDATE", "JOIN") and before in ("FOR", "KEY"))


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    if token.kind == "name":
        return True
    return token.kind == "word" and not token.text.startswith("@") and not _is_keyword(tokens, at)


def _is_keyword(tokens: Sequence[Token], at: int) -> bool:
    return _word(tokens, at) in KEYWORDS


def _qualified(tokens: Sequence[Token], at: int) -> tuple[TableName, int]:
    """The name there, perhaps with its schema, and the position behind it."""
    if at + 2 < len(tokens) and tokens[at + 1].text == ".":
        schema, name = name_of(tokens[at]), name_of(tokens[at + 2])
        return TableName(schema_name=schema, name=name), at + 3
    return TableName(name=name_of(tokens[at])), at + 1


def _behind_alias(tokens: Sequence[Token], at: int) -> int:
    if _word(tokens, at) == "AS":
        at += 1
    return at + 1 if at < len(tokens) and _is_name(tokens, at) else at


def _defined_by_with(tokens: Sequence[Token]) -> frozenset[str]:
    """The queries that WITH names: `a AS (`, `b (column) AS (`."""
    if _word(tokens, 0) != "WITH":
        return frozenset()
    found = set()
    for at in range(2, len(tokens) - 1):
        if _word(tokens, at) != "AS" or tokens[at + 1].text != "(":
            continue
        before = at - 1
        if tokens[before].text == ")":
            while before > 0 and tokens[before].text != "(":
                before -= 1
            before -= 1
        if tokens[before].kind in ("word", "name"):
            found.add(name_of(tokens[before]))
    return frozenset(found)


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _word(tokens: Sequence[Token], at: int) -> str:
    """The word in upper case; empty if there is none. After a point any word is a name."""
    is_word = 0 <= at < len(tokens) and tokens[at].kind == "word"
    return tokens[at].text.upper() if is_word and _text(tokens, at - 1) != "." else ""


def without_numbers(tables: Collection[str]) -> tuple[dict[str, str], int | None]:
    """Numbered tables without their number, and the number, if all of them share one."""
    matches = {name: match for name in tables if (match := _NUMBERED.fullmatch(name))}
    numbers = {int(match[2]) for match in matches.values()}
    if len(numbers) != 1:
        return {}, None
    return {name: match[1] for name, match in matches.items()}, numbers.pop()


def with_number(table: str, number: int) -> str:
    """A numbered table's name with another number; a name without a number stays as it is."""
    match = _NUMBERED.fullmatch(table)
    return f"{match[1]}{number}" if match else table


def with_n_for_numbers(sql: str) -> str:
    """The statement with `N` for the number at the end of its tables' names: `sbtestN`.

    It is unchanged if its tables have no number, or several, or if it was cut off in a name.
    """
    try:
        tokens = tokens_of(sql)
    except NotSql:
        return sql
    bare, number = without_numbers({table.name for table in tables_named(tokens)})
    if number is None:
        return sql
    written = (_with_n(token, bare) for token in tokens)
    return "".join(f"{' ' * token.gap}{text}" for token, text in written).strip()


def _with_n(token: Token, bare: dict[str, str]) -> tuple[Token, str]:
    name = name_of(token) if token.kind in ("word", "name") else ""
    if name not in bare:
        return token, token.text
    return token, f"`{bare[name]}N`" if token.kind == "name" else f"{bare[name]}N"
