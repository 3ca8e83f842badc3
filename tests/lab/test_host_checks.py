"""What is reported of the generator's host, on made-up folders in place of /sys and /proc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadstone.lab.machine.host_checks import host_checks
from loadstone.model.calibration import HostCheck


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    return tmp_path / "sys"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    folder = tmp_path / "proc"
    write(folder / "sys/fs/file-max", "2000000")
    write(folder / "sys/net/ipv4/ip_local_port_range", "32768\t60999")
    write(folder / "stat", "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu0 1 2 3 4")
    return folder


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def check(name: str, sys: Path, proc: Path) -> HostCheck:
    return next(one for one in host_checks(sys, proc) if one.name == name)


def test_what_cannot_be_read_is_not_evaluated_and_not_fine(sys: Path, tmp_path: Path) -> None:
    found = {str(one.name): one.state for one in host_checks(sys, tmp_path / "nothing")}
    assert found["ephemeral ports"] == "not evaluated"
    assert found["frequency governor"] == "not evaluated"
    assert found["receive packet steering"] == "not evaluated"
    assert found["others on its cores"] == "not evaluated"


def test_few_ports_are_said_with_the_command(sys: Path, proc: Path) -> None:
    assert check("ephemeral ports", sys, proc).state == "good"
    write(proc / "sys/net/ipv4/ip_local_port_range", "60000 60999")
    found = check("ephemeral ports", sys, proc)
    assert (found.state, found.found) == ("change", "1,000 TCP connections to one address and port")
    assert "ip_local_port_range" in (found.advice or "")


def test_a_whole_system_limit_of_descriptors_counts(sys: Path, proc: Path) -> None:
    write(proc / "sys/fs/file-max", "900")
    found = check("file descriptors", sys, proc)
    assert (found.state, found.found) == ("change", "at most 900 connections from this process")


@pytest.mark.skipif((os.cpu_count() or 1) == 1, reason="one core needs no steering")
def test_one_queue_without_steering_is_named(sys: Path, proc: Path) -> None:
    mask = sys / "class/net/eth0/queues/rx-0/rps_cpus"
    write(mask, "00")
    write(sys / "class/net/eth0/device", "a card")
    write(sys / "class/net/lo/queues/rx-0/rps_cpus", "0")
    found = check("receive packet steering", sys, proc)
    assert (found.state, "eth0" in found.found) == ("change", True)
    assert "rps_cpus" in (found.advice or "")
    write(mask, "3")
    assert check("receive packet steering", sys, proc).state == "good"


def test_more_queues_need_no_steering(sys: Path, proc: Path) -> None:
    write(sys / "class/net/eth0/device", "a card")
    for queue in (0, 1):
        write(sys / f"class/net/eth0/queues/rx-{queue}/rps_cpus", "0")
    assert check("receive packet steering", sys, proc).state == "good"


def test_a_governor_that_follows_the_load_is_named(sys: Path, proc: Path) -> None:
    governor = sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"
    write(governor, "powersave")
    assert check("frequency governor", sys, proc).found == "powersave"
    write(governor, "performance")
    assert check("frequency governor", sys, proc).state == "good"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"cpu.max": "50000 100000"}, "0.5 cores per period of 100 ms"),
        ({"cpu.max": "max 100000"}, "none"),
        (
            {"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"},
            "1.5 cores per period of 100 ms",
        ),
        ({"cpu/cpu.cfs_quota_us": "-1"}, "none"),
    ],
)
def test_a_quota_is_found_in_both_versions(
    sys: Path, proc: Path, files: dict[str, str], found: str
) -> None:
    for name, text in files.items():
        write(sys / "fs/cgroup" / name, text)
    assert check("CPU quota", sys, proc).found == found


def test_this_machine_has_an_answer_to_everything() -> None:
    checks = host_checks()
    assert len(checks) == 6
    for one in checks:
        assert one.found
        assert (one.advice is not None) == (one.state == "change")
