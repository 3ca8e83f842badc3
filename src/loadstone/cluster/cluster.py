"""The generators of a run, and how each of its steps is begun on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from loadstone.cluster.clocks import Offset
from loadstone.cluster.collecting import Member
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.generator import own_versions
from loadstone.cluster.link import Link
from loadstone.cluster.parts import fewest_users, parts_of, refuse_other_versions, users_of
from loadstone.cluster.step import ClusterStep, Driver, raise_lost, read_clocks
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.cluster_nodes import NodeFacts

_FACTS_S = 60.0
"""A generator's process may still be starting, and imports the engine."""


class Cluster:
    """Generators that answer; a step is driven by those of them that still do."""

    def __init__(
        self, links: Sequence[Link], on_node_loss: OnNodeLoss, say: Callable[[str], None]
    ) -> None:
        """Look at all nodes.

        Raises:
            ClusterError: one does not answer, or has another version.
        """
        self._links = list(links)
        self._on_node_loss = on_node_loss
        self._say = say
        self._steps = 0
        self.facts = facts_of(self._links)
        refuse_other_versions(own_versions(), [(one.node, one.versions) for one in self.facts])

    def start(self, document: str) -> ClusterStep:
        """Begin a step; returns at once.

        Raises:
            ClusterError: no generator is left.
        """
        whole = json.loads(document)
        living = self._living()[: whole["concurrency"]]
        parts = parts_of(document, len(living))
        drivers = [
            Driver(
                Member(
                    number=number,
                    node=link.node,
                    users=users_of(number, len(parts), whole["concurrency"]),
                ),
                link,
                part,
                clock,
            )
            for number, ((link, clock), part) in enumerate(zip(living, parts, strict=True))
        ]
        self._steps += 1
        fewest = fewest_users(document, len(parts))
        return ClusterStep(self._steps, drivers, self._on_node_loss, fewest)

    def _living(self) -> list[tuple[Link, Offset]]:
        """Those that answer, with their clocks as they are now."""
        clocks = read_clocks(self._links)
        living = [
            (link, clock)
            for link, clock in zip(self._links, clocks, strict=True)
            if isinstance(clock, Offset)
        ]
        if not living:
            raise ClusterError(
                "no generator answers any more",
                "ray status on the head says which nodes are left",
            )
        if len(living) < len(self._links):
            gone = [
                link.node
                for link, clock in zip(self._links, clocks, strict=True)
                if not isinstance(clock, Offset)
            ]
            self._say(f"without the generators on {', '.join(gone)}: they do not answer")
        return living


def facts_of(links: Sequence[Link]) -> list[NodeFacts]:
    """What each node says of itself, all asked at the same time.

    Raises:
        ClusterError: one does not answer.
    """
    asked = [(link, link.call("facts")) for link in links]
    found: list[NodeFacts] = []
    for link, future in asked:
        try:
            found.append(future.result(_FACTS_S))
        except Exception as error:
            raise_lost(link, error)
    return found
