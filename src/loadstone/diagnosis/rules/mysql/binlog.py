"""The binary log's files or its cache are too small."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, size

ROTATIONS = 0.1
"""[P] DIAGNOSIS 8: one in ten seconds."""

TO_DISK = 0.05
"""[S] MySQLTuner: of the transactions."""

SYNCS = 4
"""[P] syncs that a rotation waits for: the old file, the new one, its index, their folder."""

SYNC_S = 0.002
"""[P] of a sync, where the disk does not tell."""


def judge(case: Case) -> Finding | None:
    """Files fill so fast that commits often wait for the next one."""
    most = case.needed(case.number("max_binlog_size"))
    written = case.needed(case.rate("binlog_written_bytes"))
    rotations = written / most if most else 0.0
    if rotations < ROTATIONS:
        return None
    sync_s = max((case.host("disk_write_await_ms") or 0.0) / 1000, SYNC_S)
    return Finding(
        cause="binlog-rotation",
        group="setting",
        sentence=(
            f"The binary log begins a new file {num(rotations)} times a second: "
            f"max_binlog_size is {size(most)} and {size(written)}/s are written; all commits wait "
            "meanwhile."
        ),
        evidence=(
            case.seen("binlog files", rotations, "/s", ROTATIONS),
            case.seen("binlog_written_bytes", written, "B/s"),
        ),
        share=min(rotations * SYNCS * sync_s, 1.0),
        confidence=0.85,
        remedy="Raise max_binlog_size to 1G.",
        trial=dynamic(
            case, {"max_binlog_size": "1073741824"}, "beginning new files of the binary log"
        ),
        acts_on="flushes",
    )


def judge_cache(case: Case) -> Finding | None:
    """Transactions are larger than the cache, and go through a temporary file."""
    used, disk = (
        case.needed(case.rate("binlog_cache_use")),
        case.needed(case.rate("binlog_cache_disk_use")),
    )
    if not used or disk < TO_DISK * used:
        return None
    cache = case.number("binlog_cache_size")
    return Finding(
        cause="binlog-cache-small",
        group="setting",
        sentence=(
            f"{pct(min(disk / used, 1.0))} of the transactions did not fit the binary log's cache"
            + (f" of {size(cache)}" if cache else "")
            + " and went through a temporary file."
        ),
        evidence=(case.seen("binlog_cache_disk_use", disk / used, "of transactions", TO_DISK),),
        share=0.2 * min(disk / used, 1.0),
        confidence=0.8,
        remedy="Raise binlog_cache_size above the size of a transaction.",
        trial=dynamic(
            case,
            {"binlog_cache_size": str(16 * int(cache or 32768))},
            "writing transactions to a temporary file",
        ),
    )


RULE = Rule("binlog-rotation", say("the binary log is rotated often"), judge)
CACHE_RULE = Rule("binlog-cache-small", say("the binary log's cache is too small"), judge_cache)
