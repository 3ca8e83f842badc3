"""Control groups of both versions, in usual layouts: a plain host, a container, both at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.observe.cgroups import (
    Cgroups,
    cgroup_figures,
    cgroups_of,
    freezer_file,
    is_frozen,
)
from loadstone.observe.latest import Figures
from loadstone.observe.mounts import Mount, disk_behind, mounts_of

V2_MOUNTS = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = """\
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 25 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
34 25 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
DISKS = {"254:0": "vda"}


def figures(groups: Cgroups, texts: dict[str, str]) -> Figures:
    into = Figures()
    cgroup_figures(groups, texts, DISKS, into)
    return into


def test_version_2_the_lowest_limit_of_all_levels_counts() -> None:
    groups = cgroups_of("0::/db.slice/mysql\n", mounts_of(V2_MOUNTS))
    root = "/sys/fs/cgroup"
    assert groups.v2 == (f"{root}/db.slice/mysql", f"{root}/db.slice", root)
    found = figures(
        groups,
        {
            f"{root}/db.slice/mysql/cpu.max": "max 100000\n",
            f"{root}/db.slice/mysql/cpu.stat": "usage_usec 5\nnr_throttled 0\nthrottled_usec 0\n",
            f"{root}/db.slice/cpu.max": "150000 100000\n",
            f"{root}/db.slice/cpu.stat": (
                "usage_usec 3000000\nuser_usec 1\nnr_periods 20\nnr_throttled 7\n"
                "throttled_usec 2500000\n"
            ),
            f"{root}/db.slice/mysql/memory.max": "max\n",
            f"{root}/db.slice/memory.max": "1073741824\n",
            f"{root}/db.slice/mysql/io.max": "254:0 rbps=max wbps=1048576 riops=max wiops=120\n",
            f"{root}/db.slice/io.max": "254:0 rbps=max wbps=max riops=9 wiops=500\n8:0 wiops=1\n",
        },
    )
    assert found.gauges == {
        "cgroup.cpu_cores": 1.5,
        "cgroup.memory_limit_bytes": 1 << 30,
        "cgroup.disk.vda.write_bytes_per_s": 1048576,
        "cgroup.disk.vda.write_iops": 120,
        "cgroup.disk.vda.read_iops": 9,
    }
    assert found.counters == {
        "cgroup.cpu_s": 3.0,
        "cgroup.periods": 20,
        "cgroup.throttled_periods": 7,
        "cgroup.throttled_s": 2.5,
    }


def test_version_1_with_a_version_2_beside_it() -> None:
    text = "9:name=systemd:/\n7:blkio:/db\n4:memory:/a/b\n1:cpu,cpuacct:/db\n0::/init\n"
    groups = cgroups_of(text, mounts_of(V1_MOUNTS))
    cpu = "/sys/fs/cgroup/cpu,cpuacct"
    found = figures(
        groups,
        {
            f"{cpu}/db/cpu.cfs_quota_us": "50000\n",
            f"{cpu}/db/cpu.cfs_period_us": "100000\n",
            f"{cpu}/db/cpu.stat": "nr_periods 4\nnr_throttled 3\nthrottled_time 1500000000\n",
            f"{cpu}/cpu.cfs_quota_us": "-1\n",
            f"{cpu}/cpu.cfs_period_us": "100000\n",
            f"{cpu}/db/cpuacct.usage": "2000000000\n",
            "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
            "/sys/fs/cgroup/blkio/db/blkio.throttle.write_iops_device": "254:0 100\n",
        },
    )
    assert found.gauges == {"cgroup.cpu_cores": 0.5, "cgroup.disk.vda.write_iops": 100}
    assert found.counters == {
        "cgroup.periods": 4,
        "cgroup.throttled_periods": 3,
        "cgroup.throttled_s": 1.5,
        "cgroup.cpu_s": 2.0,
    }
    assert {path.rpartition("/")[0] for path in groups.files} == {
        f"{cpu}/db",
        cpu,
        "/sys/fs/cgroup/memory/a/b",
        "/sys/fs/cgroup/memory/a",
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup/blkio/db",
        "/sys/fs/cgroup/blkio",
    }


def test_a_container_sees_its_own_group_as_the_top() -> None:
    mounts = mounts_of("30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
    assert cgroups_of("0::/docker/abc\n", mounts).v2 == ("/sys/fs/cgroup",)
    assert cgroups_of("0::/docker/abc/x\n", mounts).v2 == ("/sys/fs/cgroup/x", "/sys/fs/cgroup")


@pytest.mark.parametrize("path", ["/docker/abcd", "/other", "/docker/abc/../../etc"])
def test_a_group_outside_of_what_is_mounted_is_not_known(path: str) -> None:
    mounts = mounts_of("30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
    assert cgroups_of(f"0::{path}\n", mounts).v2 == ()


def test_no_limit_is_no_figure() -> None:
    groups = cgroups_of("0::/\n", mounts_of(V2_MOUNTS))
    assert figures(groups, {}) == Figures()


@given(st.text(), st.text(), st.text())
def test_hostile_texts_give_numbers_or_nothing(group: str, mounts: str, content: str) -> None:
    groups = cgroups_of(f"0::/a\n{group}", mounts_of(V2_MOUNTS + mounts))
    figures(groups, dict.fromkeys(groups.files, content))


def test_a_mounts_line_is_taken_apart() -> None:
    line = r"36 35 98:0 /my\040root /mnt\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,x=y"
    options, flags = frozenset({"rw", "x=y"}), frozenset({"rw", "noatime"})
    assert mounts_of(line + "\nbroken - ext4\n") == [
        Mount("98:0", "/my root", "/mnt 2", "ext3", "/dev/root", options, flags)
    ]


@pytest.mark.parametrize(
    ("device", "disk"),
    [
        ("254:1", "vda"),  # a partition
        ("253:0", "dm-0"),  # LVM
        ("0:40", "vda"),  # btrfs: by its mount
        ("0:41", None),  # memory
        ("0:42", None),  # mapped under a name that is not the kernel's
        ("8:99", None),
    ],
)
def test_the_disk_behind_a_folder(device: str, disk: str | None) -> None:
    mounts = mounts_of(
        "40 1 0:40 / /srv rw - btrfs /dev/vda1 rw\n"
        "41 1 0:41 / /tmp rw - tmpfs tmpfs rw\n"
        "42 1 0:42 / /data rw - btrfs /dev/mapper/vg-data rw\n"
    )
    names = {"254:0": "vda", "254:1": "vda1", "253:0": "dm-0"}
    assert disk_behind(device, names, mounts) == disk


FREEZER = "35 25 0:31 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"


@pytest.mark.parametrize(
    ("groups", "mounts", "file"),
    [
        ("0::/db\n", V2_MOUNTS, "/sys/fs/cgroup/db/cgroup.events"),
        ("7:freezer:/db\n0::/\n", V1_MOUNTS + FREEZER, "/sys/fs/cgroup/freezer/db/freezer.state"),
        ("7:freezer:/db\n", V1_MOUNTS, None),
        ("5:cpu:/db\n", V1_MOUNTS + FREEZER, None),
    ],
)
def test_where_it_is_said_whether_a_group_is_frozen(
    groups: str, mounts: str, file: str | None
) -> None:
    assert freezer_file(groups, mounts_of(mounts)) == file


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("FROZEN\n", True),
        ("THAWED\n", False),
        ("populated 1\nfrozen 1\n", True),
        ("populated 1\nfrozen 0\n", False),
    ],
)
def test_both_versions_say_whether_a_group_is_frozen(text: str, *, frozen: bool) -> None:
    assert is_frozen(text) == frozen
