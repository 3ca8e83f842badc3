"""Which statements of MySQL's and MariaDB's logs are sent again: implements `Sendable`."""

from __future__ import annotations

from loadstone.model.message import Message, say
from loadstone.mysql.named_tables import names_made, tables_in
from loadstone.mysql.tokens import NotSql, Token, name_of, tokens_of, with_code
from loadstone.traffic.entries import not_a_statement
from loadstone.traffic.kinds import is_read, is_secret, names_own_schema
from loadstone.traffic.sendable import NOT_READ, PASSWORDS, SERVER, Judged

__all__ = ["PREPARED", "judged", "names_made", "tables_in"]

PREPARED = say("PREPARE, EXECUTE and DEALLOCATE: the log also has what they executed")
_NEVER = frozenset("SHUTDOWN KILL RESTART RESET PURGE INSTALL UNINSTALL CHANGE CLONE STOP".split())
_PREPARED = frozenset("PREPARE EXECUTE DEALLOCATE".split())
_SERVER_WIDE = frozenset({"GLOBAL", "PERSIST", "PERSIST_ONLY"})


def judged(text: str, *, writes: bool) -> Judged:
    """Whether a statement is sent."""
    try:
        return _judged(tokens_of(text), writes=writes)
    except NotSql as unfit:
        return Judged(not_a_statement(unfit))


def _judged(tokens: list[Token], *, writes: bool) -> Judged:
    """Raises NotSql where it was cut off."""
    seen = with_code(tokens)
    if why := _never(seen):
        return Judged(why)
    if is_read(tokens):
        return Judged(None)
    if not writes:
        return Judged(NOT_READ)
    if names_own_schema(seen):
        return Judged(SERVER)
    pairs = zip(seen, seen[1:], strict=False)
    return Judged(
        None,
        frozenset(
            name_of(token)
            for token, following in pairs
            if following.text == "." and token.kind in ("word", "name")
        ),
    )


def _never(seen: list[Token]) -> Message | None:
    """Why a statement is not even sent where writes are."""
    words = [token.text.upper() for token in seen if token.kind == "word"]
    verb = words[0] if words else ""
    if is_secret(seen):
        return PASSWORDS
    if verb in _PREPARED:
        return PREPARED
    is_global = verb == "SET" and (
        _SERVER_WIDE.intersection(words)
        or any(word.startswith(("@@GLOBAL", "@@PERSIST")) for word in words)
    )
    return SERVER if verb in _NEVER or is_global else None
