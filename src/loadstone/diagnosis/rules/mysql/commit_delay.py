"""Commits wait for others to join their group: the delay was set, and no disk is slow."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SYNC_WAITS, time_at
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.commit_flush import commit_share
from loadstone.diagnosis.slow_syncs import disk_flush_s
from loadstone.diagnosis.trials import dynamic
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.2
"""[P] Share of the users' time that the delay takes."""

_DELAYS = 2.0
"""A commit that comes while a group waits has the rest of that wait before its own."""

_SYNCS = 2.0
"""Of a group: the redo log's and the binary log's."""

_PLACES: tuple[Place, ...] = ("commit delay", "commit")

_MYSQL = ("binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count")
_MARIADB = ("binlog_commit_wait_usec", "binlog_commit_wait_count")
"""[S] Both manuals: microseconds, and the size of a group that waits no longer."""


def judge(case: Case) -> Finding | None:
    """The delay's share of a commit, times the share of time that users spend in commit."""
    share, commits = case.needed(_share(case)), case.needed(case.commits())
    name, delay_s = _delay(case)
    if not delay_s or not commits or not share:
        return None
    each_s = share * case.users / commits
    on_purpose = _waited_s(case, delay_s, each_s) / each_s
    part = share * on_purpose
    if part + on_purpose * due_to(case, *_PLACES) < SHARE:
        return None
    return Finding(
        cause="commit-delay",
        group="wait",
        sentence=say(
            "Commits wait on purpose: {name}={value} makes each group wait up to {most} ms for "
            "more commits, and a commit takes {each} ms; that is {part} of the users' time.",
            name=name,
            value=Number(1e6 * delay_s),
            most=Number(1000 * delay_s),
            each=Number(1000 * each_s),
            part=Percent(part),
        ),
        evidence=(
            case.seen(plain(name), 1e6 * delay_s, say_in("unit", "µs")),
            case.seen(say("time of a commit"), 1000 * each_s, say_in("unit", "ms"), 1000 * delay_s),
            case.seen(say("users in commit"), share, say("of their time")),
        ),
        share=part,
        confidence=0.9,
        remedy=say(
            "Set it to 0. The delay saves syncs only where many users commit to a disk that syncs "
            "slowly; elsewhere it only costs time."
        ),
        trial=dynamic(case, {_switch(name): "0"}, say("waiting for more commits")),
    )


def _waited_s(case: Case, delay_s: float, each_s: float) -> float:
    """Time that a commit waits because of the delay: its own group's, and some of the one before.

    What is left of it are its two syncs; where the disk's flushes are not timed, the delay is it.
    """
    flush_s = disk_flush_s(case)
    if flush_s is None:
        return min(delay_s, each_s)
    return max(min(_DELAYS * delay_s, each_s - _SYNCS * flush_s), min(delay_s, each_s))


def _share(case: Case) -> float | None:
    """Share of the users' time in commit, the delay included."""
    known = (case.time_at(*SYNC_WAITS, "commit delay"), commit_share(case))
    return max((one for one in known if one is not None), default=None)


def _delay(case: Case) -> tuple[str, float]:
    """The variable's name and its delay in seconds; zero where no commit waits.

    A complete group goes at once; the time of a commit shows that.
    """
    for name, count_name in (_MYSQL, _MARIADB):
        delay_us = case.number(name)
        if delay_us is not None:
            is_off = name in _MARIADB and not case.number(count_name)
            return name, 0.0 if is_off else delay_us / 1e6
    return _MYSQL[0], 0.0


def _switch(name: str) -> str:
    """The variable that ends the waiting: MariaDB's delay needs a count to have any effect."""
    return _MARIADB[1] if name in _MARIADB else name


RULE = Rule("commit-delay", say("commits are made to wait"), judge, holds=time_at(*_PLACES))
