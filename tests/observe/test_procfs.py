"""The kernel's texts, recorded together with the right answers, and hostile texts."""

import math
from collections.abc import Callable
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.observe import process, procfs
from loadstone.observe.host import Host, Subject
from loadstone.observe.latest import Figures, Scale
from loadstone.observe.process_tree import MOST_READ, ProcessTree

SCALE = Scale(ticks_per_s=100, page_bytes=4096)

STAT = """\
cpu  2176455 7 896334 1343687 120039 3 297364 15516 11 0
cpu0 1046391 0 438500 752758 32193 0 148002 7425 0 0
cpu1 1130063 0 457833 590929 87846 0 149361 8091 0 0
intr 63800254 0 0 0 14 0 0 0
ctxt 527817829
btime 1795320315
processes 1285560
procs_running 4
procs_blocked 1
softirq 664675816 0 3067931 14 649066430 5777678 0 1697 2988276 119450 3654340
"""
DISKSTATS = """\
   7       0 loop0 5 0 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5
 254       0 vda 5153222 235794 269777914 28632532 4388331 1379383 438500240 3238380 2 1954104 \
32219715 434958 36 446917952 217088 1181980 131713
 254       1 vda1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
 259       0 nvme0n1 10 0 80 20 30 0 240 40 0 50 60
 259       1 nvme0n1p1 10 0 80 20 30 0 240 40 0 50 60
 202       1 xvda1 1 0 8 1 1 0 8 1 0 1 2
 253       0 dm-0 3 0 8 1 1 0 8 1 0 1 2
   8      16 sdb 3 0 8 x 1 0 8 1 0 1 2
 251       0 zram0 3 0 8 1 1 0 8 1 0 1 2
   8      17
"""
NETDEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 159255417925 692170961    0 4771    0     0          0         0 159255417925 692170961 \
   0    0    0     0       0          0
eth0.100:2215863384   83351    1    2    0     0          0         0  4082173   45388    3    4 \
   0     0       0          0
 short: 1 2 3
"""
MEMINFO = """\
MemTotal:        8141312 kB
MemFree:         1000000 kB
MemAvailable:    7000000 kB
Cached:          2000000 kB
SwapCached:            0 kB
SwapTotal:       2097152 kB
SwapFree:        2097052 kB
Dirty:               120 kB
Writeback:             4 kB
HugePages_Total:       0
"""
VMSTAT = "nr_free_pages 1\npswpin 5\npswpout 7\npgfault 1000\npgmajfault 10\nworkingset 2\n"
PRESSURE = """\
some avg10=0.12 avg60=0.05 avg300=0.01 total=1234567
full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs OutSegs RetransSegs
Tcp: 1 200 120000 -1 5 600 700 8
"""
PROCESS_STAT = (
    "20756 (my) sql d) S 20739 20739 19425 0 -1 4194304 101 0 9 0 250 50 0 0 20 0 38 0 2446094 "
    "3133440 380 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0"
)
PROCESS_IO = "rchar: 6976\nwchar: 10\nsyscr: 11\nsyscw: 12\nread_bytes: 4096\nwrite_bytes: 8192\n"
PROCESS_STATUS = "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-2,7\n"

Parse = Callable[[str, Figures], None]
PARSERS: dict[str, tuple[Parse, str]] = {
    "stat": (lambda text, into: procfs.cpu(text, SCALE, into), STAT),
    "diskstats": (procfs.disks, DISKSTATS),
    "net/dev": (procfs.nics, NETDEV),
    "meminfo": (procfs.memory, MEMINFO),
    "vmstat": (procfs.paging, VMSTAT),
    "loadavg": (procfs.load, "0.66 1.11 3.25 3/103 20749\n"),
    "pressure": (lambda text, into: procfs.pressure("io", text, into), PRESSURE),
    "snmp": (procfs.tcp, SNMP),
    "PID/stat": (lambda text, into: process.stat(text, SCALE, into), PROCESS_STAT),
    "PID/io": (process.io, PROCESS_IO),
    "PID/status": (process.allowed, PROCESS_STATUS),
}


def said(name: str) -> Figures:
    parse, text = PARSERS[name]
    into = Figures()
    parse(text, into)
    return into


def test_time_of_cores_is_in_seconds_by_mode() -> None:
    figures = said("stat")
    assert figures.counters["cpu.user_s"] == 21764.55
    assert figures.counters["cpu.nice_s"] == 0.07
    assert figures.counters["cpu.steal_s"] == 155.16
    assert figures.counters["cpu.1.system_s"] == 4578.33
    assert figures.counters["cpu.0.softirq_s"] == 1480.02
    assert figures.counters["context_switches"] == 527817829
    assert figures.counters["forks"] == 1285560
    assert figures.gauges == {"run_queue": 4, "blocked": 1}
    assert figures.facts == {"cores_online": "2"}
    assert len(figures.counters) == 3 * 8 + 2


def test_a_core_that_is_offline_is_not_counted() -> None:
    into = Figures()
    procfs.cpu(STAT.replace("cpu0 ", "cpuX "), SCALE, into)
    assert into.facts == {"cores_online": "1"}
    assert not [name for name in into.counters if name.startswith(("cpu.0.", "cpu.X"))]


def test_a_disk_has_operations_bytes_times_and_flushes() -> None:
    figures = said("diskstats")
    vda = {name: value for name, value in figures.counters.items() if name.startswith("disk.vda.")}
    assert vda == {
        "disk.vda.reads": 5153222,
        "disk.vda.read_bytes": 269777914 * 512,
        "disk.vda.read_s": pytest.approx(28632.532),
        "disk.vda.writes": 4388331,
        "disk.vda.written_bytes": 438500240 * 512,
        "disk.vda.write_s": pytest.approx(3238.380),
        "disk.vda.io_s": pytest.approx(1954.104),
        "disk.vda.weighted_s": pytest.approx(32219.715),
        "disk.vda.flushes": 1181980,
        "disk.vda.flush_s": pytest.approx(131.713),
    }
    assert figures.gauges["disk.vda.in_flight"] == 2


def test_partitions_loops_and_lines_that_are_broken_are_no_disks() -> None:
    disks = {name.split(".")[1] for name in said("diskstats").counters}
    assert disks == {"vda", "nvme0n1", "xvda1", "dm-0"}


def test_an_old_kernel_counts_no_flushes_which_is_not_nought() -> None:
    assert "disk.nvme0n1.flushes" not in said("diskstats").counters


@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("sda1", "sda"),
        ("sda", "sda"),
        ("nvme0n1p12", "nvme0n1"),
        ("nvme0n1", "nvme0n1"),
        ("mmcblk0p1", "mmcblk0"),
        ("md127", "md127"),
        ("md127p1", "md127"),
        ("dm-3", "dm-3"),
        ("xvda1", "xvda1"),
    ],
)
def test_a_partition_is_known_by_its_disks_name(name: str, disk: str) -> None:
    known = {"sda", "nvme0n1", "mmcblk0", "md127", "dm-3", name}
    assert procfs.disk_of_partition(name, known) == disk


def test_interfaces_have_both_directions() -> None:
    figures = said("net/dev")
    eth = {k: v for k, v in figures.counters.items() if k.startswith("nic.eth0.100.")}
    assert eth == {
        "nic.eth0.100.bytes_in": 2215863384,
        "nic.eth0.100.packets_in": 83351,
        "nic.eth0.100.errors_in": 1,
        "nic.eth0.100.drops_in": 2,
        "nic.eth0.100.bytes_out": 4082173,
        "nic.eth0.100.packets_out": 45388,
        "nic.eth0.100.errors_out": 3,
        "nic.eth0.100.drops_out": 4,
    }
    assert procfs.nic_names(NETDEV) == ["lo", "eth0.100"]


def test_memory_is_in_bytes_and_swap_is_what_is_used() -> None:
    assert said("meminfo").gauges == {
        "memory.total_bytes": 8141312 * 1024,
        "memory.free_bytes": 1000000 * 1024,
        "memory.available_bytes": 7000000 * 1024,
        "memory.cached_bytes": 2000000 * 1024,
        "memory.dirty_bytes": 120 * 1024,
        "memory.writeback_bytes": 4 * 1024,
        "memory.swap_used_bytes": 100 * 1024,
    }


def test_minor_faults_are_those_that_are_not_major() -> None:
    assert said("vmstat").counters == {
        "memory.swap_in_pages": 5,
        "memory.swap_out_pages": 7,
        "memory.major_faults": 10,
        "memory.minor_faults": 990,
    }


def test_load_pressure_and_segments() -> None:
    assert said("loadavg").gauges == {"load_1m": 0.66, "load_5m": 1.11, "load_15m": 3.25}
    assert said("pressure").counters == {
        "pressure.io.some_s": pytest.approx(1.234567),
        "pressure.io.full_s": 1.0,
    }
    assert said("snmp").counters == {"tcp.segments_out": 700, "tcp.retransmits": 8}


def test_nobody_counts_how_long_all_tasks_wait_for_a_core() -> None:
    into = Figures()
    procfs.pressure("cpu", PRESSURE, into)
    assert into.counters == {"pressure.cpu.some_s": pytest.approx(1.234567)}


def test_a_process_with_an_odd_name() -> None:
    figures = said("PID/stat")
    assert figures.counters == {
        "process.cpu_user_s": 2.5,
        "process.cpu_sys_s": 0.5,
        "process.minor_faults": 101,
        "process.major_faults": 9,
    }
    assert figures.gauges == {
        "process.threads": 38,
        "process.rss_bytes": 380 * 4096,
        "process.stopped": 0,
    }
    stopped = Figures()
    process.stat(PROCESS_STAT.replace(" S ", " T "), SCALE, stopped)
    assert stopped.gauges["process.stopped"] == 1
    assert process.started_ticks(PROCESS_STAT) == 2446094
    assert not process.has_ended(PROCESS_STAT)
    assert process.parent(PROCESS_STAT) == 20739
    assert process.name_in(PROCESS_STAT) == "my) sql d"
    assert process.has_ended(PROCESS_STAT.replace(" S ", " Z "))


def of_process(pid: int, *ticks: int, name: str = "postgres") -> str:
    """The line of /proc/PID/stat: ticks in user mode and the kernel, and those waited for."""
    user, system, waited_user, waited_system = (*ticks, 0, 0, 0)[:4]
    return (
        f"{pid} ({name}) S 1 {pid} {pid} 0 -1 4194560 9 9 0 0"
        f" {user} {system} {waited_user} {waited_system} 20 0 1 0 777 999 88 0"
    )


def test_a_server_s_processes_are_counted_together_those_that_have_ended_too() -> None:
    children = {11: of_process(11, 100, 50, 9999, 9999), 12: of_process(12, 200, 70), 13: "torn"}
    tree, into = ProcessTree(), Figures()
    tree.add(of_process(10, 1, 2, 1000, 500), children, SCALE, into)
    cpu = {"process.cpu_user_s": 13.01, "process.cpu_sys_s": 6.22}
    assert into.counters == {**cpu, "process.major_faults": 0}
    assert into.gauges == {"process.threads": 4, "process.stopped": 0}
    assert process.children_in("11 12 \n") == (11, 12)
    tree.add("torn", children, SCALE, nothing := Figures())
    assert not nothing.counters


def faulting(pid: int, own: int, waited: int = 0) -> str:
    return of_process(pid, 1, 1).replace(" 9 9 0 0 ", f" 9 9 {own} {waited} ")


def test_page_faults_of_a_server_s_processes_are_those_since_they_were_first_read() -> None:
    tree = ProcessTree()

    def faults(own: str, children: dict[int, str | None]) -> float:
        into = Figures()
        tree.add(own, children, SCALE, into)
        return into.counters["process.major_faults"]

    begun = faults(faulting(10, 5), {11: faulting(11, 100)})
    assert faults(faulting(10, 5), {11: faulting(11, 130), 12: faulting(12, 40)}) == begun + 30
    assert faults(faulting(10, 6), {11: faulting(11, 130), 12: faulting(12, 47)}) == begun + 38
    # The parent has waited for one that had 130 faults, of which 100 were before.
    assert faults(faulting(10, 6, 130), {12: faulting(12, 47)}) == begun + 38


def io(read: int, written: int) -> str:
    return f"rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 2\nread_bytes: {read}\nwrite_bytes: {written}\n"


def test_the_bytes_of_a_server_s_processes_are_added_up_if_all_may_be_read() -> None:
    stat = "S 1 1 1 0 -1 0 9 9 0 0 0 0 0 0 20 0 1 0 777 999 88 0"
    texts = {
        "/proc/10/stat": f"10 (postgres) {stat}",
        "/proc/10/task/10/children": "11 12",
        "/proc/11/stat": f"11 (postgres) {stat}",
        "/proc/12/stat": f"12 (postgres) {stat}",
        "/proc/10/io": io(4096, 0),
        "/proc/11/io": io(8192, 100),
        "/proc/12/io": io(0, 200),
    }
    host = Host(Subject(pid=10), SCALE)
    host.learn(texts)
    counters = host.figures(texts).counters
    assert (counters["process.read_bytes"], counters["process.written_bytes"]) == (12288, 300)
    del texts["/proc/12/io"]
    assert "process.read_bytes" not in host.figures(texts).counters


def test_of_very_many_processes_some_are_read_each_time_and_none_is_forgotten() -> None:
    tree, clock = ProcessTree(), 0
    before = {pid: 1000 for pid in range(100, 100 + 2 * MOST_READ)}
    later = {pid: 0 for pid in range(5000, 5000 + 2 * MOST_READ)}
    totals, read_at = [], dict.fromkeys([*before, *later], -1)

    def look(used: dict[int, int], waited: int = 0) -> float:
        nonlocal clock
        due = tree.due(used)
        assert len(due) == MOST_READ
        assert tree.due(used) == due  # until they are read
        read_at.update(dict.fromkeys(due, clock))
        clock += 1
        texts = {pid: of_process(pid, used[pid], 0) if pid in due else None for pid in used}
        tree.add(of_process(10, 0, 0, waited, 0), texts, SCALE, into := Figures())
        return into.counters["process.cpu_user_s"]

    base = look(before)
    # What those that are not read yet have used before is no growth.
    assert look(before) == base
    # Each process of new users takes 0.1 s a reading. A round has four readings.
    used = before | later
    for reading in range(1, 41):
        used = {pid: ticks + 10 * (pid in later) for pid, ticks in used.items()}
        totals.append(look(used) - base)
        if reading > 4:
            assert min(read_at.values()) >= clock - 4
    rate = len(later) * 0.1
    assert (totals[39] - totals[7]) / 32 == pytest.approx(rate)
    # All end, and the server has waited for them: what was not read yet is counted then.
    ended = {pid: ticks for pid, ticks in used.items() if pid in before}
    total = look(ended, waited=sum(used[pid] for pid in later)) - base
    assert total == pytest.approx(40 * rate)


@pytest.mark.parametrize(
    ("name", "children", "seconds"),
    [
        ("postgres", "11\n", 3.0),
        ("ld-linux-x86-64", "11\n", 3.0),
        ("ld-linux-x86-64", "", 1.0),
        ("mysqld", "11\n", 1.0),
    ],
)
def test_only_a_server_that_works_in_its_children_is_counted_with_them(
    name: str, children: str, seconds: float
) -> None:
    texts = {
        "/proc/10/stat": of_process(10, 100, 0, name=name),
        "/proc/10/task/10/children": children,
        "/proc/11/stat": of_process(11, 200, 0),
    }
    host = Host(Subject(pid=10), SCALE)
    host.learn(texts)
    wanted = {*host.paths, *host.further_paths(texts)}
    read = {path: text for path, text in texts.items() if path in wanted}
    assert host.figures(read).counters["process.cpu_user_s"] == seconds


def test_a_processs_input_and_output_and_where_it_may_run() -> None:
    assert said("PID/io").counters == {
        "process.read_calls": 11,
        "process.write_calls": 12,
        "process.read_bytes": 4096,
        "process.written_bytes": 8192,
    }
    assert said("PID/status").gauges == {"process.cpus_allowed": 4}


@st.composite
def mangled(draw: st.DrawFn, text: str) -> str:
    """A text of the kernel with pieces removed and others inserted."""
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(text)))
        last = draw(st.integers(first, min(len(text), first + 40)))
        piece = draw(
            st.one_of(
                st.text(max_size=8),
                st.sampled_from(
                    ["-1", "1e999", "nan", "9" * 30, "²", "\x00", "\n", ":", " ", "_1"]
                ),
            )
        )
        text = text[:first] + piece + text[last:]
    return text


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_a_hostile_text_gives_numbers_or_nothing(name: str, data: st.DataObject) -> None:
    parse, text = PARSERS[name]
    into = Figures()
    parse(data.draw(st.one_of(st.text(), mangled(text))), into)
    for value in (*into.counters.values(), *into.gauges.values()):
        assert math.isfinite(value)


def test_a_line_that_is_broken_takes_nothing_along() -> None:
    whole, broken = Figures(), Figures()
    procfs.nics(NETDEV, whole)
    procfs.nics(NETDEV + dedent("  eth7: 1 2 3 4 5 6 7 x 9 10 11 12 13 14 15 16\n"), broken)
    assert whole == broken
