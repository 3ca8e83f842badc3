"""The connections of a server, as it lists them for any client."""

from __future__ import annotations

from typing import NamedTuple


class Process(NamedTuple):
    """One connection."""

    number: int
    user: str
    address: str
    """With the port, where there is one."""
    command: str
    silent_s: int | None
    """Since its last statement began or ended."""
    asks: bool
    """Whether it is the one that asked for the list."""

    @property
    def host(self) -> str:
        """The address without its port."""
        return host_of(self.address)


def host_of(address: str) -> str:
    """`10.0.0.7:40112` without its port; over a unix socket there is none."""
    host, _, port = address.rpartition(":")
    return host if host and port.isdigit() else address
