"""Splits the SQL of a template's statement at parameters and copies of tables.

This is no SQL parser. It knows texts, quoted names and comments of the family's dialect, so that
nothing in them is taken for a parameter; whether the rest is SQL, only the server can say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from loadstone.config.values import InvalidValue
from loadstone.model.hints import write
from loadstone.model.message import say
from loadstone.servers.dialect import Dialect

# The order matters: a comment or a text hides everything in it.
_TOKEN = r"""
      (?P<text> {hides} )
    | (?P<open> {opens} )
    | (?P<assign> := | :: )
    | :(?P<parameter> [A-Za-z_]\w* )
    | \{{(?P<table> [^{{}}]* )\}}
    | (?P<mark> \? )
    | (?P<end> ; )
    | (?P<word> \w+ | . )
    """
_TRANSACTIONS = ("BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT")


@dataclass(frozen=True)
class Text:
    """SQL that is sent unchanged."""

    text: str


@dataclass(frozen=True)
class Named:
    """A parameter: `:name`."""

    name: str


@dataclass(frozen=True)
class CopyOf:
    """A copy of a table: `{table}`."""

    table: str


Part = Text | Named | CopyOf


def parts_of(sql: str, dialect: Dialect) -> tuple[Part, ...]:
    """Split a statement of a dialect into parts.

    Raises:
        InvalidValue: it is no single statement, or has something that templates do not support.
    """
    found = tuple(_joined(_tokens(sql.strip().rstrip(";"), dialect)))
    word = _first_word(sql, dialect)
    if not word:
        raise InvalidValue(say("there is no statement"), write('sql = "SELECT …"'))
    if word in _TRANSACTIONS:
        raise InvalidValue(
            say("{word}: BEGIN and COMMIT are sent around the statements anyway", word=word),
            say("leave it out; without a transaction: autocommit = true"),
        )
    if what := dialect.administers(sql):
        raise InvalidValue(
            say("{statement} is not load: it changes the server for everybody", statement=what),
            say("leave it out; experiments set variables, and restore them"),
        )
    return found


def _first_word(sql: str, dialect: Dialect) -> str:
    """The first word in capitals; empty if there is none."""
    words = (match for match in _pattern(dialect).finditer(sql) if match["word"])
    return next((match["word"].upper() for match in words if match["word"].isalpha()), "")


def as_sent(parts: Iterable[Part]) -> str:
    """The statement with a placeholder for each parameter, and the first copy of each table."""
    return "".join(map(_sent, parts))


def _sent(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case CopyOf(table):
            return f"{table}1"
        case _:
            return "?"


def _pattern(dialect: Dialect) -> re.Pattern[str]:
    return _compiled(dialect.hides, dialect.opens)


@cache
def _compiled(hides: str, opens: str) -> re.Pattern[str]:
    return re.compile(_TOKEN.format(hides=hides, opens=opens), re.VERBOSE | re.DOTALL)


def _tokens(sql: str, dialect: Dialect) -> Iterator[Part]:
    for match in _pattern(dialect).finditer(sql):
        match match.lastgroup:
            case "open":
                said = (
                    say("a comment has no end")
                    if match[0] == "/*"
                    else say("a text that starts with {quote} has no end", quote=match[0])
                )
                raise InvalidValue(said, say("close it"))
            case "mark" if dialect.placeholder(1) == "?":  # elsewhere it is an operator
                raise InvalidValue(
                    say("? is not a placeholder here"),
                    say("write :name, and define a parameter of that name"),
                )
            case "end":
                raise InvalidValue(
                    say("there is more than one statement"), say("write each on its own")
                )
            case "parameter":
                yield Named(match["parameter"])
            case "table":
                yield CopyOf(match["table"].strip())
            case _:
                yield Text(match[0])


def _joined(parts: Iterator[Part]) -> Iterator[Part]:
    """The parts, with consecutive texts joined."""
    text = ""
    for part in parts:
        if isinstance(part, Text):
            text += part.text
            continue
        if text:
            yield Text(text)
        text = ""
        yield part
    if text:
        yield Text(text)
