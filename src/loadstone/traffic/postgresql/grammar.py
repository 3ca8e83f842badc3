"""Reads PostgreSQL's statements for templates: implements `Grammar`.

Shapes are made of the tokens that MySQL's statements have, so those of PostgreSQL are written as
such: a text in dollar quotes between plain ones, and `= ANY` of an array as the list of its values
after `IN`, which the server plans as the same. What has no such form is left out.
"""

from __future__ import annotations

import re

from loadstone.model.message import Message, say
from loadstone.postgresql import dialect as _dialect
from loadstone.postgresql import tokens as lexed
from loadstone.servers.dialect import Dialect
from loadstone.traffic.grammar import NotSql, Token
from loadstone.traffic.kinds import OWN_TABLES, StatementKind
from loadstone.traffic.postgresql.arrays import with_lists
from loadstone.traffic.postgresql.sendable import never

__all__ = ["dialect", "kind_of", "tokens_of"]

dialect: Dialect = _dialect
_DATA = frozenset("SELECT INSERT UPDATE DELETE MERGE WITH VALUES TABLE CALL".split())
_OWN_SCHEMA = "information_schema"
_OWN = "pg_"
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
_DOLLARS = re.compile(r"\$\w*\$(.*)\$\w*\$", re.DOTALL)


def tokens_of(sql: str) -> list[Token]:
    """The statement without comments.

    Raises:
        NotSql: a literal, a name or a comment has no end, or is written with escapes.
    """
    found: list[Token] = []
    for token in with_lists(_lexed(sql)):
        is_mark = token.kind == "number" and found and found[-1].text == "$" and not token.gap
        if is_mark:
            found[-1] = Token("mark", f"${token.text}", found[-1].gap)
        elif token.kind == "text":
            found.append(_text(token))
        elif token.kind == "name" and ("`" in token.text or '""' in token.text):
            raise NotSql(say("a name with quotes in it"))
        else:
            found.append(Token(token.kind, token.text, token.gap))
    return found


def _lexed(sql: str) -> list[lexed.Token]:
    try:
        return lexed.tokens_of(sql)
    except lexed.NotSql as unfit:
        raise NotSql(*unfit.args) from None


def _text(token: lexed.Token) -> Token:
    """A text between plain quotes, or the whole number that it is."""
    text = token.text
    if found := _DOLLARS.fullmatch(text):
        doubled = found[1].replace("'", "''")
        text = f"'{doubled}'"
    if "\\" in text or not text.startswith("'"):
        raise NotSql(say("a text with escapes, or of bits"))
    # Parameters are logged between quotes, whatever their type.
    if _WHOLE.fullmatch(text[1:-1]):
        return Token("number", text[1:-1], token.gap)
    return Token("text", text, token.gap)


def kind_of(sql: str) -> StatementKind | Message:
    """The kind of a statement.

    Raises:
        NotSql: the text was cut off, or is not a statement.
    """
    tokens = _lexed(sql)
    words = [token.word for token in tokens if token.kind == "word"]
    verb = words[0] if words else ""
    if why := never(sql, tokens):
        return why
    if verb == "BEGIN" or words[:2] == ["START", "TRANSACTION"]:
        return "begin"
    if verb in ("COMMIT", "END") and "PREPARED" not in words:
        return "commit"
    if verb in ("ROLLBACK", "ABORT") and not {"TO", "PREPARED"}.intersection(words):
        return "rollback"
    if verb not in _DATA:
        return say("{verb} statements", verb=verb) if verb else say("texts that are not statements")
    return OWN_TABLES if _asks_the_server(tokens) else "data"


def _asks_the_server(tokens: list[lexed.Token]) -> bool:
    """Whether it names one of the server's own tables or schemas."""
    names = zip(tokens, [*tokens[1:], lexed.Token("sign", "")], strict=True)
    return any(
        token.kind in ("word", "name")
        and (token.name == _OWN_SCHEMA or (token.name.startswith(_OWN) and after.text != "("))
        for token, after in names
    )
