"""Splits a step's document for the engine into the parts of several generators.

The engine itself deals out users, events and connections (docs/engine.md, `part`): a user's keys
follow from its number among all users, and event `i` of an open loop belongs to one part, so the
parts together are the whole step, however many there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.cluster.errors import ClusterError
from loadstone.model.cluster_nodes import NodeFacts, Versions
from loadstone.model.figure import Count
from loadstone.model.message import Joined, say
from loadstone.model.records import KnownTable
from loadstone.model.target import Target

LEASE_S = 4.0
"""A generator that has not been polled for that many seconds ends its load; with the engine's 5 s
for events in flight, nothing reaches the target 10 s after the head is gone."""


def parts_of(document: str, generators: int) -> list[str]:
    """A document for each generator that gets a user; further ones have nothing to do."""
    whole = json.loads(document)
    of = min(generators, most_parts(document))
    common = whole | {"waits_for_start": True, "lease_s": LEASE_S}
    return [json.dumps(common | {"part": {"number": number, "of": of}}) for number in range(of)]


def most_parts(document: str) -> int:
    """How many generators can have a part of a step: each needs a user of its own.

    In an open loop that must be a user that no workload of a mix has for itself.
    """
    whole = json.loads(document)
    own = _users_of_members(whole) if whole["arrival"]["kind"] == "open" else 0
    return int(whole["users"]) - own


def _users_of_members(whole: dict[str, Any]) -> int:
    """Users that belong to single workloads of a mix: they have the first numbers."""
    return sum(member.get("users") or 0 for member in whole.get("members", ()))


def load_parts_of(
    document: str, known: Sequence[KnownTable], generators: int
) -> list[dict[str, Any]]:
    """A plan of the stage `fill` for each generator that gets one of the load's connections.

    `known`: what the stage `make` has reported about the tables.
    """
    whole = json.loads(document)
    of = min(generators, whole["parallel"])
    common = whole | {
        "stage": "fill",
        "known": [table.model_dump(mode="json") for table in known],
        "lease_s": LEASE_S,
    }
    return [
        common
        | {
            "part": {"number": number, "of": of},
            "parallel": users_of(number, of, whole["parallel"]),
        }
        for number in range(of)
    ]


def users_of(number: int, of: int, users: int) -> int:
    """The number of virtual users of part `number`, as the engine deals them out."""
    return len(range(number, users, of))


def fewest_users(document: str, of: int) -> int:
    """The smallest number of users that may be active in a step of so many parts.

    Each part needs one; in an open loop, where event loops share the events, one for each of its
    event loops. Users that belong to a workload of a mix are always active.
    """
    whole = json.loads(document)
    is_open = whole["arrival"]["kind"] == "open"
    of_members = _users_of_members(whole)

    def least(number: int) -> int:
        dedicated = users_of(number, of, of_members)
        takes_events = users_of(number, of, whole["users"]) - dedicated
        needed = dedicated + (min(whole["shards"], takes_events) if is_open else 0)
        return max(number + of * (max(needed, 1) - 1) + 1, of_members)

    return max(map(least, range(of)))


def refuse_other_versions(own: Versions, others: Sequence[tuple[str, Versions]]) -> None:
    """Refuse nodes with other versions, since one version drives all parts of a step.

    Raises:
        ClusterError: names each node that has another one.
    """
    wrong = [
        say(
            "{node} has {loadstone} (engine {engine})",
            node=node,
            loadstone=theirs.loadstone,
            engine=theirs.engine,
        )
        for node, theirs in others
        if theirs != own
    ]
    if wrong:
        raise ClusterError(
            say(
                "this machine has Loadstone {loadstone} (engine {engine}), but {others}",
                loadstone=own.loadstone,
                engine=own.engine,
                others=Joined(wrong),
            ),
            say("install the same version on each node, then start Ray there again"),
        )


def refuse_unreachable(targets: Sequence[Target], hosts: Mapping[str, str], own_host: str) -> None:
    """Refuse a unix socket or a loopback address, which is another server on each machine.

    Args:
        targets: the targets to drive.
        hosts: the nodes' own host names, by address.
        own_host: this machine's name.

    Raises:
        ClusterError: not all nodes would drive the intended server.
    """
    others = [node for node, host in sorted(hosts.items()) if host != own_host]
    for target in targets:
        if target.is_local and others:
            raise ClusterError(
                say(
                    "{place} is a server of this machine, and {nodes} would look for one of their "
                    "own there",
                    place=target.place,
                    nodes=", ".join(others),
                ),
                say("give --target the address by which all nodes reach it"),
            )


def refuse_too_many(users: int, targets: int, nodes: Sequence[NodeFacts]) -> None:
    """Check that each node can take its share of the users, who are spread over the targets.

    Raises:
        ClusterError: names a node that has too few descriptors or ports.
    """
    of = min(len(nodes), users)
    for number, node in enumerate(nodes[:of]):
        share, most = users_of(number, of, users), node.most_users(targets)
        if most is not None and share > most:
            raise ClusterError(
                say(
                    "{node} would get {share} of {users} users, and has file descriptors and ports "
                    "for {most}",
                    node=node.node,
                    share=Count(share),
                    users=Count(users),
                    most=Count(most),
                ),
                say(
                    "ulimit -n 65536 there before Ray is started, a wider "
                    "net.ipv4.ip_local_port_range, or more nodes"
                ),
            )
