"""Commits wait until the log is on the disk."""

from __future__ import annotations

from loadstone.analyse.derived_figures import COMMIT_STATES
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, is_full, state_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql import semi_sync
from loadstone.diagnosis.trials import RELAXED, dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.5
"""[P] DIAGNOSIS 5: of the users' time."""

SLOW_CYCLE_S = 0.004
"""[P] from one sync of the log to the next while commits wait for them: with the binary log's in
between, two syncs of 2 ms. Solid-state disks take 0.05 to 1 ms (measured here: 0.4)."""

SLOW_SYNC_S = 0.0025
"""[P] time of a flush of the disk, or of the log's writes and syncs by sync, from which it is slow;
solid-state disks: as above."""

RISES = 1.1
"""[P] growth of the rate with more users, from which larger groups still make up for the wait."""

MORE_USERS = 1.4
"""[P] by this factor the users must have grown to tell."""

ROOM = 0.8
"""[P] use of the cores below which a rate that stays is not theirs."""


def judge(case: Case) -> Finding | None:
    """Most users stand in their commit, cores are free, and no replica is waited for.

    What the process list says is taken where it says something; else the time of the syncs that
    performance_schema counted.
    """
    commits, syncs = case.needed(case.commits()), case.needed(case.rate("log_syncs"))
    if not commits or not syncs or not _wait_for_syncs(case):
        return None
    share = case.needed(commit_share(case))
    if share < SHARE or is_full(case) or semi_sync.wait_share(case) >= semi_sync.SHARE:
        return None
    each_ms = 1000 * share * case.users / commits
    # A quick disk's syncs are what durable commits cost: more users share each of them.
    slow = 1 / syncs >= SLOW_CYCLE_S or (_sync_s(case, syncs) or 0.0) >= SLOW_SYNC_S
    is_limit = slow or _stays(case)
    return Finding(
        cause="commit-flush",
        group="wait" if is_limit else "note",
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


def _wait_for_syncs(case: Case) -> bool:
    """Whether commits are set to: else both logs are synced about once a second, beside them."""
    redo, binary = case.number("innodb_flush_log_at_trx_commit"), case.number("sync_binlog")
    has_binary_log = (case.variable("log_bin") or "ON").upper() not in ("OFF", "0")
    return redo not in (0, 2) or (has_binary_log and binary != 0)


def _sync_s(case: Case, syncs: float) -> float | None:
    """How long a flush takes, by the disk or by performance_schema; `None`: neither tells."""
    disk = case.step.host.disk if case.step.host else None
    flushes, flushing = (case.host_rate(f"disk.{disk}.{what}") for what in ("flushes", "flush_s"))
    log_s = case.rate("redo_file_wait_s")
    by_disk = flushing / flushes if flushing is not None and flushes else None
    known = [by_disk, log_s / syncs if log_s is not None else None]
    return max((each for each in known if each is not None), default=None)


def _stays(case: Case) -> bool:
    """Whether users that are more bring no more, while cores are free."""
    fewer = [step.tps or 0.0 for step in case.ladder if case.users >= MORE_USERS * step.concurrency]
    busy = busy_share(case)
    return bool(fewer) and case.tps < RISES * max(fewer) and busy is not None and busy < ROOM


def commit_share(case: Case) -> float | None:
    """Share of the users' time in commit; `None`: neither states nor times are told."""
    states = case.states()
    by_state = None
    if states:
        held = sum(value for name, value in states.items() if name in COMMIT_STATES)
        by_state = min(held / case.users, 1.0)
    waits = [case.rate(f"{log}_file_wait_s") for log in ("redo", "binlog")]
    known = [wait for wait in waits if wait is not None]
    by_files = min(sum(known) / case.users, 1.0) if known else None
    found = [value for value in (by_state, by_files) if value is not None]
    return max(found) if found else state_share(case, *COMMIT_STATES)


RULE = Rule("commit-flush", say("commits wait for the log to be flushed"), judge)
