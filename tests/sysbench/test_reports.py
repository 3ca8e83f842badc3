"""The report's text, letter by letter, from known figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadstone.model.records import Share
from loadstone.sysbench import reporting
from loadstone.sysbench.figures import Figures, Spread
from sysbench.made import MS, figures, sample, settings

USERS = [Share(0, 3, 60 * MS, 10 * MS, 30 * MS), Share(1, 1, 40 * MS, 40 * MS, 40 * MS)]
LATENCIES_MS = [10, 20, 30, 40]

REPORT = """\
SQL statistics:
    queries performed:
        read:                            56
        write:                           16
        other:                           8
        total:                           80
    transactions:                        4      (2.00 per sec.)
    queries:                             80     (40.00 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

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

OF_1_1 = """\
Throughput:
    events/s (eps):                      2.0000
    time elapsed:                        2.0000s
    total number of events:              4
"""


def test_the_report_of_1_0() -> None:
    made = figures(LATENCIES_MS, 2.0, USERS)
    assert reporting.report(made, settings(threads="2")) == REPORT


def test_the_report_of_1_1_has_throughput_in_place_of_general_statistics() -> None:
    made = figures(LATENCIES_MS, 2.0, USERS)
    text = reporting.report(made, replace(settings(threads="2"), compat="1.1"))
    assert OF_1_1 in text
    assert "General statistics" not in text


def test_a_forced_shutdown_says_how_many_events_it_cut_off() -> None:
    text = reporting.report(figures(LATENCIES_MS, 2.0, USERS), settings(threads="2"), 3)
    assert "\n\nNumber of unfinished transactions on forced shutdown: 3\n\nGeneral" in text


def test_a_run_without_events_has_zeros() -> None:
    text = reporting.report(Figures(to_s=1.0), settings())
    assert "         min:                                    0.00\n" in text
    assert "events (avg/stddev):           0.0000/0.00" in text


@pytest.mark.parametrize(
    ("percentile", "line"),
    [
        ("0", "         percentile stats:               disabled\n"),
        ("1", "          1th percentile:                       10.00\n"),
        ("50", "         50th percentile:                       20.00\n"),
        ("100", "        100th percentile:                       40.00\n"),
    ],
)
def test_percentiles(percentile: str, line: str) -> None:
    text = reporting.report(
        figures(LATENCIES_MS, 2.0, USERS), settings(threads="2", percentile=percentile)
    )
    assert line in text


def test_an_interval_line() -> None:
    made = figures(LATENCIES_MS, 2.0, USERS)
    asked = settings(threads="2", percentile="99")
    assert reporting.interval_line(made, asked) == (
        "[ 2s ] thds: 2 tps: 2.00 qps: 40.00 (r/w/o: 28.00/8.00/4.00) lat (ms,99%): 40.00 "
        "err/s: 0.50 reconn/s: 0.00"
    )
    tally = sample(LATENCIES_MS).tally
    lines = list(reporting.interval_lines(made, tally, replace(asked, rate=9), uses_driver=True))
    assert lines[1] == "[ 2s ] queue length: 3, concurrency: 1"


def test_a_histogram_has_a_bar_for_each_step_and_the_longest_is_forty() -> None:
    lines = list(reporting.histogram({10 * MS: 4, 20 * MS: 2, 40 * MS: 1}))
    assert lines[:2] == [
        "Latency histogram (values are in milliseconds)",
        "       value  ------------- distribution ------------- count",
    ]
    bars = [line.partition("|")[2] for line in lines[2:-1]]
    assert bars == [f"{'*' * 40} 4", f"{'*' * 20:<40} 2", f"{'*' * 10:<40} 1"]
    edges = [float(line.partition("|")[0]) for line in lines[2:-1]]
    # A bucket is 1.8 % wide, and its upper edge is shown.
    for edge, value in zip(edges, [10, 20, 40], strict=True):
        assert value <= edge < value * 1.02
    assert lines[-1] == " "


def test_what_is_beyond_the_histogram_stands_in_its_last_step() -> None:
    (_, _, line, _) = reporting.histogram({500_000 * MS: 1})
    assert line.startswith("  100000.000 |")
    assert list(reporting.histogram({})) == []


def test_threads_without_events_count_as_nothing() -> None:
    assert Spread.of([2], 4) == Spread(0.5, 0.75**0.5)


def test_the_debug_lines_of_a_thread() -> None:
    lines = list(reporting.per_thread(figures(LATENCIES_MS, 2.0, USERS), 3))
    assert lines[2] == "    thread #  0: min: 0.0100s  avg: 0.0200s  max: 0.0300s  events: 3"
    assert lines[3] == "                 total time taken by event execution: 0.0600s"
    assert lines[-3].endswith("events: 0")
