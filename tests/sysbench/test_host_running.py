"""What is printed while the engine's records arrive, at any time."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from loadstone import engine
from loadstone.model.host_test import CpuTest, HostBegun, HostTest, MutexTest
from loadstone.model.records import Share
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.host import runner
from loadstone.sysbench.host.plan import plan_of
from loadstone.sysbench.log import Log
from sysbench.made import MS, settings
from sysbench.made_host import Job, Record, end, sample

BEGUN = HostBegun(threads=2)
SHARES = [Share(0, 2, 1, 1, 1), Share(1, 1, 1, 1, 1)]
Drive = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Drive:
    """The exit code and the output of a test in which the engine sends just these records."""

    def run(*records: Record, test: HostTest | None = None, **given: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(engine, "host_test", lambda plan: Job(*records))
        asked = settings(**{"threads": "2", "percentile": "0", "time": "2"} | given)
        code = runner.drive(plan_of(test or CpuTest(), asked), asked, Log(4))
        return code, capsys.readouterr().out.splitlines()

    return run


def test_a_second_gets_its_line_once(drive: Drive) -> None:
    first, second = sample([10], 0.0, 1.0), sample([10, 10], 1.0, 2.0)
    last = sample([10], 2.0, 2.0004, shares=SHARES)
    code, lines = drive(BEGUN, first, second, last, end(2.0004), report_interval="1")
    assert code == 0
    assert [line for line in lines if line.startswith("[")] == [
        "[ 1s ] thds: 2 eps: 1.00 lat (ms,0%): 0.00",
        "[ 2s ] thds: 2 eps: 2.00 lat (ms,0%): 0.00",
    ]
    assert "    total time:                          2.0004s" in lines
    assert "    total number of events:              4" in lines
    assert "    events (avg/stddev):           1.5000/0.50" in lines
    assert lines[lines.index("Time limit exceeded, exiting...") + 1] == (
        "(last message repeated 1 times)"
    )


def test_a_sample_that_comes_late_has_the_seconds_of_two(drive: Drive) -> None:
    late = sample([10] * 6, 0.0, 2.4)
    _, lines = drive(BEGUN, late, end(2.5), report_interval="1")
    assert [line for line in lines if line.startswith("[")] == [
        "[ 2s ] thds: 2 eps: 2.50 lat (ms,0%): 0.00"
    ]


def test_with_a_rate_the_time_is_over_when_it_is_over(drive: Drive) -> None:
    """The engine ends earlier if no event is due any more."""
    records = (BEGUN, sample([10], 0.0, 1.0, 0), sample([10], 1.0, 1.7, 0), end(1.7))
    _, lines = drive(*records, report_interval="1", rate="1")
    assert "[ 2s ] thds: 2 eps: 1.00 lat (ms,0%): 0.00" in lines
    assert "    total time:                          2.0000s" in lines


def test_a_test_that_has_done_all_its_events_is_not_prolonged(drive: Drive) -> None:
    records = (BEGUN, sample([10, 10], 0.0, 0.5, 0), end(0.5))
    for test, limit in ((MutexTest(), "0"), (CpuTest(), "2")):
        _, lines = drive(*records, test=test, rate="5", events=limit)
        assert "    total time:                          0.5000s" in lines
        assert ("Event limit exceeded, exiting..." in lines) is (limit == "2")


def test_a_checkpoint_begins_the_figures_anew(drive: Drive) -> None:
    of_first = [Share(1, 1, 10 * MS, 10 * MS, 10 * MS)]
    of_second = [Share(0, 1, 10 * MS, 10 * MS, 10 * MS), Share(1, 1, 10 * MS, 10 * MS, 10 * MS)]
    first = sample([10], 0.0, 1.0, shares=of_first)
    second = sample([10, 10], 1.0, 2.0, shares=of_second)
    records = (BEGUN, first, second, end(2.0))
    _, lines = drive(*records, report_checkpoints="1", report_interval="1")
    assert lines.index("[ 1s ] Checkpoint report:") == (
        lines.index("[ 1s ] thds: 2 eps: 1.00 lat (ms,0%): 0.00") + 1
    )
    assert [line[-5:] for line in lines if "per second" in line] == [" 1.00", " 2.00"]
    assert [line[-7:] for line in lines if "total time:" in line] == ["1.0000s", "2.0000s"]
    assert [line.split()[-1] for line in lines if "events (avg/stddev)" in line] == [
        "0.5000/0.50",
        "1.0000/0.00",
    ]


def test_events_that_go_on_for_too_long_are_left_behind(drive: Drive) -> None:
    code, lines = drive(BEGUN, sample([10], 0.0, 1.0), time="1", forced_shutdown="0")
    assert code == 2
    assert "FATAL: The --max-time limit has expired, forcing shutdown..." in lines
    assert "Number of unfinished transactions on forced shutdown: 2" in lines
    assert "    total number of events:              1" in lines
    assert "Done." not in lines


def test_what_the_system_refuses_is_told(drive: Drive) -> None:
    with pytest.raises(Fatal, match="cannot open it"):
        drive(end(0.0, error="cannot open it"))


def test_an_option_beyond_the_engine_is_named() -> None:
    pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")
    with pytest.raises(Fatal, match="option of mutex, which takes num: 1 to"):
        runner.drive(plan_of(MutexTest(num=2**30), settings()), settings(), Log(0))


def test_whoever_interrupts_it_gets_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Job):
        def next(self, timeout_s: float) -> Record | None:
            if not self.is_stopped:
                signal.raise_signal(signal.SIGINT)
            return super().next(timeout_s) if self.is_stopped else None

    monkeypatch.setattr(engine, "host_test", lambda plan: Interrupting(BEGUN, end(0.1)))
    assert runner.drive(plan_of(CpuTest(), settings()), settings(), Log()) == 130
    said = capsys.readouterr()
    assert "General statistics" not in said.out
    assert "loadstone: interrupted" in said.err
