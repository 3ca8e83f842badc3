"""The size of an instance: control groups (version 1) that a sandbox's server is started in."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.experiment import CgroupLimit
from loadstone.sandbox.errors import SandboxError

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_EMPTY_S = 5.0


@dataclass(frozen=True)
class Instance:
    """Control groups that were made for one server."""

    groups: tuple[Path, ...]

    def remove(self) -> None:
        """Take them away; the server must have ended.

        Raises:
            SandboxError: something is still in them.
        """
        deadline = time.monotonic() + _EMPTY_S
        for group in self.groups:
            # The kernel lets go of a process a moment after it has ended.
            while group.exists():
                try:
                    group.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise SandboxError(
                            f"cannot remove {group}: {error.strerror}",
                            f"when nothing is in it any more: rmdir {group}",
                        ) from error
                    time.sleep(0.02)


def why_not(limit: CgroupLimit, folder: Path) -> str | None:
    """What stands in the way of such limits on this machine; `None`: nothing."""
    for controller in _wanted(limit, "0:0"):
        if not (_ROOT / controller / "cgroup.procs").exists():
            return f"{_ROOT / controller} is not there: version 2 of cgroups is not built yet"
    if (limit.read_iops or limit.write_iops) and _disk(folder) is None:
        return f"{folder} lies on no disk of its own whose rate the kernel could limit"
    return None


def make_instance(name: str, limit: CgroupLimit, folder: Path) -> Instance:
    """Make the control groups; the data that IOPS are limited of lies in `folder`.

    Raises:
        SandboxError: the kernel refuses.
    """
    made: list[Path] = []
    _clear_stale()
    try:
        for controller, settings in _wanted(limit, _disk(folder) or "0:0").items():
            group = _ROOT / controller / f"loadstone-{name}-{os.getpid()}"
            group.mkdir(exist_ok=True)
            made.append(group)
            for file, value in settings.items():
                (group / file).write_text(value)
    except OSError as error:
        Instance(tuple(made)).remove()
        what = f"{error.filename}: {error.strerror}"
        raise SandboxError(
            f"cannot limit the server: {what}", "is this root, and cgroups writable?"
        ) from error
    return Instance(tuple(made))


def _clear_stale() -> None:
    """Remove the groups of Loadstones that were killed: nothing can be in them any more."""
    for group in _ROOT.glob("*/loadstone-*"):
        maker = group.name.rpartition("-")[2]
        if maker.isdigit() and not Path("/proc", maker).exists():
            with contextlib.suppress(OSError):  # in use, by whomever: it is left
                group.rmdir()


def _wanted(limit: CgroupLimit, disk: str) -> dict[str, dict[str, str]]:
    """By controller, what is written into which of its files."""
    found: dict[str, dict[str, str]] = {}
    if limit.cores:
        quota = max(1000, round(limit.cores * _PERIOD_US))
        found["cpu"] = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
    if limit.memory_bytes:
        found["memory"] = {"memory.limit_in_bytes": str(limit.memory_bytes)}
    iops = {"read": limit.read_iops, "write": limit.write_iops}
    for way, value in iops.items():
        if value:
            file = f"blkio.throttle.{way}_iops_device"
            found.setdefault("blkio", {})[file] = f"{disk} {value}"
    return found


def _disk(folder: Path) -> str | None:
    """Major and minor number of the whole disk that a folder lies on."""
    device = os.stat(folder).st_dev
    at = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if not at.exists():
        return None
    whole = at.parent if (at / "partition").exists() else at
    return (whole / "dev").read_text().strip()
