"""Which statements of PostgreSQL's logs are sent again: implements `Sendable`.

Judged by words. A replay that only reads also makes its sessions read-only, so statements that
could end that (`SET`, `RESET` and `DISCARD` of more than harmless settings) are no reads here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadstone.model.message import Message, say
from loadstone.postgresql.effects import administers, effect_of
from loadstone.postgresql.statements import names_made, tables_in
from loadstone.postgresql.tokens import NotSql, Token, tokens_of
from loadstone.traffic.entries import not_a_statement
from loadstone.traffic.sendable import NOT_READ, PASSWORDS, SERVER, Judged

__all__ = ["COPIED", "judged", "names_made", "never", "tables_in"]

COPIED = say("COPY statements: their data are not in the log")

_ABOUT_ACCOUNTS = frozenset("CREATE ALTER SET".split())
# https://www.postgresql.org/docs/current/pgcrypto.html: each is given a key or a password.
_SECRET_FUNCTIONS = frozenset(
    "crypt hmac encrypt decrypt encrypt_iv decrypt_iv pgp_sym_encrypt pgp_sym_decrypt"
    " pgp_sym_encrypt_bytea pgp_sym_decrypt_bytea pgp_pub_decrypt pgp_pub_decrypt_bytea"
    " dblink_connect".split()
)
_NEVER = frozenset(
    "START_REPLICATION CREATE_REPLICATION_SLOT DROP_REPLICATION_SLOT IDENTIFY_SYSTEM"
    " BASE_BACKUP TIMELINE_HISTORY".split()
)
_OTHER_USER = frozenset({"ROLE", "AUTHORIZATION"})
_QUERIES = frozenset("SELECT WITH VALUES TABLE SHOW EXPLAIN".split())
_ENDS = frozenset("COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE".split())
# The server refuses what a prepared statement or a cursor writes in a read-only session.
_OF_EARLIER = frozenset("EXECUTE DEALLOCATE FETCH MOVE CLOSE".split())
_WITHIN = re.compile(
    r"\s*(?:PREPARE\s+\S+?(?:\s*\([^)]*\))?\s+AS|DECLARE\s+\S+\s.*?\bCURSOR\b.*?\bFOR)\s(.*)",
    re.IGNORECASE | re.DOTALL,
)
_SETTINGS = frozenset(
    "SEARCH_PATH TIMEZONE TIME DATESTYLE INTERVALSTYLE EXTRA_FLOAT_DIGITS BYTEA_OUTPUT"
    " APPLICATION_NAME STATEMENT_TIMEOUT LOCK_TIMEOUT IDLE_IN_TRANSACTION_SESSION_TIMEOUT WORK_MEM"
    " JIT PLAN_CACHE_MODE RANDOM_PAGE_COST SEQ_PAGE_COST EFFECTIVE_CACHE_SIZE FROM_COLLAPSE_LIMIT"
    " JOIN_COLLAPSE_LIMIT CLIENT_MIN_MESSAGES SYNCHRONOUS_COMMIT"
    " MAX_PARALLEL_WORKERS_PER_GATHER".split()
)
"""Harmless ones; `TIME` is that of SET TIME ZONE."""


def judged(text: str, *, writes: bool) -> Judged:
    """Whether a statement is sent."""
    try:
        tokens = tokens_of(text)
    except NotSql as unfit:
        return Judged(not_a_statement(unfit))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if why := never(text, tokens):
        return Judged(why)
    if _is_read(text, tokens):
        return Judged(None)
    # No names before dots: the target's database is the only one that a statement can reach.
    return Judged(None if writes else NOT_READ)


def never(text: str, tokens: Sequence[Token]) -> Message | None:
    """Why a statement is not even sent where writes are."""
    words = [token.word for token in tokens if token.kind == "word"]
    verb = words[0] if words else ""
    if _is_secret(verb, words, tokens):
        return PASSWORDS
    if "COPY" in _verbs(tokens):
        return COPIED
    sets_user = verb in ("SET", "RESET") and _OTHER_USER.intersection(words[1:4])
    return SERVER if verb in _NEVER or sets_user or administers(text) else None


def _verbs(tokens: Sequence[Token]) -> set[str]:
    """The first word of each statement of the text."""
    begins = [0, *(at + 1 for at, token in enumerate(tokens) if token.text == ";")]
    return {tokens[at].word for at in begins if at < len(tokens)}


def _is_secret(verb: str, words: Sequence[str], tokens: Sequence[Token]) -> bool:
    if verb in _ABOUT_ACCOUNTS and "PASSWORD" in words:
        return True
    if {"PASSWORD", "OPTIONS"} <= set(words):
        return True
    pairs = zip(tokens, tokens[1:], strict=False)
    return any(
        following.text == "(" and token.kind == "word" and token.name in _SECRET_FUNCTIONS
        for token, following in pairs
    )


def _is_read(text: str, tokens: Sequence[Token]) -> bool:
    words = [token.word for token in tokens if token.kind == "word"]
    verb = words[0] if words else ""
    if any(token.text == ";" for token in tokens):
        return False
    if verb in ("BEGIN", "START"):
        return "WRITE" not in words
    if verb in _ENDS:
        return "PREPARED" not in words
    if verb in ("SET", "RESET"):
        return _sets_session(words[1:])
    if verb in _OF_EARLIER:
        return True
    if found := _WITHIN.fullmatch(text):
        return _only_reads(found[1])
    return verb in _QUERIES and _only_reads(text)


def _only_reads(text: str) -> bool:
    effect = effect_of(text)
    return not effect.writes and not effect.unclear and "pg_sleep" not in effect.calls


def _sets_session(words: Sequence[str]) -> bool:
    """Whether the setting is harmless, or the isolation of the transaction."""
    at = 1 if words[:1] in (["SESSION"], ["LOCAL"]) else 0
    name = words[at] if at < len(words) else ""
    if name == "TRANSACTION":
        return "WRITE" not in words and "SNAPSHOT" not in words
    return name in _SETTINGS or name.startswith("ENABLE_")
