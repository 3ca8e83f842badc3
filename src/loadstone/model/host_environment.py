"""What surrounds a server on its host and hardly changes: what two hosts are compared by."""

from __future__ import annotations

from pydantic import Field

from loadstone.model.frozen import Frozen

HOST_FACTS: dict[str, str] = {
    "os": "operating system",
    "kernel": "kernel",
    "libc": "libc",
    "allocator": "memory allocator",
    "cpu": "CPU model",
    "cores": "cores online",
    "cores_allowed": "cores that the server may use",
    "governor": "CPU governor",
    "mitigations": "CPU mitigations",
    "hypervisor": "virtual machine",
    "clocksource": "clock source",
    "memory": "memory",
    "swap": "swap",
    "swappiness": "swappiness",
    "huge_pages": "transparent huge pages",
    "huge_pages_defrag": "defragmenting for huge pages",
    "huge_pages_reserved": "reserved huge pages",
    "file_system": "file system of the data",
    "mount_options": "mount options of the data",
    "io_scheduler": "IO scheduler",
    "rotational": "disk says that it turns",
    "write_cache": "disk's write cache",
    "nic_speed": "NIC speed",
    "cgroup_cores": "cgroup limit of cores",
    "cgroup_memory": "cgroup limit of memory",
    "cgroup_io": "cgroup limit of the disk",
}
"""Each fact of a host, in the order in which they are told."""

MITIGATIONS_APART = " // "
"""Between two of them: the kernel's texts have commas and semicolons of their own."""


class HostSurroundings(Frozen):
    """A host as one run found it: texts by the names of `HOST_FACTS`."""

    known: dict[str, str] = Field(default={}, description="what was found")
    not_evaluated: dict[str, str] = Field(default={}, description="what was not, and why")

    @classmethod
    def nothing(cls, why: str) -> HostSurroundings:
        """A host that nobody could look at."""
        return cls(not_evaluated=dict.fromkeys(HOST_FACTS, why))
