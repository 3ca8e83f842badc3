"""Commits wait until the log is on the disk."""

from __future__ import annotations

from loadstone.analyse.derived_figures import COMMIT_STATES
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, is_full, state_share
from loadstone.diagnosis.holds import SYNC_WAITS, rest_of
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql import semi_sync
from loadstone.diagnosis.trials import RELAXED, dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.5
"""[P] Share of the users' time (DIAGNOSIS 5)."""

SLOW_CYCLE_S = 0.004
"""[P] Time from one log sync to the next while commits wait for them: with the binary log's in
between, two syncs of 2 ms. Solid-state disks take 0.05 to 1 ms (measured here: 0.4)."""

SLOW_SYNC_S = 0.0025
"""[P] Time of a disk flush, or of the log's writes and syncs per sync, from which it is slow.
Solid-state disks: as above."""

RISES = 1.1
"""[P] Growth of the rate with more users, from which larger groups still make up for the wait."""

MORE_USERS = 1.4
"""[P] Factor by which the users must have grown before this can be judged."""

ROOM = 0.8
"""[P] Use of the cores below which they are not why the rate stays."""


def judge(case: Case) -> Finding | None:
    """Most users are in their commit, cores are free, and no replica is waited for.

    The process list decides where it shows something; otherwise the time of the syncs that
    performance_schema counted.
    """
    commits, syncs = case.needed(case.commits()), case.needed(case.rate("log_syncs"))
    if not commits or not syncs or not _wait_for_syncs(case):
        return None
    share = case.needed(commit_share(case))
    each_ms = 1000 * share * case.users / commits
    # Rows stay locked until the commit is over, so that few may be in commit at a time: if that
    # takes long, who waits for a row waits for it.
    slow = (_sync_s(case, syncs) or 0.0) >= SLOW_SYNC_S
    seen_s = (case.time_at(*SYNC_WAITS) or 0.0) * case.users / commits
    takes_long = slow or seen_s >= SLOW_CYCLE_S
    held = share + (due_to(case, *SYNC_WAITS) if takes_long else 0.0)
    if held < SHARE or is_full(case) or semi_sync.is_waited_for(case):
        return None
    # A quick disk's syncs are what durable commits cost: more users share each of them.
    is_limit = share < SHARE or slow or 1 / syncs >= SLOW_CYCLE_S or _stays(case)
    return Finding(
        cause="commit-flush",
        group="wait" if is_limit else "note",
        sentence=say(
            "Users spend {share} of their time waiting for the log to be flushed: {each} ms per "
            "commit, with {syncs} log syncs a second for {commits} commits.",
            share=Percent(share),
            each=Number(each_ms),
            syncs=Number(syncs),
            commits=Number(commits),
        ),
        evidence=(
            case.seen(say("users in commit"), share, say("of their time"), SHARE),
            case.seen(plain("log_syncs"), syncs, say_in("unit", "/s")),
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
            {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
            say("waiting for log syncs"),
            costs=RELAXED,
        ),
        acts_on="flushes",
    )


def _wait_for_syncs(case: Case) -> bool:
    """Whether commits must: otherwise both logs are synced about once a second, independently."""
    redo, binary = case.number("innodb_flush_log_at_trx_commit"), case.number("sync_binlog")
    has_binary_log = (case.variable("log_bin") or "ON").upper() not in ("OFF", "0")
    return redo not in (0, 2) or (has_binary_log and binary != 0)


def _sync_s(case: Case, syncs: float) -> float | None:
    """Time of a flush, by the disk or by performance_schema; `None`: neither reports it."""
    disk = case.step.host.disk if case.step.host else None
    flushes, flushing = (case.host_rate(f"disk.{disk}.{what}") for what in ("flushes", "flush_s"))
    log_s = case.rate("redo_file_wait_s")
    by_disk = flushing / flushes if flushing is not None and flushes else None
    known = [by_disk, log_s / syncs if log_s is not None else None]
    return max((each for each in known if each is not None), default=None)


def _stays(case: Case) -> bool:
    """Whether more users bring no more events, while cores are free."""
    fewer = [step.tps or 0.0 for step in case.ladder if case.users >= MORE_USERS * step.concurrency]
    busy = busy_share(case)
    return bool(fewer) and case.tps < RISES * max(fewer) and busy is not None and busy < ROOM


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
