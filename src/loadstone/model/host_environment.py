"""The facts of a server's host that hardly change, by which two hosts are compared."""

from __future__ import annotations

from pydantic import Field

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say

HOST_FACTS: dict[str, Message] = {
    "os": say("operating system"),
    "kernel": say("kernel"),
    "libc": say("libc"),
    "allocator": say("memory allocator"),
    "cpu": say("CPU model"),
    "cores": say("cores online"),
    "cores_allowed": say("cores that the server may use"),
    "governor": say("CPU governor"),
    "mitigations": say("CPU mitigations"),
    "hypervisor": say("virtual machine"),
    "clocksource": say("clock source"),
    "memory": say("memory"),
    "swap": say("swap"),
    "swappiness": say("swappiness"),
    "huge_pages": say("transparent huge pages"),
    "huge_pages_defrag": say("defragmenting for huge pages"),
    "huge_pages_reserved": say("reserved huge pages"),
    "file_system": say("file system of the data"),
    "mount_options": say("mount options of the data"),
    "io_scheduler": say("IO scheduler"),
    "rotational": say("disk reports that it rotates"),
    "write_cache": say("disk's write cache"),
    "nic_speed": say("NIC speed"),
    "cgroup_cores": say("cgroup limit of cores"),
    "cgroup_memory": say("cgroup limit of memory"),
    "cgroup_io": say("cgroup limit of the disk"),
}
"""Labels of the facts of a host, in the order in which they are shown."""

MITIGATIONS_APART = " // "
"""Separates two mitigations, as the kernel's texts themselves have commas and semicolons."""


class HostSurroundings(Frozen):
    """The facts of a host in one run, as texts by the names of `HOST_FACTS`."""

    known: dict[str, str] = Field(default={}, description="what was found")
    not_evaluated: dict[str, str] = Field(default={}, description="what was not, and why")

    @classmethod
    def nothing(cls, why: str) -> HostSurroundings:
        """The value for a host that could not be inspected, with the reason."""
        return cls(not_evaluated=dict.fromkeys(HOST_FACTS, why))
