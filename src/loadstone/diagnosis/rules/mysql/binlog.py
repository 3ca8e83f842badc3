"""The binary log's files or its cache are too small."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import PAGE_WAITS, SYNC_WAITS, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in

ROTATIONS = 0.1
"""[P] Rotations a second: one in ten seconds (DIAGNOSIS 8)."""

TO_DISK = 0.05
"""[S] MySQLTuner: share of the transactions."""

SYNCS = 4
"""[P] syncs that a rotation waits for: the old file, the new one, its index, their folder."""

SYNC_S = 0.002
"""[P] Time of each where it is not known: that of a journal on a disk of the cloud. MySQL 9.7 took
5 ms for a rotation on a disk that wrote within 0.1 ms, as new files have to be synced as well;
MariaDB 10.11 took 0.2 ms there."""


def judge(case: Case) -> Finding | None:
    """Files fill so fast that commits often wait for the next one to be opened."""
    most = case.needed(case.number("max_binlog_size"))
    written = case.needed(case.rate("binlog_written_bytes"))
    rotations = written / most if most else 0.0
    if rotations < ROTATIONS:
        return None
    sync_s = _sync_s(case)
    return Finding(
        cause="binlog-rotation",
        group="setting",
        sentence=say(
            "The binary log starts a new file {rotations} times a second: max_binlog_size is "
            "{most} and {written}/s are written. All commits wait meanwhile.",
            rotations=Number(rotations),
            most=Bytes(most),
            written=Bytes(written),
        ),
        evidence=(
            case.seen(say("binlog files"), rotations, say_in("unit", "/s"), ROTATIONS),
            case.seen(plain("binlog_written_bytes"), written, say_in("unit", "B/s")),
        ),
        share=min(rotations * SYNCS * sync_s, 1.0),
        confidence=0.85,
        remedy=say("Raise max_binlog_size to 1G."),
        trial=dynamic(case, {"max_binlog_size": "1073741824"}, say("rotating the binary log")),
        acts_on="flushes",
    )


def _sync_s(case: Case) -> float:
    """The time of one of a rotation's syncs."""
    await_s = (case.host("disk_write_await_ms") or 0.0) / 1000
    is_mariadb = "mariadb" in (case.variable("version") or "").lower()
    return await_s if is_mariadb and await_s else max(await_s, SYNC_S)


def judge_cache(case: Case) -> Finding | None:
    """Transactions are larger than the cache and go through a temporary file."""
    used, disk = (
        case.needed(case.rate("binlog_cache_use")),
        case.needed(case.rate("binlog_cache_disk_use")),
    )
    if not used or disk < TO_DISK * used:
        return None
    cache = case.number("binlog_cache_size")
    part = min(disk / used, 1.0)
    return Finding(
        cause="binlog-cache-small",
        group="setting",
        sentence=_not_cached(part, cache),
        evidence=(
            case.seen(plain("binlog_cache_disk_use"), disk / used, say("of transactions"), TO_DISK),
        ),
        share=0.2 * part,
        confidence=0.8,
        remedy=say("Raise binlog_cache_size above the size of a transaction."),
        trial=dynamic(
            case,
            {"binlog_cache_size": str(16 * int(cache or 32768))},
            say("writing transactions to a temporary file"),
        ),
    )


def _not_cached(part: float, cache: float | None) -> Message:
    if cache:
        return say(
            "{part} of the transactions did not fit the binary log's cache of {size} and went "
            "through a temporary file.",
            part=Percent(part),
            size=Bytes(cache),
        )
    return say(
        "{part} of the transactions did not fit the binary log's cache and went through a "
        "temporary file.",
        part=Percent(part),
    )


RULE = Rule(
    "binlog-rotation", say("the binary log is rotated often"), judge, holds=time_at(*SYNC_WAITS)
)
CACHE_RULE = Rule(
    "binlog-cache-small",
    say("the binary log's cache is too small"),
    judge_cache,
    holds=time_at(*SYNC_WAITS, *PAGE_WAITS),
)
