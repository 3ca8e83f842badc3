"""Commits wait for others to join their sync: commit_delay was set, and no disk is slow.

Who syncs the log sleeps before that while it holds WALWriteLock, so that all others who commit wait
for the sleep and for the sync.

Source: https://www.postgresql.org/docs/current/wal-configuration.html
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import Holds, parts_of, time_at
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import wal
from loadstone.diagnosis.trials import dynamic
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.1
"""[P] Share of the users' time: who sets a delay expects larger groups for it."""

_PLACES: tuple[Place, ...] = ("commit delay", "commit")


def judge(case: Case) -> Finding | None:
    """Users that sleep before a sync, and the sleep's part of what the others wait for."""
    delay_s = case.needed(case.number("commit_delay")) / 1e6
    if not delay_s or not wal.is_waited_for(case):
        return None
    share = case.needed(time_of(case, _parts(case)))
    if share + due_to(case, *_PLACES) < SHARE:
        return None
    commits = case.commits()
    return Finding(
        cause="commit-delay",
        group="wait",
        sentence=say(
            "Commits wait on purpose: with commit_delay={value} who flushes the WAL sleeps for "
            "{most} ms first, and everybody else who commits waits for that; it is {part} of the "
            "users' time, {each} ms per commit.",
            value=Number(1e6 * delay_s),
            most=Number(1000 * delay_s),
            part=Percent(share),
            each=Number(1000 * share * case.users / commits if commits else 0.0),
        ),
        evidence=(
            case.seen(say("users that wait for the delay"), share, say("of their time"), SHARE),
            case.seen(plain("commit_delay"), 1e6 * delay_s, say_in("unit", "µs")),
            case.seen(say("users in commit"), wal.wait_share(case) or 0.0, say("of their time")),
        ),
        share=share,
        confidence=0.9,
        remedy=say(
            "Set it to 0. The delay saves syncs only where many users commit to a disk that syncs "
            "slowly; elsewhere it only costs time."
        ),
        trial=dynamic(case, {"commit_delay": "0"}, say("waiting for more commits")),
    )


def in_group(case: Case) -> float:
    """Share of the users' time in which they wait for the group only because of the delay."""
    part = _parts(case).get("commit", 0.0)
    return part * (case.time_at("commit") or 0.0)


def _parts(case: Case) -> Mapping[Place, float]:
    """By place, the part of the users' time there that the sleep takes; empty: it is not seen."""
    account = case.step.account
    if account is None or not case.number("commit_delay"):
        return {}
    asleep, syncs = account.share_of("commit delay"), account.share_of("log sync")
    found: dict[Place, float] = {"commit delay": 1.0}
    if not asleep:
        asleep = _asleep_by_syncs(case)
        inside = account.share_of("in the server")
        found = {"in the server": min(asleep / inside, 1.0)} if inside else {}
        asleep = min(asleep, inside)
    return found | ({"commit": asleep / (asleep + syncs)} if asleep else {})


def _asleep_by_syncs(case: Case) -> float:
    """Where threads are not looked at, versions without a wait event for it hide the sleep.

    By Little's law so many sleep as syncs begin, times the delay; nobody does where fewer than
    commit_siblings others are in a transaction.
    """
    account, syncs = case.step.account, wal.syncs(case)
    delay_us, siblings = case.number("commit_delay"), case.number("commit_siblings")
    if account is None or account.view == "threads" or not syncs or not delay_us:
        return 0.0
    if siblings is None or case.users - 1 < siblings:
        return 0.0
    return syncs.per_s * delay_us / 1e6 / case.users


def _holds(case: Case) -> Holds | None:
    parts = _parts(case)
    return parts_of(parts) if parts else None


RULE = Rule(
    "commit-delay",
    say("commits are made to wait"),
    judge,
    holds=time_at(*_PLACES),
    holds_in=_holds,
)
