"""What a statement would do, judged by its words: read, write to named tables, or unknown.

A guard relies on it, so it errs on the safe side. A verb that changes rows counts as one wherever
it stands, also within WITH; if no name of a table follows, or if a part is not known here (DO,
CALL, COPY, SELECT INTO, functions that change more than rows), the statement may write to anything.
REPLACE, INSERT IGNORE and ON DUPLICATE KEY UPDATE are understood, so that not the guard refuses
them but the server, whose message says that they are of another dialect. The words do not show
what functions and views do on the server: see `workloads.templates.writes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from loadstone.model.effect import Effect, TableName
from loadstone.model.message import Message, plain, say
from loadstone.model.refusals import message_of
from loadstone.postgresql.tokens import NotSql, Token, tokens_of

_READS = frozenset({"SELECT", "VALUES", "TABLE", "WITH", "SHOW", "EXPLAIN"})
_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "REPLACE"})
_NO_TABLE = _READS | {"LATERAL", "ONLY", "SET", "FROM", "WHERE", "ROWS"}
_BEHIND_TABLES = frozenset(
    "WHERE GROUP HAVING WINDOW ORDER LIMIT OFFSET FETCH FOR UNION EXCEPT INTERSECT".split()
)

_ADMINISTERS = frozenset({"GRANT", "REVOKE", "CHECKPOINT", "LOAD", "REASSIGN", "SECURITY"})
_DEFINES = frozenset({"CREATE", "ALTER", "DROP"})
_BEFORE_WHAT = frozenset({"OR", "REPLACE", "IF", "NOT", "EXISTS", "TRUSTED", "PROCEDURAL"})
_OF_THE_SERVER = frozenset(
    "SYSTEM ROLE USER GROUP DATABASE TABLESPACE EXTENSION SUBSCRIPTION PUBLICATION SERVER FOREIGN"
    " LANGUAGE EVENT".split()
)
"""What many sessions or databases share."""

# https://www.postgresql.org/docs/current/functions-admin.html
_ACTS_ON_THE_SERVER = ("pg_", "lo_", "dblink", "set_config", "setval", "nextval", "query_to_xml")
"""Beginnings of names of functions that may change more than rows of tables."""

_HARMLESS = frozenset({"pg_sleep", "pg_typeof", "pg_backend_pid", "pg_column_size"})
_FOR_EVERYBODY = frozenset(
    {
        "pg_cancel_backend", "pg_terminate_backend", "pg_reload_conf", "pg_rotate_logfile",
        "pg_promote", "pg_switch_wal", "pg_wal_replay_pause", "pg_wal_replay_resume",
        "pg_backup_start", "pg_backup_stop", "pg_start_backup", "pg_stop_backup",
        "pg_create_restore_point", "pg_drop_replication_slot",
    }
)  # fmt: skip
"""Functions that act on other sessions or on the whole server."""


class _Unclear(Exception):
    """A statement is not understood; the message says which part of it."""


def effect_of(sql: str) -> Effect:
    """What the statement would do, over a connection to the target's database."""
    try:
        tokens = _understood(sql)
    except (NotSql, _Unclear) as unclear:
        return Effect(unclear=message_of(unclear))
    calls = tuple(sorted({tokens[at].name for at in _calls(tokens)}))
    names = tuple(sorted({each.name for each in tokens if each.kind in ("word", "name")}))
    try:
        _refuse_calls(tokens)
        writes = tuple(dict.fromkeys(_written(tokens)))
    except _Unclear as unclear:
        return Effect(unclear=message_of(unclear), calls=calls, names=names)
    return Effect(writes=writes, calls=calls, names=names)


def administers(sql: str) -> str | None:
    """The part that affects the whole server or its accounts; `None` if there is none."""
    try:
        tokens = tokens_of(sql)
    except NotSql:
        return None  # the code that splits it into parameters reports the error
    words = [each.word for each in tokens if each.kind == "word"]
    verb = words[0] if words else ""
    if verb in _ADMINISTERS:
        return " ".join(words[:2])
    if verb in _DEFINES:
        what = next((word for word in words[1:] if word not in _BEFORE_WHAT), "")
        return f"{verb} {what}" if what in _OF_THE_SERVER else None
    found = (tokens[at].name for at in _calls(tokens))
    return next((f"{name}()" for name in found if name in _FOR_EVERYBODY), None)


def _understood(sql: str) -> list[Token]:
    """The tokens of one statement.

    Raises:
        NotSql: it is not a statement.
        _Unclear: there is more than one, or a name is written with escapes.
    """
    tokens = tokens_of(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    for token in tokens:
        if token.text == ";":
            raise _Unclear(say("more than one statement"))
        if token.kind == "name" and not token.text.startswith('"'):
            raise _Unclear(plain(token.text))
    return tokens


def _calls(tokens: Sequence[Token]) -> Iterator[int]:
    """The positions of names that a parenthesis follows."""
    for at, following in enumerate(tokens[1:]):
        if following.text == "(" and tokens[at].kind in ("word", "name"):
            yield at


def _refuse_calls(tokens: Sequence[Token]) -> None:
    """Refuse functions of a named schema, and the server's own that change more than rows."""
    for at in _calls(tokens):
        name = tokens[at].name
        names_rows = at > 2 and tokens[at - 3].word == "INTO"
        if at > 1 and tokens[at - 1].text == "." and not names_rows:
            raise _Unclear(plain(f"{tokens[at - 2].name}.{name}()"))
        if name.startswith(_ACTS_ON_THE_SERVER) and name not in _HARMLESS:
            raise _Unclear(plain(f"{name}()"))


def _written(tokens: Sequence[Token]) -> Iterator[TableName]:
    """The tables that the statement writes to or locks rows of.

    Raises:
        _Unclear: they cannot be determined.
    """
    verb = next((each.word for each in tokens if each.text != "("), "")
    if verb not in _READS | _CHANGES:
        raise _Unclear(plain(verb) if verb else say("a text that is not a statement"))
    for at, token in enumerate(tokens):
        # Any word after a point is a name.
        found = _FOUND_AT.get(token.word) if not at or tokens[at - 1].text != "." else None
        if found is not None:
            yield from found(tokens, at)


def _follows(tokens: Sequence[Token], at: int, *words: str) -> bool:
    return at > 0 and tokens[at - 1].word in words


def _at_insert(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    if not _follows(tokens, at, "THEN"):  # in MERGE
        yield _named(tokens, at, "INTO")


def _at_replace(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    if not at or _word(tokens, at + 1) == "INTO":  # otherwise a function
        yield _named(tokens, at, "INTO")


def _at_into(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    if not _follows(tokens, at, "INSERT", "MERGE", "REPLACE", "IGNORE"):
        raise _Unclear(plain("INTO"))
    return iter(())


def _at_delete(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    if not _follows(tokens, at, "THEN"):
        yield _named(tokens, at, "FROM")


def _at_update(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    if _follows(tokens, at, "FOR") or _is_no_key(tokens, at):
        yield from _locked(tokens)
    elif not _follows(tokens, at, "THEN", "DO", "KEY"):
        found, end = _name(tokens, _behind_only(tokens, at + 1))
        if "SET" not in (each.word for each in tokens[end:]):
            raise _Unclear(_without(tokens[at], "SET"))
        yield found


def _is_no_key(tokens: Sequence[Token], at: int) -> bool:
    """Whether FOR NO KEY UPDATE ends there, and not ON DUPLICATE KEY UPDATE."""
    return _follows(tokens, at, "KEY") and _follows(tokens, at - 1, "NO")


def _at_share(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    return _locked(tokens) if _follows(tokens, at, "FOR", "KEY") else iter(())


def _at_truncate(tokens: Sequence[Token], at: int) -> Iterator[TableName]:
    begin = at + 2 if _word(tokens, at + 1) == "TABLE" else at + 1
    found, end = _name(tokens, _behind_only(tokens, begin))
    if end < len(tokens):
        # More tables, or CASCADE, which empties those that refer to it.
        raise _Unclear(plain("TRUNCATE"))
    yield found


_FOUND_AT: Mapping[str, Callable[[Sequence[Token], int], Iterator[TableName]]] = {
    "INSERT": _at_insert,
    "MERGE": _at_insert,
    "REPLACE": _at_replace,
    "INTO": _at_into,
    "DELETE": _at_delete,
    "UPDATE": _at_update,
    "SHARE": _at_share,
    "TRUNCATE": _at_truncate,
}
"""What the words that change or lock rows say at their place."""


def _named(tokens: Sequence[Token], at: int, word: str) -> TableName:
    """The table after a verb and this word."""
    if _word(tokens, at + 1) == "IGNORE":
        at += 1
    if _word(tokens, at + 1) != word:
        raise _Unclear(_without(tokens[at], word))
    return _name(tokens, _behind_only(tokens, at + 2))[0]


def _without(verb: Token, word: str) -> Message:
    return say("{verb} without {word}", verb=verb.word, word=word)


def _locked(tokens: Sequence[Token]) -> Iterator[TableName]:
    """The tables of the only query of a statement, which locks their rows."""
    words = [each.word for each in tokens]
    if words[:1] != ["SELECT"] or words.count("SELECT") > 1 or "FROM" not in words:
        raise _Unclear(say("a locking read ({words}) within another statement", words="FOR UPDATE"))
    at, expects = words.index("FROM"), True
    while expects:
        found, at = _name(tokens, _behind_only(tokens, at + 1))
        yield found
        while at < len(tokens) and tokens[at].text != "," and words[at] != "JOIN":
            if words[at] in _BEHIND_TABLES:
                return
            at += 1
        expects = at < len(tokens)


def _name(tokens: Sequence[Token], at: int) -> tuple[TableName, int]:
    """The table named there, and the position after it.

    Raises:
        _Unclear: it is not a name.
    """
    parts = [_part(tokens, at)]
    at += 1
    while at < len(tokens) and tokens[at].text == ".":
        parts.append(_part(tokens, at + 1))
        at += 2
    if len(parts) > 2:
        raise _Unclear(say("the name {name}", name=".".join(parts)))
    return TableName(schema_name=parts[0] if len(parts) == 2 else None, name=parts[-1]), at


def _part(tokens: Sequence[Token], at: int) -> str:
    token = tokens[at] if at < len(tokens) else None
    if token is None:
        raise _Unclear(say("nothing in place of a table"))
    if token.kind not in ("word", "name") or token.word in _NO_TABLE:
        raise _Unclear(say("{text} in place of a table", text=token.text))
    return token.name


def _behind_only(tokens: Sequence[Token], at: int) -> int:
    return at + 1 if _word(tokens, at) == "ONLY" else at


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].word if at < len(tokens) else ""
