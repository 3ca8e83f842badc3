"""The lines that sysbench prints about tests of the host: pure functions of plan and figures."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.model.host_test import (
    CpuTest,
    FileioTest,
    HostTest,
    MemoryTest,
    MutexTest,
    ThreadsTest,
)
from loadstone.sysbench import reporting
from loadstone.sysbench.host.figures import HostFigures
from loadstone.sysbench.host.plan import ANY_SIZE
from loadstone.sysbench.settings import Settings

_KIB, _MIB = 2**10, 2**20
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_FLAGS = {"sync": "sync ", "dsync": "dsync ", "direct": "directio"}
_IO_MODES = {"sync": "synchronous", "async": "asynchronous", "mmap": "fast mmaped"}
_MODES = {
    "seqwr": "sequential write (creation)",
    "seqrewr": "sequential rewrite",
    "seqrd": "sequential read",
    "rndrd": "random read",
    "rndwr": "random write",
    "rndrw": "random r/w",
}


def size(count: int) -> str:
    """A number of bytes in five digits and the largest unit that is not too large."""
    value, unit = float(count), 0
    while value >= _KIB and unit < len(_UNITS) - 1:
        value, unit = value / _KIB, unit + 1
    return f"{value:.5g}{_UNITS[unit]}"


def about(test: HostTest) -> str | None:
    """The line that only a higher verbosity prints before a test."""
    match test:
        case CpuTest():
            return "Doing CPU performance benchmark\n"
        case ThreadsTest():
            return (
                "Doing thread subsystem performance test\n"
                f"Thread yields per test: {test.yields} Locks used: {test.locks}"
            )
        case MutexTest():
            return "Doing mutex performance test"
        case _:
            return None


def header(test: HostTest, settings: Settings) -> str | None:
    """The lines about a test's options before its threads start."""
    match test:
        case CpuTest():
            return f"Prime numbers limit: {test.max_prime}\n"
        case MemoryTest():
            total_size = 0 if test.total_size == ANY_SIZE else test.total_size
            return (
                "Running memory speed test with the following options:\n"
                f"  block size: {test.block_size // _KIB}KiB\n"
                f"  total size: {total_size // _MIB}MiB\n"
                f"  operation: {test.operation}\n"
                f"  scope: {test.scope}\n"
            )
        case FileioTest():
            return "\n".join(_of_files(test, settings))
        case _:
            return None


def _of_files(test: FileioTest, settings: Settings) -> Iterator[str]:
    length = test.total_size // test.num
    yield _extra_flags(test)
    yield f"{test.num} files, {size(length)} each"
    yield f"{size(length * test.num)} total file size"
    yield f"Block size {size(test.block_size)}"
    if test.merged_requests:
        merged = size(test.block_size * test.merged_requests)
        yield f"Merging requests up to {merged} for sequential IO."
    if test.mode in ("rndrd", "rndwr", "rndrw"):
        yield f"Number of IO requests: {settings.events}"
        yield f"Read/Write ratio for combined random IO test: {test.rw_ratio:.2f}"
    if test.fsync_all:
        yield "Calling fsync() after each write operation."
    else:
        if test.fsync_freq:
            yield f"Periodic FSYNC enabled, calling fsync() each {test.fsync_freq} requests."
        if test.fsync_end:
            yield "Calling fsync() at the end of test, Enabled."
    yield f"Using {_IO_MODES[test.io_mode]} I/O mode"
    if test.checksums:
        yield "Using checksums validation."
    if test.mode:
        yield f"Doing {_MODES[test.mode]} test"


def _extra_flags(test: FileioTest) -> str:
    flags = "".join(text for flag, text in _FLAGS.items() if flag in test.extra_flags)
    return f"Extra file open flags: {flags or '(none)'}"


def making(test: FileioTest) -> str:
    """The first line of `prepare`."""
    length = test.total_size // test.num
    return (
        f"{test.num} files, {length // _KIB}Kb each, {length * test.num // _MIB}Mb total\n"
        f"Creating files for the test...\n{_extra_flags(test)}"
    )


def making_file(name: str, length: int, wanted: int) -> str:
    """The line of `prepare` about a file that has this length."""
    if length >= wanted:
        return f"Reusing existing file {name}"
    return f"Extending existing file {name}" if length else f"Creating file {name}"


def made(written: int, seconds: float) -> str:
    """The last line of `prepare`."""
    if not written:
        return "No bytes written."
    rate = written / _MIB / seconds if seconds else 0.0
    return f"{written} bytes written in {seconds:.2f} seconds ({rate:.2f} MiB/sec)."


def interval_lines(figures: HostFigures, test: HostTest, settings: Settings) -> Iterator[str]:
    """The lines of each `--report-interval`: one, or two with a `--rate`."""
    at = f"[ {figures.second}s ]"
    percentile = settings.percentile
    latency_ms = figures.percentile_ms(percentile) if percentile else 0.0
    match test:
        case MemoryTest():
            yield f"{at} {_mib(figures, figures.events * test.block_size):.2f} MiB/sec"
        case FileioTest():
            yield (
                f"{at} reads: {_mib(figures, figures.bytes_read):.2f} MiB/s "
                f"writes: {_mib(figures, figures.bytes_written):.2f} MiB/s "
                f"fsyncs: {figures.rate(figures.syncs):.2f}/s "
                f"latency (ms,{percentile}%): {latency_ms:.3f}"
            )
        case _:
            yield (
                f"{at} thds: {figures.threads} eps: {figures.rate(figures.events):.2f} "
                f"lat (ms,{percentile}%): {latency_ms:.2f}"
            )
            if settings.rate:
                yield (f"{at} queue length: {figures.waiting} concurrency: {figures.in_flight}")


def report(figures: HostFigures, test: HostTest, settings: Settings, unfinished: int = 0) -> str:
    """The report at the end, or at a checkpoint."""
    common = reporting.report_of_all_tests(figures, settings, unfinished)
    own = _own(figures, test)
    return common if own is None else f"{own}\n{common}"


def _own(figures: HostFigures, test: HostTest) -> str | None:
    match test:
        case CpuTest():
            return f"CPU speed:\n    events per second: {figures.rate(figures.events):8.2f}"
        case MemoryTest():
            return _of_memory(figures, test)
        case FileioTest():
            return (
                "\nFile operations:\n"
                f"    reads/s:                      {figures.rate(figures.reads):.2f}\n"
                f"    writes/s:                     {figures.rate(figures.writes):.2f}\n"
                f"    fsyncs/s:                     {figures.rate(figures.syncs):.2f}\n"
                "\nThroughput:\n"
                f"    read, MiB/s:                  {_mib(figures, figures.bytes_read):.2f}\n"
                f"    written, MiB/s:               {_mib(figures, figures.bytes_written):.2f}"
            )
        case _:
            return None


def _of_memory(figures: HostFigures, test: MemoryTest) -> str:
    operations = figures.rate(figures.events)
    lines = f"Total operations: {figures.events} ({operations:8.2f} per second)\n"
    if test.operation == "none":
        return lines
    moved = figures.events * test.block_size
    return f"{lines}\n{moved / _MIB:.2f} MiB transferred ({_mib(figures, moved):.2f} MiB/sec)\n"


def _mib(figures: HostFigures, count: int) -> float:
    """A number of bytes as MiB per second."""
    return figures.rate(count / _MIB)
