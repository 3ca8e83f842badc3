"""This machine's figures against those of psutil, iostat, pidstat and the kernel's files."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from loadstone.model.observed import Reading, SourceName
from loadstone.observe.local import LocalHost
from observe.other_tools import SERVER_HOST, as_root, between, ended, environment, program, writing

WINDOW_S = 3
BUSY = [sys.executable, "-c", "while True: sum(range(10000)); open('/proc/stat').read()"]
# A third of a core in small portions: the same in any second, however busy the machine is, and in
# two windows that do not begin and end together they differ by one portion, 0.1 % of a window.
STEADY = """
import time
due = time.monotonic()
while True:
    began = time.process_time()
    while time.process_time() - began < 0.004:
        sum(range(2000)); open("/proc/stat").read()
    due += 0.013
    time.sleep(max(due - time.monotonic(), 0))
"""


@contextmanager
def local(pid: int | None = None, datadir: Path | None = None) -> Iterator[LocalHost]:
    source = LocalHost(SERVER_HOST, pid=pid, datadir=datadir)
    try:
        yield source
    finally:
        source.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@contextmanager
def busy_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that computes and makes system calls, on one core."""
    with ended(subprocess.Popen(BUSY)) as process:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process.pid, {cores[-1]})
        yield process


def psutils() -> dict[str, float]:
    """psutil's values, under our names."""
    found: dict[str, float] = {}
    modes = {"user": "user_s", "nice": "nice_s", "system": "system_s", "softirq": "softirq_s"}
    for number, core in enumerate(psutil.cpu_times(percpu=True)):
        for theirs, ours in modes.items():
            found[f"cpu.{number}.{ours}"] = getattr(core, theirs)
    for disk, of_disk in psutil.disk_io_counters(perdisk=True).items():
        found[f"disk.{disk}.reads"] = of_disk.read_count
        found[f"disk.{disk}.writes"] = of_disk.write_count
        found[f"disk.{disk}.read_bytes"] = of_disk.read_bytes
        found[f"disk.{disk}.written_bytes"] = of_disk.write_bytes
    for nic, of_nic in psutil.net_io_counters(pernic=True).items():
        found[f"nic.{nic}.bytes_in"] = of_nic.bytes_recv
        found[f"nic.{nic}.bytes_out"] = of_nic.bytes_sent
        found[f"nic.{nic}.packets_in"] = of_nic.packets_recv
        found[f"nic.{nic}.packets_out"] = of_nic.packets_sent
        found[f"nic.{nic}.drops_in"] = of_nic.dropin
    found["context_switches"] = psutil.cpu_stats().ctx_switches
    own = psutil.Process()
    with own.oneshot():
        found["process.cpu_user_s"] = own.cpu_times().user
        found["process.cpu_sys_s"] = own.cpu_times().system
        found["process.read_calls"] = own.io_counters().read_count
    return found


def test_each_counter_lies_between_two_looks_of_psutil(tmp_path: Path) -> None:
    with local(os.getpid()) as source, writing(tmp_path):
        source.read()
        before, reading, after = psutils(), source.read(), psutils()
        threads = psutil.Process().num_threads()
    shared = before.keys() & after.keys() & reading.counters.keys()
    assert {"cpu.0.user_s", "context_switches", "nic.lo.bytes_out", "process.cpu_user_s"} <= shared
    assert any(name.startswith("disk.") for name in shared)
    outside = {
        name: (before[name], reading.counters[name], after[name])
        for name in shared
        # psutil rounds nothing, but its times and ours are divided in different orders
        if not before[name] - 1e-6 <= reading.counters[name] <= after[name] + 1e-6
    }
    assert not outside
    memory = psutil.virtual_memory()
    assert reading.gauges["memory.total_bytes"] == memory.total
    assert reading.gauges["memory.available_bytes"] == pytest.approx(memory.available, rel=0.05)
    assert reading.gauges["process.threads"] == threads
    assert reading.facts["cores_online"] == str(psutil.cpu_count())


def differences_from_iostat(folder: Path, window_s: int) -> dict[str, tuple[float, float]]:
    """The figures of which ours and iostat's differ, with both values."""
    with local(datadir=folder) as source:
        disk = source.read().facts.get("data_disk")
        if disk is None:
            pytest.skip("not evaluated: the folder for temporary files is on no disk")
        command = [program("iostat"), "-d", "-x", "-k", "-o", "JSON", disk, str(window_s), "2"]
        with writing(folder):
            before = source.read()
            said = subprocess.run(command, capture_output=True, env=environment(), check=True)
            after = source.read()
    windows = json.loads(said.stdout)["sysstat"]["hosts"][0]["statistics"]
    theirs = windows[-1]["disk"][0]
    assert theirs["w/s"] > 20

    def ours(figure: str) -> float:
        return between(before, after, f"disk.{disk}.{figure}")

    pairs = {
        "w/s": (ours("writes"), 0.0),
        "wkB/s": (ours("written_bytes") / 1024, 0.0),
        "w_await": (ours("write_s") / ours("writes") * 1e3, 0.02),
        "util": (ours("io_s") * 100, 0.5),
    }
    if f"disk.{disk}.flushes" in after.counters:
        pairs["f/s"] = (ours("flushes"), 0.5)
    return {
        figure: (value, theirs[figure])
        for figure, (value, allowed) in pairs.items()
        if value != pytest.approx(theirs[figure], rel=0.02, abs=allowed)
    }


@pytest.mark.timing
def test_disk_figures_are_those_of_iostat(tmp_path: Path) -> None:
    # Our window is longer by a program's start. What others write in that time is only in ours; a
    # wrong unit or formula is wrong in every window.
    found = [differences_from_iostat(tmp_path, WINDOW_S)]
    while found[-1] and len(found) < 3:
        found.append(differences_from_iostat(tmp_path, WINDOW_S))
    assert not found[-1], found


@pytest.mark.timing
def test_a_processs_time_is_that_of_pidstat() -> None:
    # A machine that stands still at an edge of a window moves work out of one into the other; a
    # wrong unit is wrong in every window.
    found = [differences_from_pidstat()]
    while found[-1] and len(found) < 3:
        found.append(differences_from_pidstat())
    assert not found[-1], found


def differences_from_pidstat() -> dict[str, tuple[float, float]]:
    """Shares of a core, in percent, that are not pidstat's: ours and its."""
    steady = subprocess.Popen([sys.executable, "-c", STEADY])
    with ended(steady) as process, local(process.pid) as source:
        command = [program("pidstat"), "-u", "-p", str(process.pid), str(WINDOW_S), "1"]
        time.sleep(0.5)
        before = source.read()
        said = subprocess.run(
            command, capture_output=True, text=True, env=environment(), check=True
        ).stdout
        after = source.read()
    line = next(
        line for line in said.splitlines() if line.startswith("Average:") and "%" not in line
    )
    words = line.split()
    assert words[2] == str(process.pid)
    user, system = float(words[3]), float(words[4])
    ticks = 100 * 0.01 / WINDOW_S  # each of the two may cut a tick off
    ours = {
        name: between(before, after, f"process.{name}") * 100
        for name in ("cpu_user_s", "cpu_sys_s")
    }
    both = ours["cpu_user_s"] + ours["cpu_sys_s"]
    assert both > 5
    # The kernel shares the sum by the ticks at which tasks ran, here a few hundred.
    compared = {"both": (both, user + system, 0.02), "user": (ours["cpu_user_s"], user, 0.05)}
    return {
        name: (ours, theirs)
        for name, (ours, theirs, rel) in compared.items()
        if ours != pytest.approx(theirs, rel=rel, abs=2 * ticks)
    }


def test_a_process_between_is_counted_apart_from_the_server() -> None:
    with busy_process() as process:
        source = LocalHost(SERVER_HOST, pid=os.getpid())
        source.between = process.pid
        before = source.read()
        time.sleep(0.5)
        after = source.read()
        source.close()
    assert between(before, after, "between.cpu_s") > 0
    # It never rests: it runs, or waits for a core.
    run, delay = (between(before, after, f"between.thread_{name}_s") for name in ("run", "delay"))
    # What it waited for is counted when it is over: a wait that began earlier may be among it.
    assert run > 0
    assert run + delay >= 0.5 * (after.at_s - before.at_s)


def test_a_busy_core_is_the_one_that_works() -> None:
    with busy_process() as process, local(process.pid) as source:
        core = next(iter(os.sched_getaffinity(process.pid)))
        before = source.read()
        time.sleep(1)
        after = source.read()
    modes = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s")
    worked = sum(between(before, after, f"cpu.{core}.{mode}") for mode in modes)
    process_s = between(before, after, "process.cpu_user_s") + between(
        before, after, "process.cpu_sys_s"
    )
    # A core's time is counted in ticks, a process's is exact.
    assert worked >= process_s * 0.9 > 0
    assert after.gauges["process.cpus_allowed"] == 1


def raw_interfaces() -> dict[str, list[int]]:
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return {
        line.split(":")[0].strip(): [int(word) for word in line.split(":")[1].split()]
        for line in lines
    }


def send(size: int) -> None:
    """Send this many bytes over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def receive() -> None:
            peer, _ = server.accept()
            with peer:
                while peer.recv(1 << 20):
                    pass

        receiver = threading.Thread(target=receive)
        receiver.start()
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(bytes(size))
        receiver.join()


def test_interfaces_are_as_the_kernels_file_has_them() -> None:
    with local() as source:
        earliest, before, early = raw_interfaces(), source.read(), raw_interfaces()
        send(50 << 20)
        late, after, latest = raw_interfaces(), source.read(), raw_interfaces()
    for nic, first in early.items():
        for name, column in (("bytes_in", 0), ("packets_in", 1), ("bytes_out", 8)):
            ours = after.counters[f"nic.{nic}.{name}"] - before.counters[f"nic.{nic}.{name}"]
            # Each of ours is between two of the file's, however busy lo is with other tests.
            least = late[nic][column] - first[column]
            most = latest[nic][column] - earliest[nic][column]
            assert least <= ours <= most, (nic, name)
    assert after.counters["nic.lo.bytes_out"] - before.counters["nic.lo.bytes_out"] >= 50 << 20


def test_the_disk_of_a_folder_is_what_sysfs_says(tmp_path: Path) -> None:
    with local(datadir=tmp_path) as source:
        found = source.read().facts.get("data_disk")
    device = tmp_path.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not place.exists():
        pytest.skip(
            "not evaluated: the folder for temporary files is on no block device of its own"
        )
    real = place.resolve()
    assert found == (real.parent.name if (real / "partition").exists() else real.name)


def test_the_interface_towards_this_machine_is_loopback() -> None:
    for peer in ("localhost", "127.0.0.1", "::1"):
        source = LocalHost(SERVER_HOST, peer=peer)
        assert source.read().facts["traffic_nic"] == "lo"
        source.close()
    source = LocalHost(SERVER_HOST, peer="no-such-host.invalid")
    assert "traffic_nic" not in source.read().facts
    source.close()


def test_interfaces_without_hardware_are_marked() -> None:
    with local() as source:
        facts = source.read().facts
    for nic in raw_interfaces():
        device = Path(f"/sys/class/net/{nic}/device")
        if not device.exists():
            assert facts[f"nic.{nic}.virtual"] == "yes"
        speed = facts.get(f"nic.{nic}.speed_mbit")
        assert speed is None or speed == (device.parent / "speed").read_text().strip()
    assert "nic.lo.speed_mbit" not in facts


def test_a_process_that_ends_takes_its_figures_along_and_the_host_stays() -> None:
    with ended(subprocess.Popen(["sleep", "60"])) as process, local(process.pid) as source:
        before = source.read()
        assert before.facts["process.pid"] == str(process.pid)
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        as_zombie = source.read()
        process.wait()
        gone = source.read()
    for after in (as_zombie, gone):
        assert not [name for name in after.counters if name.startswith("process.")]
        assert "process.pid" not in after.facts
        assert after.counters.keys() >= {"cpu.user_s", "nic.lo.bytes_in", "context_switches"}


def test_a_process_that_never_was_leaves_the_host() -> None:
    with local(2**22 + 1) as source:
        reading = source.read()
    assert "process.pid" not in reading.facts
    assert "nic.lo.bytes_in" in reading.counters


@as_root
def test_a_process_in_a_namespace_has_its_interfaces() -> None:
    with ended(subprocess.Popen(["unshare", "--net", "sleep", "60"])) as process:
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        with local(process.pid) as source:
            before = source.read()
            send(1 << 20)
            after = source.read()
    nics = {name.split(".")[1] for name in before.counters if name.startswith("nic.")}
    assert "lo" in nics
    assert nics < set(raw_interfaces()) | {"lo"} or nics == {"lo"}
    assert after.counters["nic.lo.bytes_out"] == before.counters["nic.lo.bytes_out"] == 0
    assert not [fact for fact in after.facts if fact.startswith("nic.")]


@contextmanager
def limited_to(cores: float, pid: int) -> Iterator[None]:
    """Create a control group with a limit of this many cores, for one process."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        group = Path("/sys/fs/cgroup") / f"loadstone-test-{os.getpid()}"
        limits = {"cpu.max": f"{int(cores * 100_000)} 100000"}
    else:
        group = Path("/sys/fs/cgroup/cpu") / f"loadstone-test-{os.getpid()}"
        limits = {"cpu.cfs_quota_us": str(int(cores * 100_000))}
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"not evaluated: no control group can be made here ({error.strerror})")
    try:
        try:
            for name, value in limits.items():
                (group / name).write_text(value)
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            pytest.skip(f"not evaluated: the group takes no limit ({error.strerror})")
        yield
    finally:
        parent = group.parent / "cgroup.procs"
        parent.write_text(str(pid))
        group.rmdir()


@as_root
@pytest.mark.slow
def test_a_limit_that_is_set_while_we_look_is_seen_with_what_it_holds_back() -> None:
    with busy_process() as process, local(process.pid) as source:
        assert "cgroup.cpu_cores" not in source.read().gauges
        # A limit so low that the process could have more however many others need this core.
        with limited_to(0.1, process.pid):
            source.read()
            before = source.read()
            time.sleep(2)
            after = source.read()
    assert after.gauges["cgroup.cpu_cores"] == pytest.approx(0.1)
    used = sum(between(before, after, f"process.{name}") for name in ("cpu_user_s", "cpu_sys_s"))
    assert used <= 0.13
    if "cgroup.cpu_s" in after.counters:
        assert between(before, after, "cgroup.cpu_s") == pytest.approx(used, abs=0.03)
    assert between(before, after, "cgroup.throttled_s") > 0
    assert between(before, after, "cgroup.throttled_periods") > 0


def test_a_reading_costs_little() -> None:
    with local(os.getpid(), Path("/")) as source:
        source.read()
        began = time.thread_time()
        for _ in range(200):
            source.read()
        cost_s = (time.thread_time() - began) / 200
    assert cost_s < 0.005  # 1.5 ms are requested; others are at work here, too


def test_files_are_closed_and_a_reading_opens_them_again() -> None:
    folder = Path(f"/proc/{os.getpid()}/fd")
    before = len(list(folder.iterdir()))
    source = LocalHost(SourceName(role="generator-host"))
    first: Reading = source.read()
    assert len(list(folder.iterdir())) > before
    source.close()
    assert len(list(folder.iterdir())) == before
    assert source.read().counters.keys() == first.counters.keys()
    source.close()
    assert re.fullmatch(r"\d+", first.facts["cores_online"])


def test_a_server_that_was_started_again_is_found_again() -> None:
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        source = LocalHost(SourceName(role="server-host"), pid=first.pid, find=lambda: second.pid)
        try:
            assert source.read().facts["process.pid"] == str(first.pid)
            first.kill()
            first.wait()
            seen = [source.read().facts.get("process.pid") for _ in range(3)]
            assert seen[-1] == str(second.pid)
        finally:
            source.close()
            second.kill()
