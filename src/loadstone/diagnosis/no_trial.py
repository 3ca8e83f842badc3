"""Why a finding has no trial, and what to do by hand in its place.

A trial changes an option of the load, or variables of a server that can be put back as they were.
What takes another disk, another host, another table or somebody else's session is no trial.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.finding import Finding

NOTHING_TO_CHANGE = (
    "not by --prove: what it would change is so already, or this server has no such variable"
)

_HOST = "not by --prove, which changes nothing of a host"
_OTHERS = "not by --prove, which ends nobody else's work"
_LIMIT = "not by --prove: who set the limit had a reason"
WHY: Mapping[str, str] = {
    # What is wrong lies outside the server's variables.
    "errors": "not by --prove: mend what the errors say, and run again",
    "connections-lost": "not by --prove: read the server's error log, and run again",
    "semi-sync-fallback": "not by --prove: bring the replica back, and run again",
    "swapping": f"{_HOST}: give it memory or take some from the pool, and run again",
    "noisy-neighbour": f"{_OTHERS}: run again once it has ended, or on a host of its own",
    "disk-neighbour": f"{_OTHERS}: run again once it has ended, or on a host of its own",
    "other-clients": f"{_OTHERS}: run again without them",
    "tables-flushed": f"{_OTHERS}: run again without them",
    "steal": f"{_HOST}: run again on one without overcommitted cores",
    "server-paused": f"{_OTHERS}: run again without them",
    "cpu-throttled": f"{_LIMIT}: raise it by hand, and run again",
    "cpu-pinned": f"{_LIMIT}: give the process more cores by hand (taskset), and run again",
    "one-hot-core": f"{_HOST}: spread interrupts over its cores by hand, and run again",
    "disk-cap": f"{_HOST}: run again on a faster volume; fio tells what one gives",
    "packet-loss": f"{_HOST}: mend the way, and run again",
    "table-locks": f"{_OTHERS}: run again without the session that holds the lock",
    "long-transaction": f"{_OTHERS}: run again once it has ended",
    "purge-lag": "not by --prove: what has piled up takes longer to go than a trial may last",
    "missing-index": (
        "not by --prove, which changes no table: make the index by hand, run again, and set both "
        "runs side by side with loadstone compare"
    ),
    "stored-programs": (
        "not by --prove, which changes no table: take them away by hand, run again, and set both "
        "runs side by side with loadstone compare"
    ),
    # Those that have a trial, where it is of no use.
    "cpu-bound": (
        "not by --prove: statements are prepared already, and the way is the shortest there is; "
        "cheaper statements or more cores are left"
    ),
    "line-full": "not by --prove: what is sent is compressed already; run again over a faster line",
    "deadlocks": "not by --prove: no gaps are locked, and the order of locking is the load's own",
    "working-set": (
        "not by --prove: the host's free memory is too small for a larger pool, or not known"
    ),
    "no-thread-pool": (
        "not by --prove: this server has no thread pool (MariaDB and Percona Server have one built "
        "in, MySQL has a plugin from 9.7 on)"
    ),
}
"""By cause. A cause that is not here has a trial, or `NOTHING_TO_CHANGE`."""

NO_CLAIM = frozenset({"group-commit", "rate-met", "unexplained", NOT_OBSERVED})
"""What accuses nothing: it explains, or says that nothing was found."""


def with_reason(finding: Finding) -> Finding:
    """The finding, with why there is no trial of it where there is none."""
    if finding.trial is not None or finding.cause in NO_CLAIM:
        return finding
    return finding.model_copy(update={"untried": WHY.get(finding.cause, NOTHING_TO_CHANGE)})
