"""Commits wait until the log is on the disk."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.cpu import is_full, state_share
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.rules import semi_sync
from loadstone.diagnose.trials import RELAXED, dynamic
from loadstone.diagnose.words import num, pct
from loadstone.model.finding import Finding

SHARE = 0.5
"""[P] DIAGNOSIS 5: of the users' time."""

STATES = ("commit", "waiting for handler commit", "wait for group commit", "starting commit")


def judge(case: Case) -> Finding | None:
    """Most users stand in their commit, cores are free, and no replica is waited for.

    What the process list says is taken where it says something; else the time of the syncs that
    performance_schema counted.
    """
    commits, syncs = case.needed(case.commits()), case.needed(case.rate("log_syncs"))
    if not commits or not syncs:
        return None
    share = case.needed(commit_share(case))
    if share < SHARE or is_full(case) or semi_sync.wait_share(case) >= semi_sync.SHARE:
        return None
    each_ms = 1000 * share * case.users / commits
    return Finding(
        cause="commit-flush",
        group="wait",
        sentence=(
            f"Users wait for the log's flush {pct(share)} of their time: {num(each_ms)} ms a "
            f"commit, with {num(syncs)} syncs of the log a second for {num(commits)} commits."
        ),
        evidence=(
            case.seen("users in commit", share, "of their time", SHARE),
            case.seen("log_syncs", syncs, "/s"),
            case.seen("commits", commits, "/s"),
        ),
        share=share,
        confidence=0.85,
        remedy=(
            "A log device that syncs faster (flash with power-loss protection), more users so "
            "that a sync carries more commits; less durability only where commits may be lost."
        ),
        trial=dynamic(
            case,
            {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
            "waiting for the log's syncs",
            costs=RELAXED,
        ),
        acts_on="flushes",
    )


def commit_share(case: Case) -> float | None:
    """Share of the users' time in commit; `None`: neither states nor times are told."""
    states = case.states()
    by_state = None
    if states:
        held = sum(value for name, value in states.items() if name in STATES)
        by_state = min(held / case.users, 1.0)
    waits = [case.rate(f"{log}_file_wait_s") for log in ("redo", "binlog")]
    known = [wait for wait in waits if wait is not None]
    by_files = min(sum(known) / case.users, 1.0) if known else None
    found = [value for value in (by_state, by_files) if value is not None]
    return max(found) if found else state_share(case, *STATES)


RULE = Rule("commit-flush", judge)
