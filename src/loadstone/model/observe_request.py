"""The request for what to observe during the load."""

from __future__ import annotations

from loadstone.model.frozen import Frozen
from loadstone.model.limits import Limits


class Observing(Frozen):
    """The sources of counters of servers and hosts; each tuple has one entry per target, or none.

    By default a server is queried over a connection of its own, and this machine is its host if the
    server's process is found on it.
    """

    on: bool = True
    host_ssh: tuple[str, ...] = ()
    """The servers' hosts for ssh: `user@host` or `user@host:port`."""
    node_exporter: tuple[str, ...] = ()
    """Addresses of Prometheus node exporters on the servers' hosts."""
    prometheus: tuple[str, ...] = ()
    """Prometheus servers that scrape the servers' hosts: `http://prometheus:9090?instance=db1:9100`."""
    server_exporter: tuple[str, ...] = ()
    """Addresses of exporters that are queried in place of the servers themselves."""
    limits: Limits = Limits()
    """Limits of the servers' hosts that the user states, as nothing on the host shows them."""
