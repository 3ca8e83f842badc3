"""Tests of this host, run by the engine itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.engine import PlanRefused
from loadstone.lab.machine.hosttests import HostTestFailed, run_host_test
from loadstone.lab.step.interrupts import Interrupted, Interrupts
from loadstone.model.host_test import (
    CpuTest,
    FileioTest,
    HostBegun,
    HostEnd,
    HostSample,
    HostStop,
    HostTest,
    HostTestPlan,
    MemoryTest,
    MutexTest,
    ThreadsTest,
)

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")


class Seen:
    """An observer that keeps all that is reported to it."""

    def __init__(self) -> None:
        self.threads = 0
        self.samples: list[HostSample] = []

    def on_begun(self, begun: HostBegun) -> None:
        self.threads = begun.threads

    def on_sample(self, sample: HostSample) -> None:
        self.samples.append(sample)


def carry_out(plan: HostTestPlan) -> tuple[Seen, HostEnd]:
    seen = Seen()
    return seen, run_host_test(plan, seen, Interrupts())


@pytest.mark.parametrize(
    ("test", "events"),
    [
        (CpuTest(max_prime=200), 500),
        (MemoryTest(total_size=512 * 1024), 500),
        (ThreadsTest(yields=3), 500),
        (MutexTest(locks=50, loops=10), 2),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_events_seconds_and_latencies_add_up(test: HostTest, events: int) -> None:
    seen, end = carry_out(
        HostTestPlan(test=test, threads=2, stop=HostStop(events=500), interval_s=0.05)
    )
    assert (end.reason, end.error, seen.threads) == ("finished", None, 2)
    assert end.done.events == end.latency_ns.count == events
    assert sum(thread.events for thread in end.threads) == events
    assert sum(sample.done.events for sample in seen.samples) == events
    assert sum(thread.busy_ns for thread in end.threads) == pytest.approx(
        end.latency_sum_ns, rel=1e-6
    )
    # Both threads worked no longer than the test lasted.
    assert end.latency_sum_ns <= 2 * end.seconds * 1e9


def test_files_are_made_used_and_removed(tmp_path: Path) -> None:
    files = FileioTest(folder=tmp_path, num=2, total_size=256 * 1024, mode="rndrw", fsync_freq=10)
    _, made = carry_out(HostTestPlan(command="prepare", test=files))
    assert (made.done.events, made.done.bytes_written) == (2, 256 * 1024)
    assert {path.name for path in tmp_path.iterdir()} == {"test_file.0", "test_file.1"}
    _, end = carry_out(HostTestPlan(test=files, stop=HostStop(events=120)))
    # Ten requests and two fsyncs, ten times; both files once more at the end.
    assert (end.done.reads + end.done.writes, end.done.syncs) == (100, 22)
    assert end.done.reads == 60
    _, removed = carry_out(HostTestPlan(command="cleanup", test=files))
    assert (removed.done.events, list(tmp_path.iterdir())) == (2, [])
    with pytest.raises(HostTestFailed, match="cannot open .*test_file.0") as caught:
        carry_out(HostTestPlan(test=files))
    assert (caught.value.exit_code, caught.value.hint is not None) == (9, True)


def test_a_value_that_does_not_fit_is_named() -> None:
    with pytest.raises(PlanRefused, match="block_size: 8 to 2\\^40, in steps of 8"):
        carry_out(HostTestPlan(test=MemoryTest(block_size=12)))


def test_one_that_is_stopped_has_its_figures() -> None:
    asked = Interrupts()

    class Impatient(Seen):
        def on_sample(self, sample: HostSample) -> None:
            super().on_sample(sample)
            asked.count = 1

    plan = HostTestPlan(test=CpuTest(), stop=HostStop(duration_s=None), interval_s=0.05)
    end = run_host_test(plan, Impatient(), asked)
    assert end.reason == "stopped"
    assert end.done.events > 0


def test_a_second_wish_to_stop_does_not_wait() -> None:
    asked = Interrupts()
    asked.count = 2
    with pytest.raises(Interrupted):
        run_host_test(HostTestPlan(test=CpuTest()), Seen(), asked)
