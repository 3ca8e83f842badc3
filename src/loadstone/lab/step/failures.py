"""Turns a failure of the engine into the error that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from loadstone.families import FAMILIES, family_of
from loadstone.model.cluster import GENERATOR_LOST
from loadstone.model.error_codes import ErrorCode
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.model.records import EngineFailure
from loadstone.model.target import Target
from loadstone.servers.errors import (
    NEEDS_AUTHORITY,
    NEEDS_KEY,
    NEEDS_PROOF,
    GuardError,
    TargetError,
    TargetErrorKind,
)

_HINTS = {
    "unknown_host": say("check the name in --target, or use the address"),
    "unreachable": say("is the server running, and is it the right port?"),
    "timed_out": say(
        "raise --connect-timeout, or open fewer connections at a time with --connect-at-once"
    ),
    "login_refused": say(
        "check --user and the password; does the account allow that many connections?"
    ),
    "too_many_connections": say("raise max_connections on the server, or lower --concurrency"),
    "unknown_database": say("loadstone prepare makes it; or name another with --database"),
    "tls_refused": say("turn TLS on in the server, or use --tls disabled"),
    "tls_failed": NEEDS_AUTHORITY,
    "compression_refused": say("leave --compression out, or let the server offer it"),
    "descriptors": say("raise the limit: ulimit -n 65536"),
    GENERATOR_LOST: say(
        "--on-node-loss continue goes on with the others, repeat drives the step again"
    ),
    "table_in_the_way": say("it is left as it is: use another schema"),
    "public_key_needed": NEEDS_KEY,
    "password_withheld": NEEDS_PROOF,
}
_HINTS_BY_CODE = {
    ErrorCode(name, code): hint
    for name, family in FAMILIES.items()
    for code, hint in family.words.hints_by_code.items()
}


class GeneratorLost(LoadstoneError):
    """A step could not go on without one of its generators."""

    exit_code = ExitCode.CLUSTER


def as_error(failure: EngineFailure, targets: Sequence[Target]) -> LoadstoneError:
    """The error for a failure: what failed, where, and what to do."""
    if failure.kind == GENERATOR_LOST:
        return GeneratorLost(failure.message, _HINTS[GENERATOR_LOST])
    place = ""
    if failure.target is not None and failure.target < len(targets):
        where = targets[failure.target].place
        place = "" if where in failure.message else f"{where}: "
    kind: TargetErrorKind = "protocol"
    for known in get_args(TargetErrorKind):
        if failure.kind == known:
            kind = known
    code = ErrorCode(failure.family, failure.code) if failure.family and failure.code else None
    hint = (_HINTS_BY_CODE.get(code) if code else None) or _HINTS.get(failure.kind)
    if kind == "stalled" and targets:
        hint = say(
            "{sessions} shows who does what; the same command continues from there",
            sessions=family_of(targets[failure.target or 0]).words.sessions,
        )
    error = GuardError if kind == "table_in_the_way" else TargetError
    message = f"{place}{failure.message}{_code(failure)}"
    if failure.in_clear is not None:
        message = say("{said}; without TLS: {reason}", said=message, reason=failure.in_clear)
    return error(kind, message, hint, code)


def _code(failure: EngineFailure) -> str:
    if failure.code is None or failure.code in failure.message:
        return ""
    states = {failure.sql_state, failure.code} - {failure.code, None}
    state = "".join(f", {state}" for state in states)
    return f" ({failure.code}{state})"
