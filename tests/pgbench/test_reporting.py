"""The report's text and the lines of progress, letter by letter, from known figures.

The forms are those of pgbench 15, which `test_beside_pgbench.py` compares with.
"""

from __future__ import annotations

from dataclasses import replace

from loadstone.pgbench import reporting
from loadstone.pgbench.figures import Figures, Sums
from loadstone.pgbench.reporting import Results, Tables, report
from pgbench.made import MS, benchmark, figures

SINGLE = """\
transaction type: <builtin: select only>
scaling factor: 3
query mode: prepared
number of clients: 4
number of threads: 2
maximum number of tries: 1
number of transactions per client: 20
number of transactions actually processed: 60/80
number of failed transactions: 20 (25.000%)
latency average = 100.000 ms (including failures)
initial connection time = 12.500 ms
tps = 30.000000 (without initial connection time)
"""

NOTHING = """\
transaction type: <builtin: select only>
scaling factor: 3
query mode: prepared
number of clients: 4
number of threads: 2
maximum number of tries: 1
number of transactions per client: 20
number of transactions actually processed: 0/80
number of failed transactions: 0 (NaN%)
"""

OPEN_LOOP = """\
transaction type: <builtin: select only>
scaling factor: 1
partition method: range
partitions: 2
query mode: simple
number of clients: 2
number of threads: 1
duration: 2 s
number of transactions actually processed: 4
number of failed transactions: 1 (10.000%)
number of serialization failures: 1 (10.000%)
number of deadlock failures: 0 (0.000%)
number of transactions retried: 2 (20.000%)
total number of retries: 6
number of transactions skipped: 5 (50.000%)
number of transactions above the 15.0 ms latency limit: 1/4 (25.000%)
latency average = 12.500 ms
latency stddev = 4.330 ms
rate limit schedule lag: avg 2.000 (max 3.000) ms
average connection time = 5.000 ms
tps = 2.000000 (including reconnection times)
statement latencies in milliseconds, failures and retries:
         0.001           0           0  \\set aid random(1, 100000 * :scale)
         7.250           1           6  SELECT 1;
"""

SEVERAL = """\
transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 1
number of threads: 1
maximum number of tries: 1
number of transactions per client: 10
number of transactions actually processed: 4/10
number of failed transactions: 0 (0.000%)
latency average = 500.000 ms
initial connection time = 12.500 ms
tps = 2.000000 (without initial connection time)
SQL script 1: <builtin: simple update>
 - weight: 3 (targets 75.0% of total)
 - 3 transactions (75.0% of total, tps = 1.500000)
 - number of failed transactions: 0 (0.000%)
 - latency average = 15.000 ms
 - latency stddev = 0.000 ms
 - statement latencies in milliseconds and failures:
         0.000           0  END;
SQL script 2: <builtin: select only>
 - weight: 1 (targets 25.0% of total)
 - 1 transactions (25.0% of total, tps = 0.500000)
 - number of failed transactions: 0 (0.000%)
 - latency average = 5.000 ms
 - latency stddev = 0.000 ms
 - statement latencies in milliseconds and failures:
         0.000           0  SELECT 1;
SQL script 3: <builtin: select only>
 - weight: 0 (targets 0.0% of total)
 - 0 transactions (0.0% of total, tps = 0.000000)
 - number of failed transactions: 0 (NaN%)
 - statement latencies in milliseconds and failures:
"""


def results(words: str, made: Figures, *sums: Sums, scale: int = 1) -> Results:
    asked = benchmark(words)
    return Results(
        asked=asked,
        tables=Tables(scale),
        figures=made,
        scripts=sums or [made.all],
        commands=[["SELECT 1;"]] * len(asked.scripts),
        of_commands=made.commands,
        seconds=2.0,
        connecting_s=0.0125,
    )


def test_without_measuring_each_the_latency_is_the_time_by_the_number_of_all() -> None:
    made = figures({"events": 60, "failed": 20}, errors={"40001": 20})
    text = report(results("-S -c 4 -j 2 -t 20 -M prepared", made, scale=3))
    assert text == SINGLE


def test_nothing_follows_where_no_transaction_ended() -> None:
    made = figures({"failed": 4})
    for _ in range(4):
        made.aborted(0)
    assert report(results("-S -c 4 -j 2 -t 20 -M prepared", made, scale=3)) == NOTHING


def test_an_open_loop_with_a_limit_retries_and_reconnections() -> None:
    counts = {"events": 4, "failed": 1, "skipped": 5, "retried": 2, "restarts": 6}
    commands = [(0, 0, 5, 5000, 0, 0), (0, 1, 4, 29 * MS, 1, 6)]
    made = figures(counts, limit_ms=15, commands=commands)
    made.add_failure(0, "40001")
    made.all.latency.add_values([(10 * MS, 3), (20 * MS, 1)], made.kinds.limit_ns)
    made.lag.add_values([(1 * MS, 1), (2 * MS, 2), (3 * MS, 1)])
    made.connect.add_values([(5 * MS, 4)])
    words = "-S -c 2 -T 2 -R 5 -L 15 -C -r --max-tries=0 --failures-detailed"
    asked = results(words, made)
    text = report(
        replace(
            asked,
            tables=Tables(1, "range", 2),
            commands=[["\\set aid random(1, 100000 * :scale)", "SELECT 1;"]],
        )
    )
    assert text == OPEN_LOOP


def test_several_scripts_have_a_part_each() -> None:
    made = figures({"events": 4}, {"events": 3}, {"events": 1})
    made.members[0].latency.add_values([(15 * MS, 3)])
    made.members[1].latency.add_values([(5 * MS, 1)])
    asked = results("-b si@3 -S -b se@0 -r", made, *made.members, Sums())
    text = report(replace(asked, commands=[["END;"], ["SELECT 1;"], []]))
    assert text == SEVERAL


def test_failures_by_type_are_told_by_errors_only_where_none_is_retried() -> None:
    errors = {"40001": 2, "40P01": 1, "22012": 1}
    alone = figures({"failed": 4}, errors=errors)
    assert (alone.all.serialization, alone.all.deadlock) == (2, 1)
    retried = figures({"failed": 1, "restarts": 3}, errors=errors)
    assert (retried.all.serialization, retried.all.deadlock) == (0, 0)


def test_transactions_whose_turn_never_came_were_not_skipped() -> None:
    made = figures({"skipped": 3}, {"skipped": 3}, phase="drain")
    assert (made.all.skipped, made.members[0].skipped) == (0, 0)


def test_progress() -> None:
    made = figures({"events": 10, "failed": 1})
    made.all.latency.add_values([(10 * MS, 5), (20 * MS, 5)])
    line = reporting.progress(made, benchmark("-P 2"), 4.0, 2.0)
    assert line == "progress: 4.0 s, 5.0 tps, lat 15.000 ms stddev 5.000, 1 failed"


def test_progress_of_an_open_loop_with_retries_and_unix_times() -> None:
    made = figures({"events": 10, "skipped": 3, "retried": 2, "restarts": 4})
    made.lag.add_values([(1_500_000, 10)])
    asked = benchmark("-P 1 --progress-timestamp -R 10 -L 5 --max-tries=4")
    assert reporting.progress(made, asked, 1795759134.897, 1.0) == (
        "progress: 1795759134.897 s, 10.0 tps, lat 0.000 ms stddev 0.000, 0 failed, lag 1.500 ms,"
        " 3 skipped, 2 retried, 4 retries"
    )
