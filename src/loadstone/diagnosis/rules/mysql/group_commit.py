"""Not a fault: the rate rises while syncs of the redo log and disk operations fall."""

from __future__ import annotations

from loadstone.diagnosis.commit_groups import Log, grown
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say

_LOG = Log(say("log syncs"), say("log"), plain("log_syncs"))


def judge(case: Case) -> Finding | None:
    """Transactions per sync grow from the lowest level to the one with the highest rate."""
    return grown(case, _LOG)


RULE = Rule(
    "group-commit", say("group commit: fewer, larger flushes"), judge, reads="files", last_only=True
)
