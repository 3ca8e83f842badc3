"""Commits are made to wait for company: a delay that was set, and no slow disk."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.commit_flush import commit_share
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.2
"""[P] of the users' time that is the delay's."""

_MYSQL = ("binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count")
_MARIADB = ("binlog_commit_wait_usec", "binlog_commit_wait_count")
"""[S] both manuals: microseconds, and the commits in a group from which nobody waits any longer."""


def judge(case: Case) -> Finding | None:
    """The delay by the time that a commit takes, of the time that users stand in their commit."""
    share, commits = case.needed(commit_share(case)), case.needed(case.commits())
    name, delay_s = _delay(case)
    if not delay_s or not commits or not share:
        return None
    each_s = share * case.users / commits
    part = share * min(delay_s / each_s, 1.0)
    if part < SHARE:
        return None
    return Finding(
        cause="commit-delay",
        group="wait",
        sentence=(
            f"Commits wait on purpose: {name}={num(1e6 * delay_s)} makes each group wait up to "
            f"{num(1000 * delay_s)} ms for more commits, and a commit takes {num(1000 * each_s)} "
            f"ms; that is {pct(part)} of the users' time."
        ),
        evidence=(
            case.seen(name, 1e6 * delay_s, "µs"),
            case.seen("time of a commit", 1000 * each_s, "ms", 1000 * delay_s),
            case.seen("users in commit", share, "of their time"),
        ),
        share=part,
        confidence=0.9,
        remedy=(
            "Set it to 0: it spares syncs where there are many users on a disk with few syncs, "
            "and only costs time elsewhere."
        ),
        trial=dynamic(case, {_switch(name): "0"}, "waiting for more commits"),
    )


def _delay(case: Case) -> tuple[str, float]:
    """Which variable, and its seconds; nought where nobody waits.

    A group that is complete goes at once, which the time of a commit shows.
    """
    for name, count_name in (_MYSQL, _MARIADB):
        delay_us = case.number(name)
        if delay_us is not None:
            is_off = name in _MARIADB and not case.number(count_name)
            return name, 0.0 if is_off else delay_us / 1e6
    return _MYSQL[0], 0.0


def _switch(name: str) -> str:
    """What ends the waiting: MariaDB's delay is one only where a count is asked for."""
    return _MARIADB[1] if name in _MARIADB else name


RULE = Rule("commit-delay", say("commits are made to wait"), judge)
