"""The text of a run, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.hot_spots import FileSpot, HotSpots, StatementSpot
from loadstone.model.language import in_language
from loadstone.model.numbers import digits, duration, number_of, pct, roughly, signed
from loadstone.model.plan import WATCHED, Rate
from loadstone.model.result import HostFigures, Result, ServerFigures
from loadstone.report.text import as_text
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script

LADDER = """\
oltp_read_write, 2 tables × 100 rows, prepared statements, 4 s a step after 1 s warm-up, seed 0
mysql://bench@db1/sbtest (10.11.0-scripted), not encrypted

                        p50    p95    p99    max  errors                client
users    tps     qps     ms     ms     ms     ms      /s  reconnects  µs/query
──────────────────────────────────────────────────────────────────────────────
    1    100   2,000   1.05   1.09   1.10   1.10       0           0      5.00
    4    350   7,000   4.17   4.33   4.35   4.35       0           0      5.00
   16    920  18,400   16.5   16.9   16.9   16.9       0           0      5.00
   64  1,002  20,040   64.5   65.0   65.0   65.0       0           0      5.00
  256    850  17,000    256    257    257    257       0           0      5.00

Peak: 1,002 tps at 64 users; 16 users reach 92 % of it already. With 256 users it is 850, which may
  be noise: only repeats, or steps of 8 s and more, have an interval.
note  the first of all notes
"""


def result_of(tmp_path: Path, script: Script, rates: dict[int, int]) -> Result:
    script.tps = lambda users, second: rates[users]
    return run_folder.load(recorded_run(tmp_path, a_plan(ladder=tuple(rates))))


def test_a_ladder_reads_like_this(tmp_path: Path, script: Script) -> None:
    rates = {1: 100, 4: 350, 16: 920, 64: 1002, 256: 850}
    assert as_text(result_of(tmp_path, script, rates)) == LADDER


def test_a_watch_ends_with_the_rates_that_its_lines_had(tmp_path: Path, script: Script) -> None:
    found = result_of(tmp_path, script, {1: 10})
    server = ServerFigures(
        seconds=4.0, questions_per_s=7344.0, threads_connected=9.0, rates={"com_commit": 367.0}
    )
    step = found.steps[0].model_copy(update={"workload": WATCHED, "server": server})
    plan = {**(found.run.plan or {}), "workload": {"name": WATCHED}}
    run = found.run.model_copy(update={"plan": plan})
    text = as_text(found.model_copy(update={"run": run, "steps": (step,)}), width=80)
    assert "What server and host did:" in text
    assert re.search(r"connections +questions/s +/s", text), text
    assert re.search(r"9\.00 +7,344 +367", text), text
    assert "the diagnosis is of loads that Loadstone drives" in " ".join(text.split())


def test_the_text_fits_eighty_columns(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10, 4096: 10})
    large = {"tps": 100_000.0, "qps": 2_000_000.0, "reconnects": 4096}
    steps = tuple(step.model_copy(update=large) for step in result.steps)
    text = as_text(result.model_copy(update={"steps": steps}), width=80)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "2,000,000" in text


def test_all_that_was_observed_fits_beside_a_rate(tmp_path: Path, script: Script) -> None:
    large = 12_345.0
    server = ServerFigures(
        seconds=4.0,
        commits_per_s=large,
        log_syncs_per_s=large,
        binlog_syncs_per_s=large,
        transactions_per_sync=large,
        bytes_per_sync=large,
        threads_running=large,
    )
    host = HostFigures(
        seconds=4.0, disk_write_iops=large, disk_read_iops=large, cpu_user=0.6, cpu_sys=0.4,
        cpu_idle=0.0,
    )  # fmt: skip
    result = result_of(tmp_path, script, {64: 10})
    changes = {"server": server, "host": host, "rate": Rate(rate=2000)}
    steps = tuple(step.model_copy(update=changes) for step in result.steps)
    text = as_text(result.model_copy(update={"steps": steps}), width=100)
    (line,) = (line for line in text.splitlines() if line.count("12,345") > 5)
    assert line.split()[-3:] == ["60", "40", "0"] and "…" not in text


def test_a_load_that_only_reads_has_no_columns_of_syncs(tmp_path: Path, script: Script) -> None:
    server = ServerFigures(
        seconds=4.0, commits_per_s=0.0, log_syncs_per_s=0.0, binlog_syncs_per_s=0.0
    )
    result = result_of(tmp_path, script, {64: 10})

    def heads(server: ServerFigures) -> str:
        (step,) = (step.model_copy(update={"server": server}) for step in result.steps)
        text = as_text(result.model_copy(update={"steps": (step,)}), width=120)
        return " ".join(text.split())

    reads = heads(server)
    assert "ning" in reads
    assert "sync" not in reads and "mits" not in reads
    writes = heads(server.model_copy(update={"commits_per_s": 9.0, "bytes_per_sync": 2048.0}))
    assert "commits/s" in writes and "log KiB" in writes and "2.00" in writes


def test_the_disk_is_said_to_be_the_hosts(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10})
    busy = HostFigures(
        seconds=4.0,
        disk_write_iops=8675.0,
        disk_write_bytes_per_s=100 * 2.0**20,
        rates={"process.written_bytes": 2.0**20},
    )
    said = changed(result, host=busy)
    assert (
        "disk writes and reads are the whole host's: of 100 MiB/s written, the server wrote 1 MiB"
        in said
    )
    own = busy.model_copy(update={"rates": {"process.written_bytes": 90 * 2.0**20}})
    assert "the whole host's" not in changed(result, host=own)


def test_what_was_not_evaluated_is_named_in_words(tmp_path: Path, script: Script) -> None:
    server = ServerFigures(seconds=4.0, not_evaluated={"file_summary": "it is off"})
    result = result_of(tmp_path, script, {1: 10})
    said = changed(result, server=server)
    assert "syncs and writes by kind of file not evaluated: it is off" in said
    # The table has them by other counters: what MariaDB has off by default is no news then.
    counted = server.model_copy(update={"log_syncs_per_s": 9.0, "binlog_syncs_per_s": 0.0})
    assert "by kind of file" not in changed(result, server=counted)


def test_the_requested_rate_is_not_called_due(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {64: 10})
    steps = tuple(step.model_copy(update={"rate": Rate(rate=50)}) for step in result.steps)
    text = as_text(result.model_copy(update={"steps": steps}), width=120)
    heads = [line.split() for line in text.splitlines()[3:6]]
    assert "rate" in heads[0] and not any("due" in line for line in heads)


def test_what_the_cores_did_adds_up_to_100(tmp_path: Path, script: Script) -> None:
    host = HostFigures(
        seconds=4.0, cpu_user=0.333, cpu_sys=0.333, cpu_iowait=0.004, cpu_steal=0.3266, cpu_idle=0.0
    )
    result = result_of(tmp_path, script, {64: 10})
    steps = tuple(step.model_copy(update={"host": host}) for step in result.steps)
    text = as_text(result.model_copy(update={"steps": steps}), width=120)
    heads = next(line for line in text.splitlines() if "user" in line and "idle" in line)
    assert heads.split()[-4:] == ["user", "sys", "steal", "idle"]
    assert re.search(r" 34 +33 +33 +0$", text, re.MULTILINE)


def test_the_text_has_no_control_character(tmp_path: Path, script: Script) -> None:
    text = as_text(result_of(tmp_path, script, {1: 10}))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)


def test_what_went_wrong_is_said_below_the_table(tmp_path: Path, script: Script) -> None:
    script.errors = {"1213": 3}
    script.outages = [
        {"kind": "outage", "from_s": 3.2, "to_s": 5.9, "users": 64, "reason": "2013 lost"}
    ]
    script.broken_tally = True
    text = as_text(result_of(tmp_path, script, {1: 10}), width=200)
    assert "1 user: error: the counters of the generator do not add up" in text
    assert "1 user: outage from 3.20 s to 5.90 s, 64 users: 2013 lost" in text
    assert "1 user: errors: 12 × 1213 deadlock" in text
    assert "1 user: errors before and after the window: 3 × 1213 deadlock" in text


def changed(result: Result, **fields: object) -> str:
    step = result.steps[0].model_copy(update=fields)
    return as_text(result.model_copy(update={"steps": (step,)}), width=200)


def test_a_saturated_generator_is_said_first(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10})
    cost = result.steps[0].generator.model_copy(update={"cpu_share": 0.93, "client_bound": True})
    said = changed(result, generator=cost)
    assert "client-bound: the generator used 93 % of 1 core" in said
    assert "10.0!" in said
    assert "! client-bound: the generator was, or may have been, the limit" in said


def test_a_generator_near_its_ceiling_or_late_says_which(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10})
    cost = result.steps[0].generator.model_copy(update={"client_bound": True, "cpu_share": 0.5})
    near = {"ceiling_share": 0.9, "ceiling_qps": 120_000.0}
    said = changed(result, generator=cost.model_copy(update=near))
    assert "at 90 % of its maximum on 1 core (120,000 statements a second)" in said
    late = changed(result, generator=cost.model_copy(update={"dispatch_p99_us": 500.0}))
    assert (
        "the generator itself started events 0.500 ms late (p99), which is 50 % of the p99" in late
    )


def test_late_events_are_said_with_their_share(tmp_path: Path, script: Script) -> None:
    text = changed(result_of(tmp_path, script, {1: 1000}), late=32)
    assert "the generator started 0.8 % of the events more than 1 ms late" in text
    assert "due time" not in text


def test_few_events_have_no_percentiles(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10})

    def of(events: int) -> str:
        latency = result.steps[0].latency
        response = latency.response.model_copy(update={"count": events})
        return changed(result, latency=latency.model_copy(update={"response": response}))

    assert "only 3 events: p95 and p99 are the slowest of them" in of(3)
    assert "only 99 events: p99 is the slowest of them" in of(99)
    assert "the slowest of them" not in of(100)


def test_how_long_answers_waited_is_in_the_unit_of_the_table(
    tmp_path: Path, script: Script
) -> None:
    result = result_of(tmp_path, script, {1: 1000})
    cost = result.steps[0].generator.model_copy(update={"held_p99_us": 228_065.0})
    assert "answers waited up to 228 ms (p99)" in changed(result, generator=cost)


def test_values_above_the_range_are_counted(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {1: 10})
    response = result.steps[0].latency.response.model_copy(
        update={"above_range": 3, "max": 4_000_000.0}
    )
    latency = result.steps[0].latency.model_copy(update={"response": response})
    text = changed(result, latency=latency)
    assert "3 response times were above the range of one hour" in text
    assert "the longest took 1 h 06 min" in text
    assert "4,000,000+" in text


def test_a_step_that_never_settled_is_marked(tmp_path: Path, script: Script) -> None:
    text = changed(result_of(tmp_path, script, {1: 10}), steady=False)
    assert "10.0*" in text
    assert "never settled" in text


def test_compression_is_said(tmp_path: Path, script: Script) -> None:
    of = result_of(tmp_path, script, {4: 10})
    text = changed(of, compressed_users=3, compression="zstd")
    assert "not encrypted, compressed, zstd" in text
    assert "only 3 of 4 connections are compressed" in text


def test_partly_encrypted_connections_are_said(tmp_path: Path, script: Script) -> None:
    text = changed(result_of(tmp_path, script, {4: 10}), encrypted_users=3)
    assert "only 3 of 4 connections are encrypted" in text


def test_repeats_are_a_mean_with_its_interval(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {8: 100})
    again = result.steps[0].model_copy(update={"repeat": 2, "step": 2, "tps": 102.0})
    text = as_text(result.model_copy(update={"steps": (result.steps[0], again)}))
    assert re.search(r"^ +8 +101 +12\.7 +", text, re.MULTILINE)
    assert "Student's t interval" in text


def test_a_ladder_that_still_climbs_does_not_claim_a_peak(tmp_path: Path, script: Script) -> None:
    text = as_text(result_of(tmp_path, script, {1: 10, 2: 20}))
    assert (
        "Peak: 20.0 tps at 2 users. It is the highest level: the true peak may be higher." in text
    )


def test_numbers_have_three_digits_that_matter() -> None:
    written = [digits(value) for value in (0, 0.01234, 0.9996, 9.996, 99.96, 1234.5)]
    assert written == ["0", "0.012", "1.00", "10.0", "100", "1,234"]
    shares = (0.0081, 0.0996, 0.123, None)
    assert [pct(value) for value in shares] == ["0.81 %", "10 %", "12 %", "-"]
    assert [signed(value) for value in (0.314, -0.0025, 2.0)] == ["+31.4 %", "-0.25 %", "+200 %"]


def test_durations_are_in_the_unit_that_fits() -> None:
    written = [duration(seconds) for seconds in (0.4, 12, 200, 120, 3600 * 4 + 300, 7200)]
    assert written == ["0.4 s", "12 s", "3 min 20 s", "2 min", "4 h 05 min", "2 h"]
    assert (number_of(1, "user"), number_of(2, "user")) == ("1 user", "2 users")


@given(st.floats(1.0, 1e6))
def test_a_rough_duration_is_off_by_a_tenth_at_most_and_short(seconds: float) -> None:
    assert roughly(seconds) == pytest.approx(max(seconds, 1.0), rel=0.1, abs=0.5)
    assert len(duration(roughly(seconds))) <= len("9 min 50 s")


def test_a_ladder_in_chinese_has_chinese_around_its_figures(tmp_path: Path, script: Script) -> None:
    rates = {1: 100, 4: 350, 16: 920, 64: 1002, 256: 850}
    said = as_text(result_of(tmp_path, script, rates), words=in_language("zh"))
    lines = said.splitlines()
    assert (
        lines[0]
        == "oltp_read_write、2 张表 × 100 行、prepared 语句、每个步骤 4 s，预热 1 s、随机种子 0"
    )
    said = "峰值：64 并发时 1,002 TPS；16 并发已达到其 92%。256 并发时为 850，"
    assert any(line.startswith(said) for line in lines)
    heads = next(line for line in lines if "并发" in line and "TPS" in line)
    assert heads.split() == ["并发", "TPS", "QPS", "ms", "ms", "ms", "ms", "/秒", "重连", "µs/查询"]


def test_hot_spots_say_that_their_seconds_are_summed(tmp_path: Path, script: Script) -> None:
    result = result_of(tmp_path, script, {8: 100})
    spot = StatementSpot.model_validate(
        {name: 0 for name in StatementSpot.model_fields}
        | {"statement": "COMMIT", "schema_name": "sbtest", "count": 400, "time_s": 77.0}
    )
    (step,) = result.steps
    step = step.model_copy(update={"hot_spots": HotSpots(statements=(spot,))})
    said = " ".join(as_text(result.model_copy(update={"steps": (step,)})).split())
    assert "by its own instruments, in seconds summed over sessions: kind where" in said
    assert "count seconds" in said and "statement COMMIT 400 77.0" in said
    file = FileSpot(
        file="sbtest/sbtest1.ibd",
        reads=1,
        writes=0,
        syncs=0,
        read_bytes=9,
        written_bytes=0,
        time_s=1.0,
    )
    silent = HotSpots(files=(file,), not_evaluated={"statements": "it sums up none"})
    assert "statements not evaluated: it sums up none" in changed(result, hot_spots=silent)
    assert "file sbtest/sbtest1.ibd 1 1.00" in " ".join(changed(result, hot_spots=silent).split())
