"""Writes comparisons with the values of an array as lists.

Drivers send a list of any length as one parameter, `id = ANY($1)`, so that one statement is
prepared for all of them. Logged, that is a text, `id = ANY('{4,8}')`, of which a template could
only draw letters. `id IN (4, 8)` means the same, and the server makes the same plan of it.
https://www.postgresql.org/docs/current/functions-comparisons.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadstone.model.message import say
from loadstone.postgresql.tokens import Token
from loadstone.traffic.grammar import NotSql

_ANY = ("ANY", "SOME")
_WHOLE = re.compile(r"-?\d{1,18}")
_ELEMENT = re.compile(
    r"""
      \s* (?: "(?P<quoted> (?:[^"\\]|\\.)*+ )" | (?P<plain> [^",{}\\]* [^",{}\\\s] ) )
      \s* (?P<end> , | \Z )
    """,
    re.VERBOSE,
)


def with_lists(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with `= ANY (array)` as `IN (…)` and `<> ALL (array)` as `NOT IN (…)`.

    What is compared with a query, or with an array that is computed, stays as it is.

    Raises:
        NotSql: the array is empty, has several dimensions or lacks a value: no list is like it.
    """
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        words = _comparison(tokens, at)
        end = _closing(tokens, at + len(words)) if words else None
        listed = _values(tokens[at + len(words) + 1 : end]) if words and end else None
        if listed is None or end is None:
            found.append(tokens[at])
            at += 1
            continue
        if words[-1].word == "ALL":
            found.append(Token("word", "NOT", gap=True))
        found += [Token("word", "IN", gap=True), Token("sign", "(", gap=True), *listed]
        found.append(Token("sign", ")"))
        at = end + 1
    return found


def _comparison(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    """The operator at `at` with ANY or ALL behind it; nothing if it is another one."""
    before = tokens[at - 1] if at else None
    is_part = before and before.kind == "sign" and before.text in "<>!=~*+-/%^&|@#"
    if is_part and not tokens[at].gap:
        return ()
    one, two = tokens[at : at + 2], tokens[at : at + 3]
    if len(one) == 2 and one[0].text == "=" and one[1].word in _ANY:
        return one
    is_other = "".join(token.text for token in two[:2]) in ("<>", "!=")
    return two if len(two) == 3 and is_other and two[2].word == "ALL" else ()


def _closing(tokens: Sequence[Token], at: int) -> int | None:
    """Where the parenthesis at `at` is closed; `None`: there is none."""
    if at >= len(tokens) or tokens[at].text != "(":
        return None
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth == 0:
            return place
    return None


def _values(inner: Sequence[Token]) -> list[Token] | None:
    """The values of an array between the parentheses, with commas; `None`: it is computed."""
    if not inner:
        return None
    if inner[0].kind == "text" and _is_cast(inner[1:]):
        return _of_text(inner[0].text)
    if [token.text for token in inner[:1]] == ["$"] and len(inner) > 1 and _is_cast(inner[2:]):
        return list(inner[:2])
    if inner[0].word != "ARRAY" or len(inner) < 4 or inner[1].text != "[":
        return None
    end = next((at for at, token in enumerate(inner) if token.text == "]"), None)
    if end is None or not _is_cast(inner[end + 1 :]):
        return None
    listed = list(inner[2:end])
    is_plain = all(
        token.kind in ("number", "text") if at % 2 == 0 else token.text == ","
        for at, token in enumerate(listed)
    )
    return listed if is_plain and len(listed) % 2 else None


def _is_cast(tokens: Sequence[Token]) -> bool:
    """Whether there is nothing, or a type: `::character varying[]`."""
    if not tokens:
        return True
    return tokens[0].text == "::" and all(
        token.kind in ("word", "name") or token.text in ("[", "]", ".") for token in tokens[1:]
    )


def _of_text(text: str) -> list[Token]:
    content = text[1:-1].replace("''", "'").strip()
    if not (content.startswith("{") and content.endswith("}")):
        raise NotSql(say("an array that no list is like"))
    found: list[Token] = []
    rest, more = content[1:-1], True
    while more:
        one = _ELEMENT.match(rest)
        if one is None or (one["plain"] or "").upper() == "NULL":
            raise NotSql(say("an array that no list is like"))
        value = one["plain"] if one["quoted"] is None else re.sub(r"\\(.)", r"\1", one["quoted"])
        if found:
            found.append(Token("sign", ","))
        found.append(_literal(value, gap=bool(found)))
        rest, more = rest[one.end() :], one["end"] == ","
    return found


def _literal(value: str, *, gap: bool) -> Token:
    if _WHOLE.fullmatch(value):
        return Token("number", value, gap)
    doubled = value.replace("'", "''")
    return Token("text", f"'{doubled}'", gap)
