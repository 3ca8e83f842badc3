"""Output of other programs, parsed from recorded text."""

from pathlib import Path
from typing import Any

import pytest

from benches import floor, loadstone, plain_client, prepare, sysbench
from benches.client_cpu import OF_FLOOR, OF_SYSBENCH, RATE
from benches.contest import (
    ENGINE,
    FLOOR,
    RUN,
    SYSBENCH,
    Reading,
    cost_table,
    own_clock_table,
    taking_part,
)
from benches.figures import Spread
from benches.processes import Memory, ProgramFailed, resident_kb, run
from benches.tables import table, with_spread
from benches.threads import Seen, Threads, shares
from benches.workload import Outcome, Step

# sysbench 1.0.20 of Debian 12, oltp_point_select with 64 threads.
SAID_BY_SYSBENCH = """\
SQL statistics:
    queries performed:
        read:                            120915
        write:                           0
        other:                           0
        total:                           120915
    transactions:                        120915 (23495.51 per sec.)
    queries:                             120915 (23495.51 per sec.)
    ignored errors:                      2      (0.39 per sec.)
    reconnects:                          1      (0.19 per sec.)

General statistics:
    total time:                          5.1451s
    total number of events:              120915
"""


def test_sysbench_s_report_is_read() -> None:
    assert sysbench.parse(SAID_BY_SYSBENCH) == sysbench.Printed(120915, 23495.51, 5.1451, 3)


def test_what_is_no_report_of_sysbench_is_refused() -> None:
    with pytest.raises(ValueError, match="no report of sysbench: 'FATAL: unable to connect"):
        sysbench.parse("FATAL: unable to connect to MySQL server")


def test_queries_after_the_window_s_end_were_paid_for_too() -> None:
    step = {
        "reads": 100,
        "writes": 0,
        "other": 0,
        "events": 100,
        "tally": {"succeeded": 108},
        "qps": 50.0,
        "errors": {"1213": 2},
        "errors_outside": {"1213": 3},
        "connect_failures": {"1040": 1},
        "reconnects": 4,
        "users": 64,
        "generator": {"shards": 2, "cpu_us_per_query": 7.5},
    }
    outcome = loadstone.outcome_of_result({"steps": [step]}, cpu_s=1.5, memory_kb=9)
    assert (outcome.queries, outcome.queries_per_s, outcome.errors) == (108, 50.0, 10)
    assert (outcome.shards, outcome.own_cpu_us) == (2, 7.5)
    assert outcome.users == 64


def sample(phase: str, from_s: float, reads: int, cpu_us: int) -> dict[str, Any]:
    return {
        "kind": "sample",
        "phase": phase,
        "from_s": from_s,
        "to_s": from_s + 1,
        "counts": {"reads": reads, "writes": 0, "other": 0, "reconnects": 0},
        "errors": {},
        "connect_failures": {},
        "users": 8,
        "generator": {"shards": 1, "cpu_us": cpu_us},
    }


def test_the_engine_s_records_give_the_window_s_rate_and_all_queries() -> None:
    records = [
        {"kind": "connected", "connect_failures": {"1040": 1}},
        sample("window", 0, 100, 800),
        sample("window", 1, 300, 2400),
        sample("drain", 2, 8, 60),
        {"kind": "end"},
    ]
    outcome = loadstone.outcome_of_records(records, cpu_s=0.5)
    assert (outcome.queries, outcome.queries_per_s, outcome.own_cpu_us) == (408, 200.0, 8.0)
    assert (outcome.errors, outcome.users) == (1, 8)


def test_the_floor_s_report_is_read() -> None:
    load = {"queries": 500, "queries_per_second": 250.0, "cpu_us_per_query": 6.5}
    outcome = floor.outcome_of_report({"load": load, "restarts": 2}, cpu_s=0.5)
    assert (outcome.queries, outcome.queries_per_s, outcome.own_cpu_us) == (500, 250.0, 6.5)
    assert (outcome.errors, outcome.shards) == (2, 1)


def test_the_floor_does_only_what_it_can() -> None:
    assert floor.mode(Step(1, 1.0, protocol="text")) == "text"
    assert floor.mode(Step(1, 1.0, workload="oltp_read_write")) == "read_write"
    with pytest.raises(ValueError, match="the floor has no"):
        floor.mode(Step(1, 1.0, tls=True))


def reading(
    contestant: str, cost_us: float, rate: float, own_us: float | None = None, pair: int = 0
) -> Reading:
    short, long = (
        Outcome(n, rate, 0.5 + n * cost_us / 1e6, 0, shards=1, own_cpu_us=own_us)
        for n in (10_000, 30_000)
    )
    return Reading(pair, Step(64, 0.0), contestant, short, long)


def test_a_cost_stands_beside_the_others_of_the_same_pair() -> None:
    readings = [
        reading(SYSBENCH, 16.0, 1000),
        reading(RUN, 8.0, 1500, 7.5),
        reading(ENGINE, 7.0, 1400, 7.0),
        reading(FLOOR, 5.0, 1600, 5.0),
    ]
    lines = cost_table(readings, [OF_FLOOR, OF_SYSBENCH, RATE]).splitlines()
    cells = {
        row[0]: row[3:] for row in ([c.strip() for c in line.split("|")[1:-1]] for line in lines)
    }
    assert cells[SYSBENCH][2:11] == ["3.20 (3.20–3.20)", *[""] * 8]
    assert cells[RUN][2:5] == ["1.60 (1.60–1.60)", "", "≤ 1.15"]
    assert cells[RUN][5:11] == ["0.50 (0.50–0.50)", "", "≤ 0.45", "1.50 (1.50–1.50)", "", ""]
    engine = ["1.40 (1.40–1.40)", "", "≤ 1.1", "0.44 (0.44–0.44)", "", "≤ 0.45"]
    assert cells[ENGINE][2:8] == engine
    assert cells[FLOOR][2:5] == ["", "", ""]
    assert "7 (7–7)" in own_clock_table(readings).splitlines()[2]


def test_a_ratio_of_six_pairs_has_the_interval_of_its_median() -> None:
    readings = [
        reading(*of, pair=pair)
        for pair in range(6)
        for of in ((ENGINE, 7.0 + pair / 10, 1000), (FLOOR, 5.0, 1000))
    ]
    line = cost_table(readings, [OF_FLOOR]).splitlines()[2]
    assert "| 1.45 (1.40–1.50) |    1.40–1.50 |  ≤ 1.1 |" in line


def test_only_the_contestants_that_are_asked_for_take_part() -> None:
    both = [SYSBENCH, ENGINE, FLOOR]
    assert taking_part(None, "client-cpu", both) == both
    assert taking_part(("floor", "engine"), "client-cpu", both) == [ENGINE, FLOOR]
    with pytest.raises(ProgramFailed, match="it has sysbench, engine, floor$"):
        taking_part(("scripted",), "client-cpu", both)


def test_threads_are_told_apart_by_name_and_those_of_one_name_added() -> None:
    names = {1: "loadstone", 2: "shard-0", 3: "shard-1", 4: "late"}
    first = Seen(10.0, {1: "loadstone", 2: "shard-0", 3: "shard-1"}, {1: 0, 2: 10, 3: 20})
    last = Seen(12.0, names, {1: 20_000_000, 2: 10 + 10**9, 3: 20 + 10**9, 4: 10**7})
    assert shares(first, last) == pytest.approx({"loadstone": 0.01, "shard": 1.0, "late": 0.005})


def test_threads_are_read_while_the_named_one_is_there() -> None:
    threads = Threads("sh", settle_s=0.1)
    run(["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"], look=threads.look)
    assert 0 < threads.shares["sh"] < 1.2
    with pytest.raises(ValueError, match="no two readings"):
        _ = Threads("nobody", settle_s=0.0).shares


def test_columns_are_aligned() -> None:
    lines = table(["", "µs"], [["a", "1"], ["long", "10,000"]]).splitlines()
    assert lines == ["|      |     µs |", "| ---- | -----: |", "| a    |      1 |"] + [
        "| long | 10,000 |"
    ]
    assert with_spread(Spread(1234.5, 0.06, 2000), 1) == "1,234.5 (0.1–2,000.0)"


def test_resident_memory_is_read_from_a_process_status() -> None:
    assert resident_kb("Name:\tx\nVmPeak:\t  99 kB\nVmRSS:\t  1234 kB\n") == 1234
    assert resident_kb("Name:\tx\nState:\tZ (zombie)\n") == 0


def test_a_program_is_measured_to_its_end() -> None:
    memory = Memory()
    ran = run(["sh", "-c", "cat; sleep 0.15"], stdin="said", look=memory.look)
    assert ran.stdout == "said"
    assert ran.wall_s >= 0.15
    assert memory.most_kb > 0
    absent = Memory(thread="shard-0")
    run(["true"], look=absent.look)
    assert absent.most_kb == 0


def test_a_program_that_fails_gives_no_figure() -> None:
    with pytest.raises(ProgramFailed, match=r"^sh -c ended with 3: no luck$"):
        run(["sh", "-c", "echo no luck >&2; exit 3"])


def test_a_load_s_ratios_are_within_a_round_and_its_cpu_also_without_the_start() -> None:
    seconds = {"sysbench": (20.0, 1.5), "loadstone": (10.0, 0.35), "ready file": (8.0, 0.1)}
    start = {"sysbench": 0.0, "loadstone": 0.2, "ready file": 0.0}
    readings = [
        prepare.Reading(layout, name, *(seconds[name] if layout.rows > 10 else (0.1, start[name])))
        for layout in (*prepare.LAYOUTS, prepare.START)
        for name in seconds
    ]
    wall = prepare.wall_table(readings, prepare.LAYOUTS).splitlines()[3]
    assert "2.00 (2.00–2.00) |        | " in wall
    assert "1.25 (1.25–1.25) | ≤ 1.10" in wall
    ten = prepare.wall_table(readings, prepare.LAYOUTS).splitlines()[6]
    assert "2.00 (2.00–2.00) | ≥ 1.15" in ten
    cpu = prepare.cpu_table(readings, prepare.LAYOUTS).splitlines()[3]
    assert "0.23 (0.23–0.23) | ≤ 0.10 |" in cpu
    assert "0.15 (0.15–0.15) | 0.10 (0.10–0.10)" in cpu


def test_a_ready_file_has_the_rows_of_the_layout(tmp_path: Path) -> None:
    plain_client.write_file(tmp_path / "rows", 3)
    lines = (tmp_path / "rows").read_text().splitlines()
    fields = [line.split("\t") for line in lines]
    assert [row[0] for row in fields] == ["1", "2", "3"]
    assert {tuple(len(text) for text in row[2:]) for row in fields} == {(119, 59)}
    assert all(len(group) == 11 for row in fields for group in f"{row[2]}-{row[3]}".split("-"))
