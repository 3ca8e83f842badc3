"""environment.json: the machine that a run was made on, as the system describes it."""

from __future__ import annotations

import os
import platform
import resource
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_LIMITS = {
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "locked_memory": resource.RLIMIT_MEMLOCK,
    "file_size": resource.RLIMIT_FSIZE,
    "address_space": resource.RLIMIT_AS,
    "core": resource.RLIMIT_CORE,
    "stack": resource.RLIMIT_STACK,
}
_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = ("max", "-1", "9223372036854771712")
_CGROUP_V2 = (
    "cpu.max",
    "cpu.weight",
    "cpuset.cpus.effective",
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "io.max",
    "pids.max",
)
_CGROUP_V1 = {
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"),
    "cpuset": ("cpuset.cpus", "cpuset.mems"),
    "memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    "blkio": ("blkio.throttle.write_iops_device", "blkio.throttle.write_bps_device"),
    "pids": ("pids.max",),
}


def of_this_machine(paths: dict[str, Path]) -> dict[str, Any]:
    """What is known about this machine; `paths` are folders whose disk matters, by their purpose.

    An unavailable value is null, which means "not evaluated" and never "none".
    """
    return {
        "host": socket.gethostname(),
        "machine": platform.machine(),
        "os": _os_release(),
        "kernel": {"release": platform.release(), "version": platform.version()},
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": platform.python_version(),
        "cpu": _cpu(),
        "memory": _memory(),
        "huge_pages": _chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "disks": {what: disk_of(path) for what, path in paths.items()},
        "network": _interfaces(),
        "cgroup": cgroup_limits(),
        "limits": {name: _limit(number) for name, number in _LIMITS.items()},
    }


def disk_of(path: Path) -> dict[str, Any]:
    """The file system that holds a folder, and the device and queue below it."""
    found: tuple[str, str, str, str] | None = None
    resolved = path.resolve()
    for device, mount, kind, options in _mounts(Path("/proc/self/mounts")):
        # Of several mounts at one place, the last one hides the others.
        if resolved.is_relative_to(mount) and (not found or len(mount) >= len(found[1])):
            found = (device, mount, kind, options)
    # After a chroot, the mount that holds everything has no line.
    names = ("device", "mount", "file_system", "options")
    mounted = dict(zip(names, found or (None,) * len(names), strict=True))
    return {"path": str(path), **mounted, **_block_device(resolved)}


def cgroup_limits() -> dict[str, Any]:
    """The cgroup limits (versions 1 and 2) that apply to this process, by group."""
    found: dict[str, Any] = {}
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, group = (line.split(":", 2) + ["", ""])[:3]
        if not controllers:
            found["v2"] = _limits_of(_CGROUP, group, _CGROUP_V2)
            continue
        for controller in controllers.split(","):
            names = _CGROUP_V1.get(controller, ())
            limits = _limits_of(_CGROUP / controller, group, names)
            if limits:
                found.setdefault("v1", {})[controller] = limits
    return found


def _limits_of(root: Path, group: str, names: Iterable[str]) -> dict[str, str]:
    """The nearest values upwards: a group without a limit has that of its parents."""
    limits = {}
    groups = [root / group.lstrip("/"), *(root / group.lstrip("/")).parents]
    for name in names:
        for folder in groups:
            value = _text(folder / name)
            if value and value.split()[0] not in _UNLIMITED:
                limits[name] = value
                break
            if folder == root:
                break
    return limits


def _os_release() -> dict[str, str] | None:
    try:
        found = platform.freedesktop_os_release()
    except OSError:
        return None
    return {"id": found.get("ID", ""), "name": found.get("PRETTY_NAME", "")}


def processor() -> str | None:
    """The processor's name, as the kernel reports it."""
    fields = _cpuinfo()
    return fields.get("model name") or fields.get("CPU part")


def _cpuinfo() -> dict[str, str]:
    """The entries of the first processor."""
    fields: dict[str, str] = {}
    for line in _lines(Path("/proc/cpuinfo")):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def _cpu() -> dict[str, Any]:
    fields = _cpuinfo()
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "model": processor(),
        "cores_online": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)),
        "mhz": fields.get("cpu MHz"),
        "governor": _text(governor),
        "hypervisor": "hypervisor" in fields.get("flags", "").split(),
    }


def _memory() -> dict[str, int]:
    wanted = {"MemTotal": "total_kb", "MemAvailable": "available_kb", "SwapTotal": "swap_kb"}
    found = {}
    for line in _lines(Path("/proc/meminfo")):
        name, _, value = line.partition(":")
        if name in wanted:
            found[wanted[name]] = int(value.split()[0])
    return found


def _interfaces() -> dict[str, Any]:
    root = Path("/sys/class/net")
    if not root.is_dir():
        return {}
    return {
        interface.name: {
            "state": _text(interface / "operstate"),
            "mtu": _text(interface / "mtu"),
            # A virtual interface does not report its real speed, so this is a hint, never a limit.
            "speed_mbit": _text(interface / "speed"),
        }
        for interface in sorted(root.iterdir())
    }


def _block_device(path: Path) -> dict[str, Any]:
    try:
        number = path.stat().st_dev
    except OSError:
        return {}
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    queue = device / "queue"
    if not queue.is_dir():
        queue = device.resolve().parent / "queue"
    if not queue.is_dir():
        return {}
    return {
        "rotational": _text(queue / "rotational"),
        "scheduler": _chosen(queue / "scheduler"),
        "write_cache": _text(queue / "write_cache"),
    }


def _mounts(path: Path) -> Iterable[tuple[str, str, str, str]]:
    for line in _lines(path):
        fields = line.split()
        if len(fields) >= 4:
            yield fields[0], fields[1].replace("\\040", " "), fields[2], fields[3]


def _limit(number: int) -> dict[str, int | None]:
    soft, hard = resource.getrlimit(number)
    unlimited = resource.RLIM_INFINITY
    return {
        "soft": None if soft == unlimited else soft,
        "hard": None if hard == unlimited else hard,
    }


def _chosen(path: Path) -> str | None:
    """The word in brackets, as in `a [b] c`."""
    text = _text(path)
    if text and "[" in text:
        return text.partition("[")[2].partition("]")[0]
    return text


def _lines(path: Path) -> list[str]:
    return (_text(path) or "").splitlines()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None
