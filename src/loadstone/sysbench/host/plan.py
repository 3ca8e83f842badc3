"""Makes the plan of a host test from the options, with sysbench's messages about wrong ones.

Options are checked in sysbench's order, so the same one of two wrong values is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from loadstone.model.host_test import (
    CpuTest,
    FileioTest,
    FileTestMode,
    HostStop,
    HostTest,
    HostTestPlan,
    IoMode,
    MemoryAccess,
    MemoryOperation,
    MemoryScope,
    MemoryTest,
    MutexTest,
    OpenFlag,
    SyncMode,
    ThreadsTest,
)
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.host.blocks import SEAL_BYTES
from loadstone.sysbench.host.options import ModeMissing
from loadstone.sysbench.planning import distribution_of
from loadstone.sysbench.settings import HIGHEST_RATE, Settings, seed_of
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values

ANY_SIZE = 2**62
"""More than can be read or written: `--memory-total-size=0` means no limit."""

_WORD_BYTES = 8


def test_of(name: str, given: Values, *, will_run: bool) -> HostTest:
    """The test that the options describe.

    Raises:
        Fatal: a value is out of its range.
    """
    if name == "fileio":
        return _fileio(given, will_run=will_run)
    return _OTHERS[name](given)


def plan_of(test: HostTest, settings: Settings) -> HostTestPlan:
    """The plan for a run of the test."""
    # The memory test ends by its total size alone, as in sysbench.
    events = None if test.kind == "memory" else settings.events or None
    return HostTestPlan(
        test=test,
        threads=settings.threads,
        stop=HostStop(
            events=events, duration_s=settings.time_s or None, warmup_s=settings.warmup_s
        ),
        rate=HIGHEST_RATE if settings.is_rate_out_of_reach else settings.rate or None,
        seed=seed_of(settings),
        per_thread=True,
    )


def _cpu(given: Values) -> CpuTest:
    limit = given.integer("cpu_max_prime")
    if limit <= 0:
        raise Fatal(f"Invalid value of cpu-max-prime: {limit}.")
    return CpuTest(max_prime=limit)


def _memory(given: Values) -> MemoryTest:
    text = given.text("memory_block_size")
    block_size, total_size = values.size(text), values.size(given.text("memory_total_size"))
    if block_size < _WORD_BYTES or block_size & (block_size - 1):
        raise Fatal(f"Invalid value for memory-block-size: {text}")
    if 0 < total_size < block_size:
        raise Fatal("Invalid value for memory-total-size: it is less than one block")
    return MemoryTest.model_validate(
        {
            "block_size": block_size,
            "total_size": total_size or ANY_SIZE,
            "scope": _one_of(given, "memory_scope", get_args(MemoryScope)),
            "hugetlb": given.switch("memory_hugetlb"),
            "operation": _one_of(given, "memory_oper", get_args(MemoryOperation)),
            "access": _one_of(given, "memory_access_mode", get_args(MemoryAccess)),
        }
    )


def _threads(given: Values) -> ThreadsTest:
    return ThreadsTest(
        yields=_at_least(given, "thread_yields", 1), locks=_at_least(given, "thread_locks", 1)
    )


def _mutex(given: Values) -> MutexTest:
    return MutexTest(
        num=_at_least(given, "mutex_num", 1),
        locks=_at_least(given, "mutex_locks", 1),
        loops=_at_least(given, "mutex_loops", 0),
    )


_OTHERS: Mapping[str, Callable[[Values], HostTest]] = {
    "cpu": _cpu,
    "memory": _memory,
    "threads": _threads,
    "mutex": _mutex,
}


def _fileio(given: Values, *, will_run: bool) -> FileioTest:
    num = _at_least(given, "file_num", 1)
    total_size = values.size(given.text("file_total_size"))
    if not total_size:
        raise Fatal("Invalid value for file-total-size: 0")
    mode = _mode(given.text("file_test_mode")) if will_run else None
    io_mode = _known(given.text("file_io_mode") or "sync", get_args(IoMode), "unknown I/O mode: {}")
    merged_requests = _at_least(given, "file_merged_requests", 0, end=".")
    block_size = values.size(given.text("file_block_size"))
    if not block_size:
        raise Fatal("Invalid value for file-block-size: 0.")
    if given.switch("validate") and block_size <= SEAL_BYTES:
        raise Fatal("Invalid value for file-block-size: a block with a checksum needs 13 bytes")
    if will_run and total_size // num < block_size:
        raise Fatal("Invalid value for file-total-size: each file needs at least one block")
    # The order of the checks below matters.
    return FileioTest.model_validate(
        {
            "num": num,
            "block_size": block_size,
            "total_size": total_size,
            "mode": mode,
            "io_mode": io_mode,
            "merged_requests": merged_requests,
            "extra_flags": _flags(given.words("file_extra_flags")),
            "fsync_freq": _at_least(given, "file_fsync_freq", 0, end="."),
            "fsync_all": given.switch("file_fsync_all"),
            "fsync_end": given.switch("file_fsync_end"),
            "fsync_mode": _known(
                given.text("file_fsync_mode"), get_args(SyncMode), "Invalid fsync mode: {}."
            ),
            "rw_ratio": _rw_ratio(given.number("file_rw_ratio")),
            "async_backlog": _backlog(given, is_used=will_run and io_mode == "async"),
            "distribution": distribution_of(given),
            "checksums": given.switch("validate"),
        }
    )


def _mode(word: str) -> str:
    if not word:
        raise ModeMissing("Missing required argument: --file-test-mode")
    return _known(word, get_args(FileTestMode), "Invalid IO operations mode: {}.")


def _flags(words: list[str]) -> tuple[str, ...]:
    if not set(words) <= set(get_args(OpenFlag)):
        raise Fatal(f"Invalid value for file-extra-flags: {words[0]}")
    return tuple(words)


def _rw_ratio(ratio: float) -> float:
    if ratio < 0:
        raise Fatal(f"Invalid value for --file-rw-ratio: {ratio:.6f}.")
    return ratio


def _backlog(given: Values, *, is_used: bool) -> int:
    number = given.integer("file_async_backlog")
    if is_used and number <= 0:
        raise Fatal(f"Invalid value of file-async-backlog: {number}")
    return max(number, 1)


def _at_least(given: Values, key: str, least: int, end: str = "") -> int:
    number = given.integer(key)
    if number < least:
        raise Fatal(f"Invalid value for {key.replace('_', '-')}: {number}{end}")
    return number


def _one_of(given: Values, key: str, words: tuple[str, ...]) -> str:
    return _known(given.text(key), words, f"Invalid value for {key.replace('_', '-')}: {{}}")


def _known(word: str, words: tuple[str, ...], complaint: str) -> str:
    if word not in words:
        raise Fatal(complaint.format(word))
    return word
