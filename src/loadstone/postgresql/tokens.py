"""Splits SQL into tokens as PostgreSQL's lexer does, with `standard_conforming_strings` on.

https://www.postgresql.org/docs/current/sql-syntax-lexical.html. Comments within comments are
understood one level deep; deeper ones count as comments without an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from loadstone.model.message import say

Kind = Literal["word", "name", "number", "text", "sign"]

_COMMENT = r"/\* (?: [^*/]++ | \*(?!/) | /(?!\*) )*+ \*/"
# Possessive quantifiers: a text without an end fails at once, without trying all ways to split it.
_TEXTS = r"""
      [eE]'(?:[^'\\]++|\\.|'')*+'
    | (?:[nNbBxX]|[uU]&)?'(?:[^']++|'')*+'
    | (?<![A-Za-z0-9_$\x80-\U0010ffff])
      \$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?)\$ .*? \$(?P=tag)\$
"""
# Within a name a dollar is a sign like others: `a$b$c` has no text in it.
_NAMES = r"""(?:[uU]&)?"(?:[^"]++|"")++" """
_COMMENTS = rf"""
      --[^\n]*+
    | /\* (?: [^*/]++ | \*(?!/) | {_COMMENT} | /(?!\*) )*+ \*/
"""
_WORDS = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+"

HIDES = f"{_TEXTS} | {_NAMES} | {_COMMENTS}"
"""Texts, quoted names and comments, as a verbose regular expression."""

OPENS = r"""['"] | /\* | (?<![A-Za-z0-9_$\x80-\U0010ffff])\$(?:[A-Za-z_]\w*)?\$"""
"""What begins one of them."""

_TOKEN = rf"""
  (?P<space> \s++ )
| (?P<comment> {_COMMENTS} )
| (?P<text> {_TEXTS} )
| (?P<name> {_NAMES} )
| (?P<word> {_WORDS} )
| (?P<number> (?: \d++(?:\.\d*+)? | \.\d++ ) (?:[eE][+-]?\d++)? )
| (?P<open> {OPENS} )
| (?P<sign> :: | . )
"""


class NotSql(Exception):
    """The text ends inside a literal, a name or a comment."""


class Token(NamedTuple):
    """A word, a literal or a symbol."""

    kind: Kind
    text: str
    """As written."""

    gap: bool = False
    """Whether white space or a comment precedes it."""

    @property
    def word(self) -> str:
        """The word in capitals; empty if it is none."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The name in a word or between quotes, as the server knows it."""
        if self.kind == "name":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower()


def tokens_of(sql: str) -> list[Token]:
    """The statement without comments.

    Raises:
        NotSql: a literal, a name or a comment has no end.
    """
    return list(_tokens(sql))


@cache
def _token() -> re.Pattern[str]:
    """Compiling it takes tens of milliseconds, which most commands need not spend."""
    return re.compile(_TOKEN, re.VERBOSE | re.DOTALL)


def _tokens(sql: str) -> Iterator[Token]:
    gap = False
    for match in _token().finditer(sql):
        kind = match.lastgroup
        if kind == "open":
            raise NotSql(say("what starts with {start} has no end", start=match[0]))
        if kind not in ("space", "comment"):
            yield Token(kind, match[0], gap)  # type: ignore[arg-type]
        gap = kind in ("space", "comment")
