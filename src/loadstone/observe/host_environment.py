"""A server's environment on its host, from files of the kernel and of the process's own root.

Texts go in, facts come out; the caller reads the files, here or over ssh. A server in a chroot or a
container uses the libc and the release inside it, so both are taken from its process if that may be
read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.model.host_environment import HOST_FACTS, MITIGATIONS_APART, HostSurroundings
from loadstone.model.message import say
from loadstone.observe.latest import Figures
from loadstone.observe.mounts import Mount, mounts_of

MITIGATIONS = "/sys/devices/system/cpu/vulnerabilities/*"
"""Files that are only named by a pattern."""

_HUGE = "/sys/kernel/mm/transparent_hugepage"
_GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_RELEASES = ("/usr/lib/os-release", "/etc/os-release")
_OF_HOST = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/swappiness",
    _GOVERNOR,
    _CLOCK,
    f"{_HUGE}/enabled",
    f"{_HUGE}/defrag",
    "/proc/self/mountinfo",
    *_RELEASES,
)
_OF_PROCESS = ("maps", "mountinfo", *(f"root{path}" for path in _RELEASES))
_QUEUE = ("scheduler", "rotational", "write_cache")

_LIBC = re.compile(
    r"^(?P<range>[0-9a-f]+-[0-9a-f]+) \S+ \S+ \S+ \S+\s+"
    r"(?P<path>/\S*/(?:libc\.so\.6|libc-2[.0-9]*\.so|ld-musl-[^/\s]*|libc\.musl-[^/\s]*))$",
    re.MULTILINE,
)
_BANNER = re.compile(rb"GNU C Library \(([^)\n]{1,80})\)[^\n]{0,40}? version ([0-9][0-9.]*[0-9])")
BANNER_PATTERN = "GNU C Library ([^)]*)[^,]* version [0-9.]*"
"""A pattern for grep that finds libc's banner on another host."""

_ALLOCATORS = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/\s]*\.so[^/\s]*$", re.MULTILINE)


def paths_of(pid: int | None, device: str | None) -> tuple[str, ...]:
    """The files to read.

    Args:
        pid: the server's process, if it is known.
        device: `MAJOR:MINOR` of the device that its data folder is on.
    """
    own = () if pid is None else tuple(f"/proc/{pid}/{name}" for name in _OF_PROCESS)
    queues = () if device is None else tuple(_queue_files(device))
    return (*_OF_HOST, *own, *queues)


def _queue_files(device: str) -> Iterator[str]:
    """Queue files of a disk, and of the disk that a partition belongs to."""
    for folder in ("queue", "../queue"):
        yield from (f"/sys/dev/block/{device}/{folder}/{name}" for name in _QUEUE)


def libc_places(maps: str, pid: int) -> tuple[str, ...]:
    """Paths at which the file of the process's libc may be opened, the most certain first.

    The first is the mapped file itself, whatever namespace its path belongs to, but only root may
    open it.
    """
    found = _LIBC.search(maps)
    if found is None:
        return ()
    return (
        f"/proc/{pid}/map_files/{found['range']}",
        f"/proc/{pid}/root{found['path']}",
        found["path"],
    )


def libc_of_banner(content: bytes) -> str | None:
    """The name and version in glibc's banner, as in `glibc 2.36 (Debian GLIBC 2.36-9)`."""
    found = _BANNER.search(content)
    if found is None:
        return None
    build, version = (part.decode("ascii", "replace") for part in found.groups())
    return f"glibc {version} ({build})"


def libc_of_process(maps: str, pid: int | None, read: Callable[[str], bytes | None]) -> str | None:
    """The libc that a process has mapped; `read` returns the part of a file with the banner."""
    for place in () if pid is None else libc_places(maps, pid):
        content = read(place)
        if content is not None and (found := libc_of_banner(content)):
            return found
    return "musl" if pid is not None and _is_musl(maps) else None


def _is_musl(maps: str) -> bool:
    """Whether the process uses musl, by the file's name: musl has no banner."""
    found = _LIBC.search(maps)
    return found is not None and "musl" in found["path"]


@dataclass(frozen=True)
class Seen:
    """Everything that was read from a host."""

    texts: Mapping[str, str]
    """Contents of the files of `paths_of` and `MITIGATIONS`, by path."""
    figures: Figures
    """One reading of the host and of the server's process."""
    pid: int | None = None
    device: str | None = None
    datadir: str | None = None
    libc: str | None = None
    """The process's libc, otherwise the host's."""
    on_socket: bool = False
    """Whether the load uses a unix socket."""


@dataclass
class _Facts:
    known: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, value: str | None, why: str) -> None:
        """Store a value, or the reason why there is none."""
        if value:
            self.known[name] = value
        else:
            self.missing[name] = why


def surroundings(seen: Seen) -> HostSurroundings:
    """All facts; each is either known or has the reason why it is not."""
    facts = _Facts()
    _system(seen, facts)
    _processor(seen, facts)
    _memory(seen, facts)
    _disk(seen, facts)
    _network(seen, facts)
    _limits(seen, facts)
    ordered = {name: facts.known[name] for name in HOST_FACTS if name in facts.known}
    return HostSurroundings(known=ordered, not_evaluated=facts.missing)


def _system(seen: Seen, facts: _Facts) -> None:
    roots = ("",) if seen.pid is None else (f"/proc/{seen.pid}/root", "")
    releases = (seen.texts.get(f"{root}{path}", "") for root in roots for path in _RELEASES)
    facts.take(
        "os", next(filter(None, map(_release, releases)), None), say("there is no os-release")
    )
    facts.take("kernel", _line(seen, "/proc/sys/kernel/osrelease"), say("the kernel does not tell"))
    facts.take("libc", seen.libc, say("the process's files may not be read, or have no banner"))
    maps = "" if seen.pid is None else seen.texts.get(f"/proc/{seen.pid}/maps", "")
    loaded = _ALLOCATORS.search(maps)
    usual = "the libc's" if maps else None
    facts.take("allocator", loaded[1] if loaded else usual, say("the process may not be read"))
    facts.take("clocksource", _line(seen, _CLOCK), say("the kernel does not tell"))


def _release(text: str) -> str | None:
    """PRETTY_NAME, see os-release(5)."""
    found = re.search(r"^PRETTY_NAME=(.*)$", text, re.MULTILINE)
    return found[1].strip().strip("\"'") if found else None


def _processor(seen: Seen, facts: _Facts) -> None:
    text = seen.texts.get("/proc/cpuinfo", "")
    model = re.search(r"^(?:model name|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
    online = len(re.findall(r"^processor\s*:", text, re.MULTILINE))
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    allowed = seen.figures.gauges.get("process.cpus_allowed")
    facts.take("cpu", model[1].strip() if model else None, say("the kernel does not tell"))
    facts.take("cores", str(online) if online else None, say("the kernel does not tell"))
    facts.take("cores_allowed", _whole(allowed), say("the process may not be read"))
    governor = _line(seen, _GOVERNOR)
    facts.take("governor", governor, say("this kernel shows none, as in most virtual machines"))
    virtual = None if flags is None else "yes" if "hypervisor" in flags[1].split() else "no"
    facts.take("hypervisor", virtual, say("this processor has no such flag"))
    facts.take("mitigations", _mitigations(seen.texts), say("the kernel does not tell"))


def _mitigations(texts: Mapping[str, str]) -> str | None:
    """Only the active mitigations: those that a processor does not need cost nothing."""
    folder = MITIGATIONS.rstrip("*")
    states = {
        path.removeprefix(folder): text.strip()
        for path, text in texts.items()
        if path.startswith(folder)
    }
    if not states:
        return None
    at_work = {name: text for name, text in states.items() if text != "Not affected"}
    told = (f"{name}: {text}" for name, text in sorted(at_work.items()))
    return MITIGATIONS_APART.join(told) or "none"


def _memory(seen: Seen, facts: _Facts) -> None:
    sizes = dict(re.findall(r"^(\w+):\s+(\d{1,18})\b", _text(seen, "/proc/meminfo"), re.MULTILINE))
    why = say("the kernel does not tell")
    facts.take("memory", _kib(sizes.get("MemTotal")), why)
    facts.take("swap", _kib(sizes.get("SwapTotal")), why)
    facts.take("huge_pages_reserved", sizes.get("HugePages_Total"), why)
    facts.take("swappiness", _line(seen, "/proc/sys/vm/swappiness"), why)
    facts.take("huge_pages", _chosen(_line(seen, f"{_HUGE}/enabled")), why)
    facts.take("huge_pages_defrag", _chosen(_line(seen, f"{_HUGE}/defrag")), why)


def _disk(seen: Seen, facts: _Facts) -> None:
    mount = _data_mount(seen)
    why = say("where the data folder lies is not known")
    facts.take("file_system", mount.kind if mount else None, why)
    options = ",".join(sorted(mount.flags | mount.options)) if mount else None
    facts.take("mount_options", options, why)
    for name, fact in zip(_QUEUE, ("io_scheduler", "rotational", "write_cache"), strict=True):
        facts.take(
            fact, _of_queue(seen, name), say("no block device of its own is behind the data")
        )


def _of_queue(seen: Seen, name: str) -> str | None:
    for path in () if seen.device is None else _queue_files(seen.device):
        if path.endswith(f"/{name}") and (line := _line(seen, path)):
            return (
                {"0": "no", "1": "yes"}.get(line, line) if name == "rotational" else _chosen(line)
            )
    return None


def _data_mount(seen: Seen) -> Mount | None:
    """The file system of the data folder: the one on its device mounted closest above it."""
    if seen.datadir is None:
        return None
    own = "" if seen.pid is None else seen.texts.get(f"/proc/{seen.pid}/mountinfo", "")
    mounts = mounts_of(own or _text(seen, "/proc/self/mountinfo"))
    on_it = [mount for mount in mounts if seen.device in (None, mount.device)]
    above = [mount for mount in on_it if _is_above(mount.point, seen.datadir)]
    # A symbolic link may lead elsewhere; then only the device shows where the folder is.
    return _longest(above) or (on_it[-1] if seen.device and on_it else None)


def _longest(mounts: Sequence[Mount]) -> Mount | None:
    """The mount with the longest path; if several share it, the last one hides the others."""
    return max(reversed(mounts), key=lambda mount: len(mount.point), default=None)


def _is_above(point: str, path: str) -> bool:
    return path == point or path.startswith(f"{point.rstrip('/')}/")


def _network(seen: Seen, facts: _Facts) -> None:
    told = seen.figures.facts
    nic = told.get("traffic_nic")
    if seen.on_socket:
        facts.take("nic_speed", "none: a unix socket", "")
    elif nic is None:
        facts.take("nic_speed", None, say("which interface carries the traffic is not known"))
    elif nic == "lo":
        facts.take("nic_speed", "none: the loopback", "")
    else:
        speed, virtual = told.get(f"nic.{nic}.speed_mbit"), f"nic.{nic}.virtual" in told
        # The speed that a virtual interface reports is only a hint.
        kind = ", of a virtual interface" if virtual else ""
        said = f"{speed} Mbit/s{kind}" if speed else None
        facts.take("nic_speed", said, f"{nic} does not tell")


def _limits(seen: Seen, facts: _Facts) -> None:
    if seen.pid is None:
        for name in ("cgroup_cores", "cgroup_memory", "cgroup_io"):
            facts.take(name, None, say("the server's process is not known"))
        return
    gauges = seen.figures.gauges
    cores, memory = gauges.get("cgroup.cpu_cores"), gauges.get("cgroup.memory_limit_bytes")
    none = "no limit"
    facts.take("cgroup_cores", none if cores is None else f"{cores:g}", "")
    facts.take("cgroup_memory", none if memory is None else f"{memory / 2**20:.0f} MiB", "")
    # The limits are compared between hosts, so they are listed without the disk's name.
    limits = [
        f"{name.rpartition('.')[2]} {value:.0f}"
        for name, value in sorted(gauges.items())
        if name.startswith("cgroup.disk.")
    ]
    facts.take("cgroup_io", ", ".join(limits) or none, "")


def _kib(word: str | None) -> str | None:
    """Convert KiB to whole MiB: kernels on one machine reserve slightly different amounts."""
    return None if word is None else f"{int(word) // 1024} MiB"


def _whole(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f}"


def _chosen(text: str | None) -> str | None:
    """The word in brackets, as in `a [b] c`."""
    if text and "[" in text:
        return text.partition("[")[2].partition("]")[0]
    return text


def _line(seen: Seen, path: str) -> str | None:
    return _text(seen, path).strip() or None


def _text(seen: Seen, path: str) -> str:
    return seen.texts.get(path, "")
