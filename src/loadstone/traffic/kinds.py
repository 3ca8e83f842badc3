"""What a statement is for: data, a transaction's ends, the session, or something else.

Statements that may hold a password are kinds of their own: they are counted and never kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from loadstone.model.message import Message, say
from loadstone.mysql.tokens import Token, name_of, with_code

StatementKind = Literal["data", "begin", "commit", "rollback", "autocommit on", "autocommit off"]
"""The kinds that a template is made of; any other statement has a message that names it."""

SECRET = say("statements that may hold a password")
OWN_TABLES = say("statements about the server itself")

_DATA = frozenset("SELECT INSERT UPDATE DELETE REPLACE WITH VALUES TABLE DO CALL".split())
_ACCOUNTS = frozenset("IDENTIFIED PASSWORD USER ROLE MASTER SOURCE SERVER REPLICA SLAVE".split())
_ABOUT_ACCOUNTS = frozenset("CREATE ALTER DROP GRANT REVOKE SET CHANGE START RENAME".split())
# https://dev.mysql.com/doc/refman/8.4/en/encryption-functions.html: each is given a key.
_SECRET_FUNCTIONS = frozenset(
    "PASSWORD OLD_PASSWORD ENCRYPT AES_ENCRYPT AES_DECRYPT DES_ENCRYPT DES_DECRYPT ENCODE DECODE"
    " CREATE_ASYMMETRIC_PRIV_KEY ASYMMETRIC_SIGN ASYMMETRIC_ENCRYPT ASYMMETRIC_DECRYPT".split()
)
_SECRET_COLUMN = re.compile(r"passw|pwd|secret|token|credential|api_?key|auth", re.IGNORECASE)
_OWN_SCHEMAS = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
# A statement with one of these words may change other sessions or files, or waits on purpose.
_NO_READS = frozenset(
    "INTO UPDATE DELETE INSERT REPLACE SLEEP BENCHMARK GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS"
    " NEXTVAL SETVAL LASTVAL NEXT LOAD_FILE LOCK SHARE MASTER_POS_WAIT WAIT_FOR_EXECUTED_GTID_SET"
    " SYS_EXEC SYS_EVAL KILL SHUTDOWN PROCEDURE".split()
)
_READ_VERBS = frozenset("SELECT WITH VALUES TABLE SHOW DESC DESCRIBE EXPLAIN".split())
_SESSION_SETTINGS = frozenset(
    "NAMES CHARACTER CHARSET AUTOCOMMIT SQL_MODE TIME_ZONE SQL_SAFE_UPDATES SQL_SELECT_LIMIT"
    " CHARACTER_SET_RESULTS CHARACTER_SET_CLIENT CHARACTER_SET_CONNECTION COLLATION_CONNECTION"
    " NET_WRITE_TIMEOUT NET_READ_TIMEOUT WAIT_TIMEOUT INTERACTIVE_TIMEOUT LOCK_WAIT_TIMEOUT"
    " INNODB_LOCK_WAIT_TIMEOUT GROUP_CONCAT_MAX_LEN MAX_JOIN_SIZE OPTIMIZER_SWITCH"
    " JOIN_BUFFER_SIZE SORT_BUFFER_SIZE TMP_TABLE_SIZE MAX_EXECUTION_TIME".split()
)


def is_secret_column(name: str | None) -> bool:
    """Whether the column's name suggests that its values are confidential."""
    return name is not None and bool(_SECRET_COLUMN.search(name))


def kind_of(tokens: Sequence[Token]) -> StatementKind | Message:
    """The kind of a statement, or the words under which it is counted where no template has it.

    Raises:
        NotSql: an executable comment in it has no SQL.
    """
    seen = with_code(list(tokens))
    words = _words(seen)
    verb = words[0] if words else ""
    if is_secret(seen):
        return SECRET
    if ended := _end_of_transaction(verb, words):
        return ended
    if verb == "SET":
        return _setting(seen, words)
    if verb not in _DATA:
        return _named(verb) if verb.isalpha() else say("texts that are not statements")
    if names_own_schema(seen):
        return OWN_TABLES
    return "data"


def is_secret(tokens: Sequence[Token]) -> bool:
    """Whether a password or a key may stand in it."""
    words = _words(tokens)
    if not words:
        return False
    if words[0] in _ABOUT_ACCOUNTS and _ACCOUNTS.intersection(words[1:]):
        return True
    return "IDENTIFIED" in words or any(
        token.text.upper() in _SECRET_FUNCTIONS and following.text == "("
        for token, following in zip(tokens, tokens[1:], strict=False)
        if token.kind == "word"
    )


def is_read(tokens: Sequence[Token]) -> bool:
    """Whether, judged by its words, it only reads or only changes its own session.

    Stored functions may do anything, so a replay also has the server refuse writes.

    Raises:
        NotSql: an executable comment in it has no SQL.
    """
    seen = with_code(list(tokens))
    while seen and seen[-1].text == ";":
        seen.pop()
    words = _words(seen)
    if not words or any(token.text == ";" for token in seen) or is_secret(seen):
        return False
    verb = words[0]
    if verb in ("COMMIT", "ROLLBACK", "BEGIN", "USE"):
        return True
    if verb == "START":
        return "TRANSACTION" in words[:2] and "WRITE" not in words
    if verb == "SET":
        return _sets_session(seen, words)
    if any(token.text == ":=" for token in seen):
        return False
    if verb == "EXPLAIN" and "ANALYZE" in words:
        return False
    return verb in _READ_VERBS and not _NO_READS.intersection(words)


def _words(tokens: Sequence[Token]) -> list[str]:
    """The words in capitals, without operators, quoted names and literals."""
    return [token.text.upper() for token in tokens if token.kind == "word"]


def _end_of_transaction(verb: str, words: Sequence[str]) -> StatementKind | None:
    if verb == "BEGIN" or (verb == "START" and "TRANSACTION" in words[:2]):
        return "begin"
    if verb == "COMMIT":
        return "commit"
    if verb == "ROLLBACK" and "TO" not in words:
        return "rollback"
    return None


def _named(verb: str) -> Message:
    return say("{verb} statements", verb=verb)


def _setting(tokens: Sequence[Token], words: Sequence[str]) -> StatementKind | Message:
    if "AUTOCOMMIT" not in [word.rpartition(".")[2].lstrip("@") for word in words]:
        return _named("SET")
    value = tokens[-1].text.upper()
    return "autocommit off" if value in ("0", "OFF", "FALSE") else "autocommit on"


def _sets_session(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    """Whether all variables that it sets are known to be harmless ones of the session."""
    if {"GLOBAL", "PERSIST", "PERSIST_ONLY", "STATEMENT"}.intersection(words):
        return False
    if any(word.startswith(("@@GLOBAL", "@@PERSIST")) for word in words):
        return False
    at = 1
    depth = 0
    is_name = True
    for token in tokens[at:]:
        word = token.text.upper()
        if is_name and word in ("SESSION", "LOCAL"):
            continue
        if is_name:
            name = word.rpartition(".")[2].lstrip("@")
            is_own = word.startswith("@") and not word.startswith("@@")
            if not is_own and name not in _SESSION_SETTINGS:
                return False
            is_name = False
        depth += (word == "(") - (word == ")")
        is_name = word == "," and not depth
    return not _NO_READS.intersection(words) and "SELECT" not in words


def names_own_schema(tokens: Sequence[Token]) -> bool:
    """Whether it names one of the server's own schemas."""
    return any(
        token.kind in ("word", "name")
        and name_of(token).lower() in _OWN_SCHEMAS
        and following.text == "."
        for token, following in zip(tokens, tokens[1:], strict=False)
    )
