"""Commits wait until the write-ahead log is on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SYNC_WAITS, rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import commit_delay, wal
from loadstone.diagnosis.slow_syncs import SHARE, SyncWait, weight_of
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

USUAL = "fdatasync"
"""What PostgreSQL uses on Linux.

Source: https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-SYNC-METHOD
"""

_METHOD = "wal_sync_method"

LOSES = say(
    "a crash of the server loses the commits of up to three times wal_writer_delay, and leaves "
    "nothing inconsistent"
)
"""What synchronous_commit=off costs.

Source: https://www.postgresql.org/docs/current/wal-async-commit.html
"""


def judge(case: Case) -> Finding | None:
    """Most users wait for a sync or for who makes it, and cores are free."""
    commits = case.needed(case.commits())
    if not commits or not wal.is_waited_for(case):
        return None
    share = case.needed(wal.wait_share(case)) - commit_delay.in_group(case)
    syncs = wal.syncs(case)
    wait = SyncWait(share, commits, (syncs.per_s or None) if syncs else None, wal.sync_s(case))
    weight = weight_of(case, wait)
    if weight is None:
        return None
    return Finding(
        cause="commit-flush",
        group=weight,
        sentence=_sentence(case, wait),
        evidence=tuple(_evidence(case, wait, syncs)),
        share=share,
        confidence=0.85,
        remedy=sentences(*_remedies(case)),
        trial=_trial(case),
        acts_on="flushes",
    )


def _remedies(case: Case) -> Iterator[Message]:
    if _is_unusual(case):
        yield say(
            "Set wal_sync_method={usual}: {method} is not what PostgreSQL uses here by default.",
            usual=USUAL,
            method=case.variable(_METHOD),
        )
    yield say(
        "Put pg_wal on a device that syncs faster (flash with power-loss protection), or use "
        "more users, so that each sync carries more commits. synchronous_commit=off only where "
        "the latest commits may be lost."
    )


def _is_unusual(case: Case) -> bool:
    return case.variable(_METHOD) not in (None, USUAL)


def _trial(case: Case) -> Trial | None:
    """The usual way to sync, else none; how much quicker the usual one is, only a trial says."""
    if _is_unusual(case):
        trial = dynamic(case, {_METHOD: USUAL}, say("another wal_sync_method"))
        return trial and trial.model_copy(update={"refutes": False})
    return dynamic(
        case, {"synchronous_commit": "off"}, say("waiting for syncs of the WAL"), costs=LOSES
    )


def _sentence(case: Case, wait: SyncWait) -> Message:
    values = {
        "share": Percent(wait.share),
        "each": Number(1000 * wait.share * case.users / wait.commits),
        "commits": Number(wait.commits),
    }
    if wait.syncs is None:
        return say(
            "Users spend {share} of their time waiting for the WAL to be flushed: {each} ms per "
            "commit, with {commits} commits a second.",
            **values,
        )
    return say(
        "Users spend {share} of their time waiting for the WAL to be flushed: {each} ms per "
        "commit, with {syncs} syncs of the WAL a second for {commits} commits.",
        **values,
        syncs=Number(wait.syncs),
    )


def _evidence(case: Case, wait: SyncWait, syncs: wal.Counted | None) -> Iterator[Evidence]:
    yield case.seen(say("users that wait for the WAL"), wait.share, say("of their time"), SHARE)
    if syncs:
        yield case.seen(plain(syncs.name), syncs.per_s, say_in("unit", "/s"))
    if wait.sync_s is not None:
        yield case.seen(say("time of a sync"), 1000 * wait.sync_s, say_in("unit", "ms"))
    yield case.seen(plain("transactions_writing"), wait.commits, say_in("unit", "/s"))


RULE = Rule(
    "commit-flush",
    say("commits wait for the log to be flushed"),
    judge,
    reads="files",
    holds=rest_of(*SYNC_WAITS, is_timed=True),
)
