"""Connections that leave from several addresses of this machine."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path

from engine.driving import Driving, a_plan, connecting, seconds
from engine.truth import null_target
from loadstone.engine.null import NullServer

ESTABLISHED = "01"


def peers_of(server: NullServer) -> Counter[str]:
    """The addresses from which connections to a server are open (proc_net_tcp(5))."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = [line.split()[1:4] for line in lines]
    there = f":{server.port:04X}"
    # The kernel may list one twice while others come and go.
    own = {own for own, other, state in ends if other.endswith(there) and state == ESTABLISHED}
    return Counter(socket.inet_ntoa(bytes.fromhex(one[:8])[::-1]) for one in own)


def test_they_take_the_named_addresses_in_turn() -> None:
    policy = connecting(source_addresses=["127.0.0.2", "127.0.0.3"])
    with null_target() as (server, target):
        plan = a_plan(target, users=20, shards=2, connect=policy, stop=seconds(60))
        with Driving(plan) as step:
            step.until_connected()
            found = peers_of(server)
            step.stop()
    assert found == {"127.0.0.2": 10, "127.0.0.3": 10}
