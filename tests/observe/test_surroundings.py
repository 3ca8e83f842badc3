"""A server's surroundings: from texts of known machines, and this machine's compared with other
tools."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.host_environment import HOST_FACTS
from loadstone.observe.host_environment import (
    Seen,
    libc_of_banner,
    libc_of_process,
    libc_places,
    paths_of,
    surroundings,
)
from loadstone.observe.latest import Figures
from loadstone.observe.local import LocalHost, data_device
from observe.other_tools import SERVER_HOST

MAPS = """\
55d0c000-55d0d000 r--p 00000000 fe:00 11 /usr/sbin/mariadbd
7f1000-7f2000 r--p 00000000 fe:00 12 /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
7f3000-7f4000 r--p 00000000 fe:00 13 /srv/old/lib/x86_64-linux-gnu/libc-2.31.so
7f4000-7f5000 r-xp 00001000 fe:00 13 /srv/old/lib/x86_64-linux-gnu/libc-2.31.so
"""
BANNER = b"\0GNU C Library (Debian GLIBC 2.31-13+deb11u11) stable release version 2.31.\nCopyright"
MOUNTS = """\
1 0 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard
2 1 254:17 / /srv rw,noatime - xfs /dev/vdb1 rw,attr2,inode64
3 1 0:40 / /srv/tmp rw - tmpfs tmpfs rw
"""
TEXTS = {
    "/proc/7/maps": MAPS,
    "/proc/7/mountinfo": MOUNTS,
    "/proc/7/root/usr/lib/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\n',
    "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: EPYC\nflags\t\t: fpu sse2\n\nprocessor\t: 1\n",
    "/proc/meminfo": "MemTotal:       32780000 kB\nSwapTotal: 0 kB\nHugePages_Total:     16\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/devices/system/cpu/vulnerabilities/spectre_v2": "Mitigation: Retpolines\n",
    "/sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected\n",
    "/sys/dev/block/254:17/../queue/scheduler": "[none] mq-deadline\n",
    "/sys/dev/block/254:17/../queue/rotational": "0\n",
}


def seen_with(texts: dict[str, str], **figures: dict[str, float]) -> Seen:
    return Seen(
        texts=texts,
        figures=Figures(gauges=figures.get("gauges", {}), facts={"traffic_nic": "lo"}),
        pid=7,
        device="254:17",
        datadir="/srv/mysql/",
        libc="glibc 2.31",
    )


def test_a_known_machine_is_told_in_full() -> None:
    gauges = {"cgroup.cpu_cores": 1.5, "cgroup.disk.vdb.write_iops": 500.0}
    known = surroundings(seen_with(TEXTS, gauges=gauges)).known
    assert list(known) == [name for name in HOST_FACTS if name in known]
    assert known == {
        "os": "Debian GNU/Linux 11 (bullseye)",
        "kernel": "6.1.0-18-amd64",
        "libc": "glibc 2.31",
        "allocator": "jemalloc",
        "cpu": "EPYC",
        "cores": "2",
        "governor": "performance",
        "mitigations": "spectre_v2: Mitigation: Retpolines",
        "hypervisor": "no",
        "memory": "32011 MiB",
        "swap": "0 MiB",
        "huge_pages": "madvise",
        "huge_pages_reserved": "16",
        "file_system": "xfs",
        "mount_options": "attr2,inode64,noatime,rw",
        "io_scheduler": "none",
        "rotational": "no",
        "nic_speed": "none: the loopback",
        "cgroup_cores": "1.5",
        "cgroup_memory": "no limit",
        "cgroup_io": "write_iops 500",
    }


def test_each_fact_is_known_or_says_why_not() -> None:
    for found in (surroundings(seen_with(TEXTS)), surroundings(seen_with({}))):
        assert found.known.keys() | found.not_evaluated.keys() == HOST_FACTS.keys()
        assert not found.known.keys() & found.not_evaluated.keys()
        assert all(found.known.values())
        assert all(found.not_evaluated.values())


def test_a_process_tells_its_own_libc_and_not_the_hosts() -> None:
    assert libc_places(MAPS, 7) == (
        "/proc/7/map_files/7f3000-7f4000",
        "/proc/7/root/srv/old/lib/x86_64-linux-gnu/libc-2.31.so",
        "/srv/old/lib/x86_64-linux-gnu/libc-2.31.so",
    )
    files = {libc_places(MAPS, 7)[1]: BANNER}
    wanted = "glibc 2.31 (Debian GLIBC 2.31-13+deb11u11)"
    assert libc_of_process(MAPS, 7, files.get) == wanted
    assert libc_of_process(MAPS, 7, lambda path: None) is None
    musl = "7f3000-7f4000 r--p 00000000 fe:00 13 /lib/ld-musl-x86_64.so.1\n"
    assert libc_of_process(musl, 7, files.get) == "musl"
    assert libc_of_banner(b"nothing of the kind") is None


@given(st.dictionaries(st.sampled_from(sorted([*TEXTS, *paths_of(7, "254:17")])), st.text()))
def test_hostile_texts_give_facts_or_reasons(texts: dict[str, str]) -> None:
    found = surroundings(seen_with(texts))
    assert found.known.keys() | found.not_evaluated.keys() == HOST_FACTS.keys()


def wait_for_libc(pid: int) -> None:
    """Wait for a process that was just started: it has its program before it has its libraries."""
    give_up = time.monotonic() + 20
    while "libc" not in Path(f"/proc/{pid}/maps").read_text():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_this_process_is_seen_as_other_tools_see_it(tmp_path: Path) -> None:
    # A program of the system's: this interpreter may be linked with its libc.
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            wait_for_libc(child.pid)
            host = LocalHost(SERVER_HOST, child.pid, tmp_path)
            found = host.surroundings()
        finally:
            child.kill()
        host.close()
    assert found.known["kernel"] == platform.release()
    assert found.known["os"] == platform.freedesktop_os_release()["PRETTY_NAME"]
    said = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True)
    if said.returncode == 0:
        assert found.known["libc"].startswith(f"{said.stdout.strip()} (")
    assert found.known["cores"] == str(os.cpu_count())
    assert found.known["nic_speed"] == "none: a unix socket"
    mounted = ["stat", "-f", "-c", "%T", str(tmp_path)]
    kind = subprocess.run(mounted, capture_output=True, text=True, check=True).stdout.strip()
    if data_device(tmp_path, None):
        assert found.known["file_system"] in kind or kind in ("ext2/ext3", "UNKNOWN")


def test_a_process_that_has_ended_leaves_the_host() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
        host = LocalHost(SERVER_HOST, child.pid)
        found = host.surroundings()
    host.close()
    assert found.known["kernel"] == platform.release()
    assert "libc" in found.not_evaluated
