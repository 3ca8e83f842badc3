"""What is asked to be watched beside the load."""

from __future__ import annotations

from loadstone.model.frozen import Frozen


class Observing(Frozen):
    """Where the counters of servers and hosts come from; one entry a target where there are some.

    Without any, a server is asked by a connection of its own, and its host is this machine where
    the server's process is found on it.
    """

    on: bool = True
    host_ssh: tuple[str, ...] = ()
    """`user@host` or `user@host:port`, the server's host as ssh reaches it."""
    node_exporter: tuple[str, ...] = ()
    """Addresses of Prometheus node exporters on the servers' hosts."""
    server_exporter: tuple[str, ...] = ()
    """Addresses of exporters that are asked in place of the servers themselves."""
