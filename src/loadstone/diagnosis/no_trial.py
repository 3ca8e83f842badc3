"""Why a finding has no trial, and what to do by hand instead.

A trial changes an option of the load, or variables of a server that can be restored. Changes to the
disk, the host, a table or another user's session cannot be trials.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.unexplained import NOT_OBSERVED, UNEXPLAINED
from loadstone.model.finding import Finding
from loadstone.model.message import Message, say

NOTHING_TO_CHANGE = say(
    "not by --prove: what it would change is so already, or this server has no such variable"
)

_ENDED = say(
    "not by --prove, which ends nobody else's work: run again once it has ended, or on a host of "
    "its own"
)
_WITHOUT = say("not by --prove, which ends nobody else's work: run again without them")
_MEMORY = say("not by --prove: the host's free memory is too small for that, or not known")

_VACUUMED = say(
    "not by --prove, which puts back what it changes, and what VACUUM has removed does not come "
    "back: VACUUM by hand, run again, and compare both runs with loadstone compare"
)

_REWRITTEN = say(
    "not by --prove, which rewrites no table: do so by hand, run again, and compare both runs with "
    "loadstone compare"
)

_INDEXES = say(
    "not by --prove, which changes no table and no index: do so by hand, run again, and compare "
    "both runs with loadstone compare"
)

WHY: Mapping[str, Message] = {
    # The causes are outside the server's variables.
    "errors": say("not by --prove: fix what the errors say, and run again"),
    "connections-lost": say("not by --prove: read the server's error log, and run again"),
    "semi-sync-fallback": say("not by --prove: bring the replica back, and run again"),
    "swapping": say(
        "not by --prove, which changes nothing on a host: give it memory or take some from the "
        "pool, and run again"
    ),
    "client-bound": say(
        "not by --prove: no core is left for more event loops; drive the load from another host"
    ),
    "noisy-neighbour": _ENDED,
    "disk-neighbour": _ENDED,
    "other-clients": _WITHOUT,
    "tables-flushed": _WITHOUT,
    "checkpoints-asked-for": _WITHOUT,
    "checkpoint-spikes": say(
        "not by --prove, whose windows are shorter than the time from one checkpoint to the next: "
        "set it by hand, run again for several of them, and compare both runs with loadstone "
        "compare"
    ),
    "maintenance": _WITHOUT,
    "steal": say(
        "not by --prove, which changes nothing on a host: run again on one without overcommitted "
        "cores"
    ),
    "server-paused": _WITHOUT,
    "cpu-throttled": say(
        "not by --prove, since the limit was set on purpose: raise it by hand, and run again"
    ),
    "cpu-pinned": say(
        "not by --prove, since the limit was set on purpose: give the process more cores by hand "
        "(taskset), and run again"
    ),
    "one-hot-core": say(
        "not by --prove, which changes nothing on a host: spread interrupts over its cores by "
        "hand, and run again"
    ),
    "disk-cap": say(
        "not by --prove, which changes nothing on a host: run again on a faster volume; fio "
        "measures what a volume can do"
    ),
    "packet-loss": say(
        "not by --prove, which changes nothing on a host: fix the network, and run again"
    ),
    "table-locks": say(
        "not by --prove, which ends nobody else's work and changes no table: run again without the "
        "session that holds the lock, or with another engine"
    ),
    "long-transaction": say(
        "not by --prove, which ends nobody else's work: run again once it has ended"
    ),
    "dead-rows": _VACUUMED,
    "autovacuum-behind": _VACUUMED,
    "connection-storm": say(
        "not by --prove: clients decide when they open connections; let them keep theirs, or put a "
        "pooler before the server, and run again"
    ),
    "compressed-tables": _REWRITTEN,
    "bloated-tables": _REWRITTEN,
    "hot-updates-lost": _INDEXES,
    "unused-indexes": _INDEXES,
    "sequences": say(
        "not by --prove, which changes no sequence: do so by hand, run again, and compare both "
        "runs with loadstone compare"
    ),
    "purge-lag": say("not by --prove: purging the backlog takes longer than a trial may last"),
    "missing-index": say(
        "not by --prove, which changes no table: create the index by hand, run again, and compare "
        "both runs with loadstone compare"
    ),
    "stored-programs": say(
        "not by --prove, which changes no table: remove them by hand, run again, and compare both "
        "runs with loadstone compare"
    ),
    # These have a trial, except in cases where it is useless.
    "cpu-bound": say(
        "not by --prove: statements are prepared already, and the connection is the shortest "
        "there is; what is left is cheaper statements or more cores"
    ),
    "line-full": say(
        "not by --prove: what is sent is compressed already; run again over a faster line"
    ),
    "row-locks": say(
        "not by --prove, which changes no table: spread the changes by hand, run again, and "
        "compare both runs with loadstone compare"
    ),
    "deadlocks": say(
        "not by --prove: no gaps are locked, and the load itself decides the order of locking"
    ),
    "working-set": say(
        "not by --prove: the host's free memory is too small for a larger pool, or not known"
    ),
    "pooler-small": say(
        "not by --prove, which knows no size of its pool that would bring more: PgBouncer tells it "
        "to the users in its stats_users; give it more connections by hand, run again, and compare "
        "both runs with loadstone compare"
    ),
    "pooler-core-full": say(
        "not by --prove, which changes no pooler: start more processes of it by hand, run again, "
        "and compare both runs with loadstone compare"
    ),
    "planning": say(
        "not by --prove, which tries prepared statements in the place of text alone, or "
        "plan_cache_mode: prepare statements by hand (--prepared), run again, and compare both "
        "runs with loadstone compare"
    ),
    "shared-buffers-small": _MEMORY,
    "temporary-files": _MEMORY,
    **dict.fromkeys(
        (
            *("wal-insertion", "hot-pages", "page-table", "lock-manager", "snapshots"),
            *("transaction-status", "table-growth"),
        ),
        say(
            "not by --prove, which changes neither the load nor its tables: do so by hand, run "
            "again, and compare both runs with loadstone compare"
        ),
    ),
    "recovery-conflicts": say(
        "not by --prove, which changes nothing of a standby: set it by hand, run again, and "
        "compare both runs with loadstone compare"
    ),
    "no-thread-pool": say(
        "not by --prove: this server has no thread pool (MariaDB and Percona Server have one built "
        "in, MySQL has a plugin from 9.7 on)"
    ),
}
"""By cause. Other causes have a trial, or `NOTHING_TO_CHANGE`."""

NO_CLAIM = frozenset({"group-commit", "rate-met", UNEXPLAINED, NOT_OBSERVED})
"""Causes that blame nothing: they explain, or say that nothing was found."""


def with_reason(finding: Finding) -> Finding:
    """The finding, with the reason why it has no trial if it has none."""
    if finding.trial is not None or finding.cause in NO_CLAIM:
        return finding
    return finding.model_copy(update={"untried": WHY.get(finding.cause, NOTHING_TO_CHANGE)})
