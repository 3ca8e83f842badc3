"""Commits wait until the log is on the disk."""

from __future__ import annotations

from loadstone.analyse.derived_figures import COMMIT_STATES
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.holds import SYNC_WAITS, rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql import semi_sync
from loadstone.diagnosis.slow_syncs import SyncWait, disk_flush_s, weight_of
from loadstone.diagnosis.trials import RELAXED, dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

_SYNCS = {"redo": "log_syncs", "binlog": "binlog_syncs"}
"""Counters of the syncs that commits wait for, by the log."""

_WRITTEN = 2
"""The innodb_flush_log_at_trx_commit with which a commit is written, and not synced."""


def judge(case: Case) -> Finding | None:
    """Most users are in their commit, cores are free, and no replica is waited for.

    The process list decides where it shows something; otherwise the time of the syncs that
    performance_schema counted.
    """
    commits = case.needed(case.commits())
    if not commits or not _wait_for_syncs(case):
        return None
    log = "binlog" if _redo_is_lazy(case) else "redo"
    syncs = case.needed(case.rate(_SYNCS[log]))
    if not syncs:
        return None
    share = case.needed(commit_share(case))
    wait = SyncWait(share, commits, syncs, _sync_s(case, log, syncs))
    weight = weight_of(case, wait)
    if weight is None or semi_sync.is_waited_for(case):
        return None
    return Finding(
        cause="commit-flush",
        group=weight,
        sentence=say(
            "Users spend {share} of their time waiting for the log to be flushed: {each} ms per "
            "commit, with {syncs} log syncs a second for {commits} commits.",
            share=Percent(share),
            each=Number(1000 * share * case.users / commits),
            syncs=Number(syncs),
            commits=Number(commits),
        ),
        evidence=(
            case.seen(say("users in commit"), share, say("of their time"), wait.threshold),
            case.seen(plain(_SYNCS[log]), syncs, say_in("unit", "/s")),
            case.seen(plain("commits"), commits, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.85,
        remedy=say(
            "Use a log device that syncs faster (flash with power-loss protection), or more users, "
            "so that each sync carries more commits. Reduce durability only where commits may be "
            "lost."
        ),
        trial=dynamic(
            case,
            {
                # With O_DSYNC what is written is synced as well.
                "innodb_flush_log_at_trx_commit": "0" if _writes_wait(case) else "2",
                "sync_binlog": "0",
            },
            say("waiting for log syncs"),
            costs=RELAXED,
        ),
        acts_on="flushes",
    )


def _wait_for_syncs(case: Case) -> bool:
    """Whether commits must: otherwise both logs are synced about once a second, independently."""
    has_binary_log = (case.variable("log_bin") or "ON").upper() not in ("OFF", "0")
    return not _redo_is_lazy(case) or (has_binary_log and case.number("sync_binlog") != 0)


def _redo_is_lazy(case: Case) -> bool:
    """Whether no commit waits for the redo log, which is synced about once a second."""
    redo = case.number("innodb_flush_log_at_trx_commit")
    return redo == 0 or (redo == _WRITTEN and not _writes_wait(case))


def _writes_wait(case: Case) -> bool:
    """Whether a write to the log is over when it is on the disk."""
    return (case.variable("innodb_flush_method") or "").upper() == "O_DSYNC"


def _sync_s(case: Case, log: str, syncs: float) -> float | None:
    """Time of a flush, by the disk or by performance_schema; `None`: neither reports it."""
    log_s = case.rate(f"{log}_file_wait_s")
    known = [disk_flush_s(case), log_s / syncs if log_s is not None else None]
    return max((each for each in known if each is not None), default=None)


def commit_share(case: Case) -> float | None:
    """Share of the users' time in commit; `None`: neither states, times nor looks are known."""
    states = case.states()
    by_state = None
    if states:
        held = sum(value for name, value in states.items() if name in COMMIT_STATES)
        by_state = min(held / case.users, 1.0)
    waits = [case.rate(f"{log}_file_wait_s") for log in ("redo", "binlog")]
    known = [wait for wait in waits if wait is not None]
    by_files = min(sum(known) / case.users, 1.0) if known else None
    by_looks = case.time_at(*SYNC_WAITS)
    found = [value for value in (by_state, by_files, by_looks) if value is not None]
    return max(found) if found else state_share(case, *COMMIT_STATES)


RULE = Rule(
    "commit-flush",
    say("commits wait for the log to be flushed"),
    judge,
    reads="files",
    holds=rest_of(*SYNC_WAITS, is_timed=True),
)
