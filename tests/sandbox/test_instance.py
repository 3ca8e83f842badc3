"""Limits of an instance, as they are written into control groups of either version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadstone.model.experiment import CgroupLimit
from loadstone.sandbox import SandboxError
from loadstone.sandbox.instance import make_instance, why_not

SMALL = CgroupLimit(cores=1.5, memory_bytes=2**30, read_iops=100, write_iops=200)


def version_2(root: Path, controllers: str) -> Path:
    (root / "cgroup.controllers").write_text(controllers)
    (root / "cgroup.subtree_control").touch()
    return root


def version_1(root: Path) -> Path:
    for controller in ("cpu", "memory", "blkio"):
        (root / controller).mkdir()
        (root / controller / "cgroup.procs").touch()
    return root


@pytest.fixture
def limit(tmp_path: Path) -> CgroupLimit:
    device = os.stat(tmp_path).st_dev
    if Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").exists():
        return SMALL
    return CgroupLimit(cores=SMALL.cores, memory_bytes=SMALL.memory_bytes)


def test_version_2_has_one_group_for_all(tmp_path: Path, limit: CgroupLimit) -> None:
    root = version_2(tmp_path, "cpuset cpu io memory pids\n")
    assert why_not(limit, tmp_path, root) is None
    (group,) = make_instance("mariadb-1", limit, tmp_path, root).groups
    assert group == root / f"loadstone-mariadb-1-{os.getpid()}"
    assert (group / "cpu.max").read_text() == "150000 100000"
    assert (group / "memory.max").read_text() == "1073741824"
    if limit.read_iops:
        disk, *rates = (group / "io.max").read_text().split()
        assert rates == ["riops=100", "wiops=200"]
        assert Path(f"/sys/dev/block/{disk}").exists()
    assert (root / "cgroup.subtree_control").read_text() in ("+memory", "+io")


def test_version_1_has_one_for_each_controller(tmp_path: Path, limit: CgroupLimit) -> None:
    root = version_1(tmp_path)
    assert why_not(limit, tmp_path, root) is None
    groups = make_instance("x", limit, tmp_path, root).groups
    assert (groups[0] / "cpu.cfs_quota_us").read_text() == "150000"
    assert (groups[1] / "memory.limit_in_bytes").read_text() == "1073741824"
    assert {group.parent.name for group in groups} >= {"cpu", "memory"}


def test_a_controller_that_is_not_there_is_named(tmp_path: Path) -> None:
    memory = CgroupLimit(memory_bytes=2**30)
    assert why_not(memory, tmp_path, version_2(tmp_path, "cpuset cpu\n")) == (
        f"the control groups of {tmp_path} have no controller memory"
    )
    (tmp_path / "cgroup.controllers").unlink()
    said = why_not(memory, tmp_path, tmp_path)
    assert said is not None and said.startswith(f"{tmp_path}/memory does not exist")


def test_a_kernel_that_refuses_leaves_no_group(tmp_path: Path) -> None:
    root = version_2(tmp_path, "cpu\n")
    (root / "cgroup.subtree_control").unlink()
    (root / "cgroup.subtree_control").mkdir()  # nothing can be written into it
    with pytest.raises(SandboxError, match="cannot limit the server: .*subtree_control"):
        make_instance("x", CgroupLimit(cores=1), tmp_path, root)
    assert not list(root.glob("loadstone-*"))


def test_groups_of_killed_ones_are_cleared(tmp_path: Path) -> None:
    root = version_2(tmp_path, "cpu\n")
    gone, ours = root / "loadstone-a-4194305", root / f"loadstone-b-{os.getpid()}"
    gone.mkdir()  # above the largest possible process id
    ours.mkdir()
    make_instance("x", CgroupLimit(cores=1), tmp_path, root)
    assert (gone.exists(), ours.exists()) == (False, True)
