"""Whether the syncs that commits wait for hold a load back, or are only what durability costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, is_full
from loadstone.diagnosis.holds import SYNC_WAITS
from loadstone.diagnosis.locked_rows import due_to

SHARE = 0.5
"""[P] Share of the users' time (DIAGNOSIS 5)."""

FELT = 0.1
"""[P] The same where syncs are known to be slow: as of every other wait."""

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


@dataclass(frozen=True)
class SyncWait:
    """What is known of the wait for syncs in one step."""

    share: float
    """Share of the users' time in commit, waiting for a sync."""
    commits: float
    """Commits a second that changed something."""
    syncs: float | None
    """Syncs of the log a second; `None`: not counted."""
    sync_s: float | None
    """Time of a sync; `None`: not known."""

    @property
    def is_slow(self) -> bool:
        """Whether a sync is known to be slow."""
        return (self.sync_s or 0.0) >= SLOW_SYNC_S

    @property
    def threshold(self) -> float:
        """The share of the users' time from which it is a cause."""
        return FELT if self.is_slow else SHARE


def weight_of(case: Case, wait: SyncWait) -> Literal["wait", "note"] | None:
    """What the wait is: a cause, or a note where quick syncs are shared; `None`: it is short.

    Rows stay locked until the commit is over, so that few may be in commit at a time: if that takes
    long, who waits for a row waits for it.
    """
    seen_s = (case.time_at(*SYNC_WAITS) or 0.0) * case.users / wait.commits
    takes_long = wait.is_slow or seen_s >= SLOW_CYCLE_S
    held = wait.share + (due_to(case, *SYNC_WAITS) if takes_long else 0.0)
    if held < wait.threshold or is_full(case):
        return None
    # A quick disk's syncs are what durable commits cost: more users share each of them.
    rare = wait.syncs is not None and 1 / wait.syncs >= SLOW_CYCLE_S
    is_limit = wait.share < SHARE or wait.is_slow or rare or _stays(case)
    return "wait" if is_limit else "note"


def disk_flush_s(case: Case) -> float | None:
    """Mean time of a flush of the disk with the data; `None`: the host does not count them."""
    disk = case.step.host.disk if case.step.host else None
    flushes, flushing = (case.host_rate(f"disk.{disk}.{what}") for what in ("flushes", "flush_s"))
    return flushing / flushes if flushing is not None and flushes else None


def _stays(case: Case) -> bool:
    """Whether more users bring no more events, while cores are free."""
    fewer = [step.tps or 0.0 for step in case.ladder if case.users >= MORE_USERS * step.concurrency]
    busy = busy_share(case)
    return bool(fewer) and case.tps < RISES * max(fewer) and busy is not None and busy < ROOM
