"""Limits the size of an instance, with control groups in which a sandbox's server is started.

Version 1 has a hierarchy for each controller, version 2 one for all of them
(Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of the kernel). Where both are mounted the
controllers are those of version 1.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.experiment import CgroupLimit
from loadstone.model.message import Message, say
from loadstone.sandbox.errors import SandboxError

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_EMPTY_S = 5.0


@dataclass(frozen=True)
class Instance:
    """The control groups of one server."""

    groups: tuple[Path, ...]

    def remove(self) -> None:
        """Remove them; the server must have ended.

        Raises:
            SandboxError: there are still processes in them.
        """
        deadline = time.monotonic() + _EMPTY_S
        for group in self.groups:
            # The kernel releases a process a moment after it has ended.
            while group.exists():
                try:
                    group.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise SandboxError(
                            say(
                                "cannot remove {path}: {reason}",
                                path=str(group),
                                reason=error.strerror,
                            ),
                            say("when it is empty: rmdir {path}", path=str(group)),
                        ) from error
                    time.sleep(0.02)


def why_not(limit: CgroupLimit, folder: Path, root: Path = _ROOT) -> Message | None:
    """The reason why this machine cannot have such limits; `None`: it can."""
    if (limit.read_iops or limit.write_iops) and _disk(folder) is None:
        return say(
            "{folder} is not on a disk whose rate the kernel could limit", folder=str(folder)
        )
    controllers = _controllers(root)
    for controller in _wanted(limit, "0:0", is_v2=controllers is not None):
        if controllers is None and not (root / controller / "cgroup.procs").exists():
            return say(
                "{path} does not exist: the kernel has no such controller",
                path=str(root / controller),
            )
        if controllers is not None and controller not in controllers:
            return say(
                "the control groups of {path} have no controller {controller}",
                path=str(root),
                controller=controller,
            )
    return None


def make_instance(name: str, limit: CgroupLimit, folder: Path, root: Path = _ROOT) -> Instance:
    """Create the control groups; an IOPS limit applies to the disk of `folder`, which has the data.

    Raises:
        SandboxError: the kernel refuses.
    """
    made: list[Path] = []
    is_v2 = _controllers(root) is not None
    called = f"loadstone-{name}-{os.getpid()}"
    _clear_stale(root)
    try:
        for controller, settings in _wanted(limit, _disk(folder) or "0:0", is_v2=is_v2).items():
            group = root / called if is_v2 else root / controller / called
            if is_v2:
                # Enables the controller for child groups; only the root may have processes as well.
                (root / "cgroup.subtree_control").write_text(f"+{controller}")
            group.mkdir(exist_ok=True)
            if group not in made:
                made.append(group)
            for file, value in settings.items():
                (group / file).write_text(value)
    except OSError as error:
        Instance(tuple(made)).remove()
        said = say(
            "cannot limit the server: {path}: {reason}",
            path=str(error.filename),
            reason=error.strerror,
        )
        raise SandboxError(said, say("is this root, and are cgroups writable?")) from error
    return Instance(tuple(made))


def _controllers(root: Path) -> frozenset[str] | None:
    """The controllers of version 2; `None` if version 1 has the controllers."""
    try:
        return frozenset((root / "cgroup.controllers").read_text().split())
    except OSError:
        return None


def _clear_stale(root: Path) -> None:
    """Remove the groups of killed Loadstone processes; no process can be in them any more."""
    for group in (*root.glob("loadstone-*"), *root.glob("*/loadstone-*")):
        maker = group.name.rpartition("-")[2]
        if maker.isdigit() and not Path("/proc", maker).exists():
            with contextlib.suppress(OSError):  # in use, so it is left
                group.rmdir()


def _wanted(limit: CgroupLimit, disk: str, *, is_v2: bool) -> dict[str, dict[str, str]]:
    """The text to write into each file, by controller."""
    return _wanted_of_v2(limit, disk) if is_v2 else _wanted_of_v1(limit, disk)


def _wanted_of_v1(limit: CgroupLimit, disk: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if limit.cores:
        found["cpu"] = {
            "cpu.cfs_period_us": str(_PERIOD_US),
            "cpu.cfs_quota_us": str(_quota_us(limit.cores)),
        }
    if limit.memory_bytes:
        found["memory"] = {"memory.limit_in_bytes": str(limit.memory_bytes)}
    for way, value in (("read", limit.read_iops), ("write", limit.write_iops)):
        if value:
            file = f"blkio.throttle.{way}_iops_device"
            found.setdefault("blkio", {})[file] = f"{disk} {value}"
    return found


def _wanted_of_v2(limit: CgroupLimit, disk: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if limit.cores:
        found["cpu"] = {"cpu.max": f"{_quota_us(limit.cores)} {_PERIOD_US}"}
    if limit.memory_bytes:
        found["memory"] = {"memory.max": str(limit.memory_bytes)}
    iops = {"riops": limit.read_iops, "wiops": limit.write_iops}
    if any(iops.values()):
        said = " ".join(f"{name}={value}" for name, value in iops.items() if value)
        found["io"] = {"io.max": f"{disk} {said}"}
    return found


def _quota_us(cores: float) -> int:
    """The quota of each period, in microseconds; the kernel's minimum is a millisecond."""
    return max(1000, round(cores * _PERIOD_US))


def _disk(folder: Path) -> str | None:
    """The major and minor number of the whole disk that holds a folder."""
    device = os.stat(folder).st_dev
    at = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if not at.exists():
        return None
    whole = at.parent if (at / "partition").exists() else at
    return (whole / "dev").read_text().strip()
