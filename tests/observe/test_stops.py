"""How long a process is stopped, as it is seen from outside."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.observed import SourceName
from loadstone.observe.local import LocalHost
from loadstone.observe.stops import Stops


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def wait_for(stops: Stops) -> float:
    """The next share that is known."""
    while True:
        share = stops.share()
        if share is not None:
            return share
        time.sleep(0.02)


def test_the_part_of_the_time_in_which_a_process_was_stopped(
    sleeper: subprocess.Popen[bytes],
) -> None:
    stops = Stops(sleeper.pid)
    assert wait_for(stops) == 0.0
    sleeper.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    stops.share()
    assert wait_for(stops) == 1.0
    sleeper.send_signal(signal.SIGCONT)
    time.sleep(0.1)
    stops.share()
    assert wait_for(stops) == 0.0
    sleeper.kill()
    sleeper.wait()
    time.sleep(0.1)
    stops.share()
    time.sleep(0.1)
    assert stops.share() is None  # it has ended
    stops.close()


def test_a_reading_has_the_time_since_the_one_before(sleeper: subprocess.Popen[bytes]) -> None:
    source = LocalHost(SourceName(role="server-host"), pid=sleeper.pid)
    assert source.read().gauges["process.stopped"] == 0.0
    sleeper.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    sleeper.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    assert 0.2 < source.read().gauges["process.stopped"] < 0.8
    source.close()


def test_a_frozen_group_is_stopped_as_well(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    said = tmp_path / "freezer.state"
    said.write_text("FROZEN\n")
    stops = Stops(sleeper.pid, said)
    assert wait_for(stops) == 1.0
    said.unlink()  # it was moved to a group that is not seen
    time.sleep(0.1)
    stops.share()
    assert wait_for(stops) == 0.0
    stops.close()
