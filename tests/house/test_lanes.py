"""A test for everybody has to be quick, judged without what else the machine does."""

from __future__ import annotations

import os
import time
from tempfile import TemporaryFile

import pytest

from lanes import LONGEST_S, TRACED, Seen, Synced, Watch, lines_are_counted

TOO_LONG = pytest.fail.Exception


class Machine:
    """A simulated kernel."""

    def __init__(self) -> None:
        self.seen = Seen(1000.0, 50.0, 400.0, 30.0)

    def goes_on(
        self, at_s: float, cpu_s: float = 0.0, others_s: float = 0.0, kept_s: float = 0.0
    ) -> None:
        """Let time pass: the test uses a core for a part of it, others are busy, and it has to
        wait."""
        more = Seen(at_s, cpu_s, cpu_s + others_s, kept_s)
        self.seen = Seen(*(map(sum, zip(self.seen, more, strict=True))))

    def watch(self) -> Watch:
        return Watch(lambda: self.seen)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize(
    "took",
    [
        {"at_s": LONGEST_S + 0.1},
        {"at_s": LONGEST_S + 0.1, "cpu_s": LONGEST_S + 0.1},
        # It had to wait for a core, and took too long even without that.
        {"at_s": 8.0, "kept_s": 5.5},
        # Others slow a core down by half, and not more.
        {"at_s": 5.0, "cpu_s": 2 * LONGEST_S + 0.1, "others_s": 5.0},
    ],
)
def test_what_takes_long_is_told(machine: Machine, took: dict[str, float]) -> None:
    watch = machine.watch()
    machine.goes_on(**took)
    with pytest.raises(TOO_LONG, match="without a lane is allowed"):
        watch.judge()


@pytest.mark.parametrize(
    "took",
    [
        {"at_s": LONGEST_S - 0.1},
        {"at_s": 60.0, "cpu_s": 1.0, "kept_s": 58.0},
        {"at_s": 5.0, "cpu_s": 2 * LONGEST_S - 0.1, "others_s": 5.0},
    ],
)
def test_what_others_do_to_it_is_no_fault_of_a_test(
    machine: Machine, took: dict[str, float]
) -> None:
    watch = machine.watch()
    machine.goes_on(**took)
    watch.judge()


def test_what_tests_share_is_nobodys(machine: Machine) -> None:
    watch = machine.watch()
    machine.goes_on(1.0)
    with watch.paused():
        machine.goes_on(100.0, cpu_s=50.0)
        with watch.paused():
            machine.goes_on(100.0)
    watch.judge()
    machine.goes_on(LONGEST_S)
    with pytest.raises(TOO_LONG, match=r"0\.0 s of a core and 3\.0 s of waiting"):
        watch.judge()


def test_lines_that_are_counted_cost_more(machine: Machine) -> None:
    watch = machine.watch()
    machine.goes_on(TRACED * LONGEST_S - 0.1)
    watch.judge(counted=True)
    with pytest.raises(TOO_LONG):
        watch.judge()


def test_the_kernel_is_asked() -> None:
    before = Seen.now()
    sum(range(3_000_000))
    test = Seen.now().since(before)
    assert 0 < test.cpu_s <= test.at_s * 1.1 + 0.02
    assert test.busy_s >= 0 and test.kept_s >= 0


def test_who_counts_lines_is_seen() -> None:
    import sys

    before = sys.gettrace()
    sys.settrace(lambda *told: None)
    try:
        assert lines_are_counted()
    finally:
        sys.settrace(before)


def test_what_a_session_sets_up_is_on_nobodys_account(request: pytest.FixtureRequest) -> None:
    """pytest hands a session's hooks past the conftest of a folder below its root."""
    told = request.session.ihook.pytest_fixture_setup.get_hookimpls()
    assert "_Shared" in {type(each.plugin).__name__ for each in told}


def test_waiting_for_a_sync_is_the_disks_time_and_not_the_tests() -> None:
    synced = Synced()
    synced.counting(lambda file: time.sleep(0.05))(0)
    assert synced.seconds >= 0.05
    with pytest.raises(OSError, match="Bad file"):
        os.fsync(2**30)
    with TemporaryFile() as file:
        before = Seen.now()
        os.fsync(file)
        assert Seen.now().since(before).kept_s > 0
