"""Not a fault: the rate rises while syncs of the write-ahead log and disk operations fall."""

from __future__ import annotations

from loadstone.diagnosis.commit_groups import Log, grown
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import wal
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say


def judge(case: Case) -> Finding | None:
    """Transactions per sync grow from the lowest level to the one with the highest rate.

    Commits that come while another session syncs are on disk with the next sync.
    """
    syncs = case.needed(wal.syncs(case))
    log = Log(say("syncs of the WAL"), say("WAL"), plain(syncs.name))
    return grown(wal.as_synced(case), log)


RULE = Rule(
    "group-commit", say("group commit: fewer, larger flushes"), judge, reads="files", last_only=True
)
