"""The text of the host tests, letter by letter, from known figures."""

from __future__ import annotations

import pytest

from loadstone.model.host_test import (
    CpuTest,
    FileioTest,
    HostTest,
    MemoryTest,
    MutexTest,
    ThreadsTest,
)
from loadstone.model.records import Share
from loadstone.sysbench.host import report
from loadstone.sysbench.host.plan import ANY_SIZE
from sysbench.made import MS, settings
from sysbench.made_host import figures

LATENCIES_MS = [10, 20, 30, 40]
THREADS = [Share(0, 3, 60 * MS, 10 * MS, 30 * MS), Share(1, 1, 40 * MS, 40 * MS, 40 * MS)]

OF_ALL = """
General statistics:
    total time:                          2.0000s
    total number of events:              4

Latency (ms):
         min:                                   10.00
         avg:                                   25.00
         max:                                   40.00
         95th percentile:                       40.00
         sum:                                  100.00

Threads fairness:
    events (avg/stddev):           2.0000/1.00
    execution time (avg/stddev):   0.0500/0.01
"""
OF_CPU = """\
CPU speed:
    events per second:     2.00
"""
OF_MEMORY = """\
Total operations: 4 (    2.00 per second)

4.00 MiB transferred (2.00 MiB/sec)

"""
OF_MEMORY_NONE = """\
Total operations: 4 (    2.00 per second)

"""
OF_FILES = """
File operations:
    reads/s:                      1.00
    writes/s:                     1.00
    fsyncs/s:                     0.50

Throughput:
    read, MiB/s:                  1.00
    written, MiB/s:               1.00
"""
MIB_BLOCKS = MemoryTest(block_size=2**20)


@pytest.mark.parametrize(
    ("test", "own"),
    [
        (CpuTest(), OF_CPU),
        (MIB_BLOCKS, OF_MEMORY),
        (MIB_BLOCKS.model_copy(update={"operation": "none"}), OF_MEMORY_NONE),
        (FileioTest(), OF_FILES),
        (ThreadsTest(), ""),
        (MutexTest(), ""),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_reports(test: HostTest, own: str) -> None:
    made = figures(LATENCIES_MS, 2.0, shares=THREADS)
    text = report.report(made, test, settings(threads="2"))
    assert text == own + OF_ALL


def test_a_forced_shutdown_says_how_many_events_it_cut_off() -> None:
    made, asked = figures(LATENCIES_MS, 2.0), settings(threads="2")
    text = report.report(made, CpuTest(), asked, unfinished=2)
    assert text.startswith(
        f"{OF_CPU}\nNumber of unfinished transactions on forced shutdown: 2\n\nGeneral"
    )


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        (
            CpuTest(),
            [
                "[ 2s ] thds: 2 eps: 2.00 lat (ms,95%): 40.00",
                "[ 2s ] queue length: 3 concurrency: 1",
            ],
        ),
        (MIB_BLOCKS, ["[ 2s ] 2.00 MiB/sec"]),
        (
            FileioTest(),
            ["[ 2s ] reads: 1.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.50/s latency (ms,95%): 40.000"],
        ),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_interval_lines(test: HostTest, lines: list[str]) -> None:
    made = figures(LATENCIES_MS, 2.0, waiting=3)
    assert list(report.interval_lines(made, test, settings(threads="2", rate="5"))) == lines


def test_without_a_rate_or_a_percentile_a_line_says_less() -> None:
    made = figures(LATENCIES_MS, 2.0)
    assert list(report.interval_lines(made, MutexTest(), settings(percentile="0"))) == [
        "[ 2s ] thds: 2 eps: 2.00 lat (ms,0%): 0.00"
    ]


def test_a_line_that_comes_late_is_of_the_second_that_is_over() -> None:
    for to_s, second in ((1.9995, 2), (2.7, 2), (1.98, 1)):
        assert figures(LATENCIES_MS, to_s).second == second


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0B"),
        (1000, "1000B"),
        (1024, "1KiB"),
        (34133, "33.333KiB"),
        (3495253, "3.3333MiB"),
        (10485759, "10MiB"),
        (1111111111, "1.0348GiB"),
        (2 * 2**40, "2TiB"),
    ],
)
def test_sizes_have_five_digits(count: int, text: str) -> None:
    assert report.size(count) == text


HEADER_OF_FILES = """\
Extra file open flags: sync directio
3 files, 33.333KiB each
99.999KiB total file size
Block size 16KiB
Merging requests up to 64KiB for sequential IO.
Number of IO requests: 7
Read/Write ratio for combined random IO test: 1.50
Calling fsync() after each write operation.
Using asynchronous I/O mode
Doing random r/w test"""


def test_the_header_of_files() -> None:
    test = FileioTest(
        num=3,
        total_size=100 * 1024,
        mode="rndrw",
        io_mode="async",
        extra_flags=("sync", "direct"),
        merged_requests=4,
        fsync_all=True,
    )
    assert report.header(test, settings(events="7")) == HEADER_OF_FILES


@pytest.mark.parametrize(
    ("options", "line", "is_said"),
    [
        ({"mode": "seqrd"}, "Number of IO requests", False),
        ({"mode": "rndrd"}, "fsync() each 100 requests", True),
        ({"mode": "rndrd", "fsync_freq": 0}, "Periodic FSYNC", False),
        ({"mode": "rndrd"}, "Calling fsync() at the end of test, Enabled.", True),
        ({"mode": "rndrd", "fsync_end": False}, "at the end of test", False),
        ({"mode": "seqwr"}, "Doing sequential write (creation) test", True),
        ({"mode": "rndrd", "io_mode": "mmap"}, "Using fast mmaped I/O mode", True),
    ],
)
def test_the_header_says_what_applies(options: dict[str, object], line: str, is_said: bool) -> None:
    header = report.header(FileioTest.model_validate(options), settings()) or ""
    assert (line in header) is is_said


def test_memory_without_a_total_size_says_nought() -> None:
    header = report.header(MemoryTest(total_size=ANY_SIZE), settings()) or ""
    assert "  total size: 0MiB\n" in header


def test_what_prepare_says() -> None:
    test = FileioTest(num=3, total_size=10 * 2**20)
    assert report.making(test) == (
        "3 files, 3413Kb each, 9Mb total\n"
        "Creating files for the test...\n"
        "Extra file open flags: (none)"
    )
    assert report.making_file("f", 0, 9) == "Creating file f"
    assert report.making_file("f", 8, 9) == "Extending existing file f"
    assert report.making_file("f", 9, 9) == "Reusing existing file f"
    assert report.made(0, 1.0) == "No bytes written."
    assert report.made(2**22, 2.0) == "4194304 bytes written in 2.00 seconds (2.00 MiB/sec)."
