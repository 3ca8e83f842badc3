"""Which files of a host are read and how they are parsed, for this machine and remote ones alike.

This module opens no files: it names paths and is given their contents. A file that does not exist
or may not be read is missing from the texts, and its figures are missing too.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from loadstone.observe import process, procfs, routes
from loadstone.observe.cgroups import Cgroups, cgroup_figures, cgroups_of
from loadstone.observe.latest import Figures, Scale
from loadstone.observe.mounts import disk_behind, mounts_of
from loadstone.observe.process_tree import MOST_READ, ProcessTree
from loadstone.observe.programs import is_loader, works_alone

HOST = "/proc/stat"
"""The one file that must be readable."""

_PRESSURES = ("cpu", "io", "memory")
_SYSFS = "/sys/class/net/"
NIC_PATTERNS = tuple(f"{_SYSFS}*/{name}" for name in ("ifindex", "speed", "device/uevent"))
"""Glob patterns in which the star stands for the interface."""

# Drivers of virtual interfaces: the speed that they report is not that of the line.
_VIRTUAL_DRIVERS = {
    "virtio_net",
    "vif",
    "xen_netfront",
    "hv_netvsc",
    "vmxnet3",
    "ena",
    "gve",
    "veth",
}


@dataclass(frozen=True)
class Subject:
    """What to observe on a host, as far as it is known."""

    pid: int | None = None
    """The server's process."""
    data_device: str | None = None
    """`MAJOR:MINOR` of the device that holds its data folder."""
    peer: str | None = None
    """The address at the other end of the load; `None` for a unix socket."""
    from_outside: bool = False
    """The load certainly does not run on that host."""


def address_of_peer(name: str) -> str | None:
    """The first address that a name resolves to here; an address is returned as it is."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return None
    return str(found[0][4][0])


class Host:
    """Chooses the files of a host to read, and turns their contents into figures."""

    def __init__(self, subject: Subject, scale: Scale) -> None:
        self._subject = subject
        self._scale = scale
        self._cgroups = Cgroups({}, ())
        self._cgroup_text = ""
        self._mountinfo = ""
        self._net = "/proc/net"
        self._facts: dict[str, str] = {}
        self._works_alone = True
        self._tree = ProcessTree()

    @property
    def pid(self) -> int | None:
        """The observed process."""
        return self._subject.pid

    @property
    def net(self) -> str:
        """The folder with the interface counters: of the process, or of the host."""
        return self._net

    @property
    def rare_paths(self) -> tuple[str, ...]:
        """Files that hardly ever change: read once after each connect, for `learn`."""
        nets = [f"{net}/{name}" for net in self._nets() for name in _RARE_NET]
        own = ["/proc/self/mountinfo", "/proc/diskstats", *nets]
        return (*own, *self._of_process("cgroup", "mountinfo", "stat"))

    def learn(self, texts: Mapping[str, str]) -> None:
        """Store what hardly ever changes, from the texts of `rare_paths` and `NIC_PATTERNS`."""
        self._net = self._net_of(texts)
        self._mountinfo = texts.get("/proc/self/mountinfo", "")
        self._join(texts.get(self._process_path("cgroup"), ""))
        self._facts = {**nic_facts(texts, self._net), **self._place_facts(texts)}
        stat = texts.get(self._process_path("stat"), "")
        self._works_alone = works_alone(process.name_in(stat))

    @property
    def paths(self) -> tuple[str, ...]:
        """Files to read each time."""
        return (
            HOST,
            "/proc/diskstats",
            "/proc/meminfo",
            "/proc/vmstat",
            "/proc/loadavg",
            *(f"/proc/pressure/{resource}" for resource in _PRESSURES),
            f"{self._net}/dev",
            f"{self._net}/snmp",
            *self._of_process("stat", "io", "status", "cgroup"),
            *(() if self._works_alone else [self._children_path]),
            *self._cgroups.files,
        )

    def further_paths(self, texts: Mapping[str, str]) -> tuple[str, ...]:
        """Files to read after these: of the processes that the server has for its sessions."""
        if self._works_alone or self._subject.pid is None:
            return ()
        children = self._children_in(texts)
        # What they have moved is only known if all are read each time.
        names = ("stat", "io") if len(children) <= MOST_READ / 2 else ("stat",)
        due = self._tree.due(children)
        return tuple(f"/proc/{pid}/{name}" for name in names for pid in due)

    def figures(self, texts: Mapping[str, str]) -> Figures:
        """The figures in the contents of `paths` and `further_paths`."""
        into = Figures(facts=dict(self._facts))
        procfs.cpu(texts.get(HOST, ""), self._scale, into)
        procfs.disks(texts.get("/proc/diskstats", ""), into)
        procfs.memory(texts.get("/proc/meminfo", ""), into)
        procfs.paging(texts.get("/proc/vmstat", ""), into)
        procfs.load(texts.get("/proc/loadavg", ""), into)
        for resource in _PRESSURES:
            procfs.pressure(resource, texts.get(f"/proc/pressure/{resource}", ""), into)
        procfs.nics(texts.get(f"{self._net}/dev", ""), into)
        procfs.tcp(texts.get(f"{self._net}/snmp", ""), into)
        if self._subject.pid is not None:
            self._process_figures(texts, into)
        return into

    def is_gone(self, texts: Mapping[str, str]) -> bool:
        """Whether there was a process to observe, and it has ended."""
        if self._subject.pid is None:
            return False
        text = texts.get(self._process_path("stat"))
        return text is None or process.has_ended(text)

    def _process_figures(self, texts: Mapping[str, str], into: Figures) -> None:
        if self.is_gone(texts):
            return
        into.facts["process.pid"] = str(self._subject.pid)
        stat = texts[self._process_path("stat")]
        if self._is_alone(stat, texts):
            process.stat(stat, self._scale, into)
            process.io(texts.get(self._process_path("io"), ""), into)
        elif children := self._children_in(texts):
            read = {child: texts.get(f"/proc/{child}/stat") for child in children}
            self._tree.add(stat, read, self._scale, into)
            self._moved_by_tree(children, texts, into)
        process.allowed(texts.get(self._process_path("status"), ""), into)
        cgroup = texts.get(self._process_path("cgroup"), "")
        if cgroup != self._cgroup_text:  # moved; the next reading has its new limits
            self._join(cgroup)
        disks = procfs.disk_names(texts.get("/proc/diskstats", ""))
        cgroup_figures(self._cgroups, texts, disks, into)

    def _moved_by_tree(
        self, children: Collection[int], texts: Mapping[str, str], into: Figures
    ) -> None:
        """The bytes that the process and its children moved; one that ended since is left out."""
        own = texts.get(self._process_path("io"))
        live = [child for child in children if texts.get(f"/proc/{child}/stat")]
        moved = [texts.get(f"/proc/{child}/io") for child in live]
        if own and all(moved):
            process.tree_io([own, *filter(None, moved)], into)

    def _is_alone(self, stat: str, texts: Mapping[str, str]) -> bool:
        """Whether the process does all the work; under a loader's name, if it has no children."""
        name = process.name_in(stat)
        return works_alone(name) or (is_loader(name) and not self._children_in(texts))

    def _children_in(self, texts: Mapping[str, str]) -> tuple[int, ...]:
        return process.children_in(texts.get(self._children_path, ""))

    @property
    def _children_path(self) -> str:
        return self._process_path(f"task/{self._subject.pid}/children")

    def _join(self, cgroup: str) -> None:
        self._cgroup_text = cgroup
        self._cgroups = cgroups_of(cgroup, mounts_of(self._mountinfo))

    def _place_facts(self, texts: Mapping[str, str]) -> dict[str, str]:
        facts = {}
        if self._subject.data_device is not None:
            seen = texts.get(self._process_path("mountinfo"), self._mountinfo)
            disks = procfs.disk_names(texts.get("/proc/diskstats", ""))
            disk = disk_behind(self._subject.data_device, disks, mounts_of(seen))
            if disk is not None:
                facts["data_disk"] = disk
        if self._subject.peer is not None:
            tables = {name: texts.get(f"{self._net[:-3]}{name}", "") for name in routes.FILES}
            outside = self._subject.from_outside or self._net != _OWN_NET
            nic = routes.interface_towards(self._subject.peer, tables, from_outside=outside)
            if nic is not None:
                facts["traffic_nic"] = nic
        return facts

    def _net_of(self, texts: Mapping[str, str]) -> str:
        """The folder with the interface counters; if possible, one that outlives the process."""
        for net in self._nets():
            if f"{net}/dev" in texts and not _is_own(texts, net):
                return net
        return _OWN_NET

    def _nets(self) -> tuple[str, ...]:
        """The candidate folders, the process's first: it may have its own network namespace."""
        return (*self._of_process("net"), _OWN_NET)

    def _of_process(self, *names: str) -> tuple[str, ...]:
        if self._subject.pid is None:
            return ()
        return tuple(self._process_path(name) for name in names)

    def _process_path(self, name: str) -> str:
        return f"/proc/{self._subject.pid}/{name}"


_OWN_NET = "/proc/net"
_RARE_NET = ("dev", *(name.removeprefix("net/") for name in routes.FILES))


def nic_facts(texts: Mapping[str, str], net: str) -> dict[str, str]:
    """Speeds of the interfaces, and which are virtual: for those the speed is only a hint.

    /sys shows the interfaces of the namespace in which it was mounted. If the counted interfaces
    belong to another one, nothing is known about them.
    """
    counted = _counted(texts, net)
    shown = {
        path[len(_SYSFS) :].partition("/")[0]
        for path in texts
        if path.startswith(_SYSFS) and path.endswith("/ifindex")
    }
    if shown != counted or not _is_own(texts, net):
        return {}
    facts = {}
    for name in sorted(counted):
        speed = texts.get(f"{_SYSFS}{name}/speed", "").strip()
        if speed.isdigit() and int(speed) > 0:
            facts[f"nic.{name}.speed_mbit"] = speed
        uevent = texts.get(f"{_SYSFS}{name}/device/uevent")
        if uevent is None or _driver(uevent) in _VIRTUAL_DRIVERS:
            facts[f"nic.{name}.virtual"] = "yes"
    return facts


def _driver(uevent: str) -> str:
    for line in uevent.splitlines():
        if line.startswith("DRIVER="):
            return line.removeprefix("DRIVER=")
    return ""


def _is_own(texts: Mapping[str, str], net: str) -> bool:
    """Whether that is the reader's own namespace: names may coincide, addresses do not."""
    theirs, ours = (
        routes.local_addresses(texts.get(f"{n}/fib_trie", ""), texts.get(f"{n}/if_inet6", ""))
        for n in (net, _OWN_NET)
    )
    return theirs == ours and _counted(texts, net) == _counted(texts, _OWN_NET)


def _counted(texts: Mapping[str, str], net: str) -> set[str]:
    return set(procfs.nic_names(texts.get(f"{net}/dev", "")))
