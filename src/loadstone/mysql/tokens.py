"""Splits SQL into tokens like MySQL's and MariaDB's lexers with their default `sql_mode`.

https://dev.mysql.com/doc/refman/8.4/en/language-structure.html. Double quotes delimit texts (no
ANSI_QUOTES) and a backslash escapes (no NO_BACKSLASH_ESCAPES). The text is already decoded: bytes
that are invalid in the log's character set are lone surrogates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from loadstone.model.message import say

Kind = Literal["word", "name", "number", "text", "bytes", "mark", "sign", "hint", "code"]

# Possessive quantifiers: an unterminated text fails at once, without trying all ways to split it.
_TOKEN = re.compile(
    r"""
      (?P<space> \s++ )
    | (?P<hint> /\*\+ .*? \*/ )
    | (?P<code> /\*M?! .*? \*/ )
    | (?P<comment> /\* .*? \*/ | \#[^\n]*+ | --(?=[\s\x00-\x1f]|\Z)[^\n]*+ )
    | (?P<bytes> [xX]'[0-9a-fA-F]*+' | 0x[0-9a-fA-F]++(?![\w$]) | [bB]'[01]*+' | 0b[01]++(?![\w$]) )
    | (?P<text> (?: [nN] | _[A-Za-z][A-Za-z0-9]*+\s*+ )?
                (?: '(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+" ) )
    | (?P<name> `(?:[^`]++|``)*+` )
    | (?P<number> (?: \d++(?:\.\d*+)? | \.\d++ ) (?:[eE][+-]?\d++)? (?![\w$]) )
    | (?P<word> @@?(?:[\w$.]++|`[^`]*+`|'[^']*+'|"[^"]*+")?+ | [\w$]++ )
    | (?P<open> ['"`] | /\* )
    | (?P<mark> \? )
    | (?P<sign> <=> | ->> | -> | := | << | >> | <= | >= | <> | != | \|\| | && | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_CODE = re.compile(r"/\*M?!\d*(.*)\*/", re.DOTALL)
_INTRODUCED = re.compile(r"(?:[nN]|_[A-Za-z][A-Za-z0-9]*+\s*+)(?=['\"])")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANINGS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


class NotSql(Exception):
    """The text ends inside a literal, a name or a comment: it was cut off, or is not SQL."""


class Token(NamedTuple):
    """A word, a literal or a symbol."""

    kind: Kind
    text: str
    """As written."""

    gap: bool
    """Whether white space or a comment precedes it."""


def tokens_of(sql: str) -> list[Token]:
    """The statement without comments; hints and executable comments are kept, as one token each.

    Raises:
        NotSql: a literal, a name or a comment has no end.
    """
    return list(_tokens(sql))


def _tokens(sql: str) -> Iterator[Token]:
    gap = False
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup
        if kind in ("space", "comment"):
            gap = True
            continue
        if kind == "open":
            raise NotSql(say("what starts with {start} has no end", start=match[0]))
        yield Token(kind, match[0], gap)  # type: ignore[arg-type]
        gap = False


def with_code(tokens: list[Token]) -> list[Token]:
    """The tokens with executable comments expanded, since a server executes their content.

    Raises:
        NotSql: as `tokens_of`.
    """
    found: list[Token] = []
    for token in tokens:
        match = _CODE.fullmatch(token.text) if token.kind == "code" else None
        found += with_code(tokens_of(match[1])) if match else [token]
    return found


def name_of(token: Token) -> str:
    """The name in a word or between backticks."""
    return token.text[1:-1].replace("``", "`") if token.kind == "name" else token.text


def meaning_of(text: str) -> str:
    r"""The value of a text literal, without introducer, quotes and escapes.

    https://dev.mysql.com/doc/refman/8.4/en/string-literals.html: `\%` and `\_` are kept.
    """
    match = _INTRODUCED.match(text)
    body = text[match.end() if match else 0 :]
    body = body[1:-1].replace(body[0] * 2, body[0])
    return _ESCAPED.sub(_unescaped, body)


def _unescaped(match: re.Match[str]) -> str:
    sign = match[1]
    return match[0] if sign in "%_" else _MEANINGS.get(sign, sign)


def statements_in(sql: str) -> tuple[str, ...]:
    """The statements between semicolons, as written; those without a word are left out.

    Semicolons in literals, names and comments separate nothing. What ends inside one of these is
    the last statement, so that the server says what is wrong.
    """
    found, begin, has_words = [], 0, False
    for match in _TOKEN.finditer(sql):
        if match.lastgroup == "open":
            has_words = True
            break
        if match[0] != ";":
            has_words |= match.lastgroup not in ("space", "comment")
            continue
        if has_words:
            found.append(sql[begin : match.start()].strip())
        begin, has_words = match.end(), False
    return (*found, sql[begin:].strip()) if has_words else tuple(found)
