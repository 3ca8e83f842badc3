"""Users wait for their turn to copy their changes into the buffers of the write-ahead log."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import wal_buffers
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences

_LOCK = Lock(
    "wal-insertion",
    named("WALInsert", "WALBufMapping"),
    say("Eight sessions at most copy changes into the buffers of the WAL at the same time."),
    say(
        "Write less WAL: fewer indexes on tables that are changed, larger transactions with COPY "
        "or inserts of many rows, checkpoints further apart (max_wal_size), or unlogged tables for "
        "what may be lost."
    ),
)


def judge(case: Case) -> Finding | None:
    """Waits of who has a change to log."""
    logged = case.rate("log_written_bytes")
    evidence = (
        ()
        if logged is None
        else (case.seen(plain("log_written_bytes"), logged, say_in("unit", "B/s")),)
    )
    return _with_small_buffers(case, _LOCK.judge(case, *evidence))


def _with_small_buffers(case: Case, found: Finding | None) -> Finding | None:
    """Who inserts waits for who writes full buffers: then these are the remedy."""
    small = wal_buffers.judge(case) if case.rate(wal_buffers.COUNTER) is not None else None
    if found is None or small is None:
        return found
    return found.model_copy(
        update={
            "sentence": sentences(found.sentence, small.sentence),
            "evidence": (*found.evidence, *small.evidence),
            "remedy": small.remedy,
            "trial": small.trial,
        }
    )


RULE = Rule(
    _LOCK.cause,
    say("changes wait for the buffers of the log"),
    judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
