"""The generators of a run, and how each of its steps is started on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from loadstone.cluster.clocks import Offset
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.generator import own_versions
from loadstone.cluster.loading import ClusterLoad
from loadstone.cluster.merge_stream import Member, absent
from loadstone.cluster.partition import (
    fewest_users,
    most_parts,
    parts_of,
    refuse_other_versions,
    refuse_too_many,
    users_of,
)
from loadstone.cluster.polling import raise_lost
from loadstone.cluster.scripts import with_files
from loadstone.cluster.step import ClusterStep, Crew, Driver, read_clocks
from loadstone.cluster.transport import Link
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.cluster_nodes import NodeFacts, Versions
from loadstone.model.message import say

_FACTS_S = 60.0
"""Seconds, because a generator's process may still be starting, and imports the engine."""

_SILENT = say("it did not answer when the step started")

CALIBRATION_S = 3.0
"""Seconds of load on each node, after half a second of warm-up."""


class Cluster:
    """The generators that answer; a step is driven by those that still do."""

    def __init__(
        self, links: Sequence[Link], on_node_loss: OnNodeLoss, announce: Callable[[str], None]
    ) -> None:
        """Examine all nodes.

        Raises:
            ClusterError: one does not answer, or has another version.
        """
        self._links = list(links)
        self._on_node_loss = on_node_loss
        self._say = announce
        self._steps = 0
        check_versions(self._links)
        self.facts = facts_of(self._links)

    def start(self, document: str) -> ClusterStep:
        """Start a step; returns at once.

        Raises:
            ClusterError: no generator is left, or one is gone and that is to end the run, or those
                that are left are too few for so many users, or a script cannot be sent to them.
        """
        whole = json.loads(document)
        users = whole["users"]
        living, gone = self._living()
        driving = living[: most_parts(document)]
        refuse_too_many(users, len(whole["targets"]), [facts for _, _, facts in driving])
        parts = parts_of(with_files(document), len(driving))
        drivers = [
            Driver(
                Member(number=number, node=link.node, users=users_of(number, len(parts), users)),
                link,
                part,
                clock,
            )
            for number, ((link, clock, _), part) in enumerate(zip(driving, parts, strict=True))
        ]
        missing = [absent(node, number, _SILENT) for number, node in enumerate(gone, len(drivers))]
        self._steps += 1
        fewest = fewest_users(document, len(parts))
        return ClusterStep(self._steps, Crew(drivers, missing, self._on_node_loss, fewest))

    def load(self, document: str) -> ClusterLoad:
        """Start loading tables; returns at once."""
        self._steps += 1
        return ClusterLoad(self._steps, self._links, document, self._say)

    def _living(self) -> tuple[list[tuple[Link, Offset, NodeFacts]], list[str]]:
        """The generators that answer, with their clock offsets, and the nodes of the others.

        Raises:
            ClusterError: generators are gone, and the options do not allow continuing without them.
        """
        clocks = read_clocks(self._links)
        living, gone = [], []
        for link, clock, facts in zip(self._links, clocks, self.facts, strict=True):
            if isinstance(clock, Offset):
                living.append((link, clock, facts))
            else:
                gone.append(link.node)
        if not living:
            raise ClusterError(
                say("no generator answers any more"),
                say("ray status on the head shows which nodes are left"),
            )
        if gone and self._on_node_loss == "stop":
            raise ClusterError(
                say("the generators on {nodes} do not answer any more", nodes=", ".join(gone)),
                say("--on-node-loss continue goes on with the others"),
            )
        return living, gone


def check_versions(links: Sequence[Link]) -> None:
    """Check that all nodes have this version; a node with another one is asked nothing else.

    Raises:
        ClusterError: one does not answer, or has another version.
    """
    names = Versions.model_fields
    told = _answers(links, _FACTS_S, "versions")
    # Another version may report more or fewer names.
    found = [Versions(**{name: told_by.get(name, "?") for name in names}) for told_by in told]
    nodes = [link.node for link in links]
    refuse_other_versions(own_versions(), list(zip(nodes, found, strict=True)))


def facts_of(links: Sequence[Link]) -> list[NodeFacts]:
    """The facts that each node reports, all asked at the same time.

    Raises:
        ClusterError: one does not answer.
    """
    return _answers(links, _FACTS_S, "facts")


def calibrated(
    links: Sequence[Link], facts: Sequence[NodeFacts], announce: Callable[[str], None]
) -> list[NodeFacts]:
    """The nodes' facts with each generator's maximum rate, all measured at the same time.

    Raises:
        ClusterError: one does not answer.
    """
    found = _answers(links, CALIBRATION_S + _FACTS_S, "calibrate", CALIBRATION_S)
    measured = []
    for one, ceiling in zip(facts, found, strict=True):
        if isinstance(ceiling, str):
            announce(say("{node} is not calibrated: {why}", node=one.node, why=ceiling))
        known = None if isinstance(ceiling, str) else ceiling
        measured.append(one.model_copy(update={"queries_per_core": known}))
    return measured


def _answers(links: Sequence[Link], patience_s: float, method: str, *arguments: Any) -> list[Any]:
    """The answers of all generators, in their order.

    Raises:
        ClusterError: one does not answer.
    """
    asked = [(link, link.call(method, *arguments)) for link in links]
    found = []
    for link, future in asked:
        try:
            found.append(future.result(patience_s))
        except Exception as error:
            raise_lost(link, error)
    return found
