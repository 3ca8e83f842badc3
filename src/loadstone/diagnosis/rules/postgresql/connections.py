"""Connections that are refused, and those that are lost.

Source: https://www.postgresql.org/docs/current/runtime-config-connection.html
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis import session_memory
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.lost_connections import lost
from loadstone.diagnosis.refused_connections import failures, left_out, share_of, without_connection
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start, client
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

TOO_MANY = "53300"
"""too_many_connections: of the server, of the database, or of the role."""

MORE = 100
"""Connections for administration and others, besides those of the users."""


def judge(case: Case) -> Finding | None:
    """Attempts that the server turned away."""
    failed = sum(case.step.connect_failures.values())
    if failed <= 0:
        return None
    limit, is_full = case.number("max_connections"), TOO_MANY in case.step.connect_failures
    wanted = case.users + MORE
    trial = client("connect-at-once", "8", None, say("opening many connections at once"))
    if is_full:
        settings = {"max_connections": str(wanted)} if limit is None or limit < wanted else {}
        trial = at_start(case, settings, say("refusing connections"))  # type: ignore[assignment]
    return Finding(
        cause="connections-refused",
        group="validity",
        sentence=sentences(*_refused(case, failed, limit if is_full else None)),
        evidence=(
            case.seen(plain("connect_failures"), failed, say_in("unit", "attempts"), 0.0),
            *session_memory.evidence(case, session_memory.of_users(case)),
        ),
        share=share_of(case),
        confidence=0.9,
        remedy=_way_in(is_full=is_full),
        trial=trial,
    )


def _refused(case: Case, failed: int, limit: float | None) -> Iterator[Message]:
    yield failures(case, failed)
    yield from without_connection(case)
    if limit:
        yield say("max_connections is {limit}.", limit=Number(limit))
        yield from session_memory.said_of_more(session_memory.of_users(case), left_out(case))


def _way_in(*, is_full: bool) -> Message:
    """What to do about connections that are turned away."""
    if is_full:
        return say(
            "Put a pooler before the server, or raise max_connections, or the CONNECTION LIMIT of "
            "the role or the database, above the number of users."
        )
    return say(
        "Look up the error codes (pg_hba.conf and the server's log say more). For a server that "
        "accepts slowly, use a longer --connect-timeout and a smaller --connect-at-once."
    )


def judge_lost(case: Case) -> Finding | None:
    """Connections that broke in the window."""
    return lost(
        case,
        say(
            "Look for a restart, a crash of another session's process, pg_terminate_backend() or a "
            "timeout in the server's log; otherwise suspect the network."
        ),
    )


RULE = Rule("connections-refused", say("connections are refused"), judge, reads="client")
LOST_RULE = Rule("connections-lost", say("connections are lost"), judge_lost, reads="client")
