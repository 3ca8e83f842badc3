"""The connections of a server, as it lists them for any client."""

from __future__ import annotations

from typing import NamedTuple


class Process(NamedTuple):
    """One connection."""

    number: int
    user: str
    address: str
    """With the port, if there is one."""
    command: str
    silent_s: int | None
    """Time since its last statement began or ended."""
    asks: bool
    """Whether it is the connection that read the list."""

    @property
    def host(self) -> str:
        """The address without its port."""
        return host_of(self.address)


def port_of(address: str) -> int | None:
    """The port of an address as `host_of` takes it; `None` if it has none."""
    _, colon, port = address.rpartition(":")
    return int(port) if colon and port.isdecimal() else None


def host_of(address: str) -> str:
    """The address without its port, as in `10.0.0.7:40112`; a unix socket's has none."""
    host, _, port = address.rpartition(":")
    return host if host and port.isdigit() else address
