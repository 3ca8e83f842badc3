"""The backend that drives steps and loads tables: this machine's engine, or a cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone import engine
from loadstone.model.cluster import GENERATOR_LOST, ClusterAsked
from loadstone.model.message import counted

if TYPE_CHECKING:
    from loadstone.cluster.cluster import Cluster
    from loadstone.lab.step.runner import Start
    from loadstone.lab.tables.load import BeginLoad
    from loadstone.model.cluster_nodes import NodeFacts
    from loadstone.model.result import StepResult
    from loadstone.model.target import Target

LOADS_A_CORE = 2
"""Connections of a load for each core, unless the user gives a number."""

MOST_LOADS = 1024
"""Maximum number of connections of one load."""


@dataclass(frozen=True)
class StepBackend:
    """How steps are started, and which failed ones are driven again."""

    start: Start
    drives_again: Callable[[StepResult], bool]
    nodes: tuple[NodeFacts, ...] = ()
    """The machines of a cluster; empty if this machine drives."""


@dataclass(frozen=True)
class LoadBackend:
    """How tables are loaded."""

    begin: BeginLoad
    parallel: int
    """Number of connections, of all machines together."""


@contextmanager
def step_backend(
    asked: ClusterAsked | None,
    targets: Sequence[Target],
    most_users: int,
    announce: Callable[[str], None],
) -> Iterator[StepBackend]:
    """The backend that drives the steps, for as long as the block lasts.

    Raises:
        ClusterError: the cluster cannot be used, cannot reach a target, or is too small for so
            many users.
    """
    if asked is None:
        yield StepBackend(engine.start, lambda step: False)
        return
    with _generators(asked, targets, most_users, announce) as cluster:

        def lost(step: StepResult) -> bool:
            return step.error is not None and step.error.kind == GENERATOR_LOST

        repeats = asked.on_node_loss == "repeat"
        nodes = tuple(cluster.facts)
        yield StepBackend(cluster.start, lambda step: repeats and lost(step), nodes)


@contextmanager
def load_backend(
    asked: ClusterAsked | None,
    target: Target,
    parallel: int | None,
    announce: Callable[[str], None],
) -> Iterator[LoadBackend]:
    """The backend that loads tables, for as long as the block lasts.

    Without `parallel` there are two connections for each core that loads.

    Raises:
        ClusterError: as `step_backend`.
    """
    if asked is None:
        yield LoadBackend(engine.load, parallel or parallel_loads())
        return
    with _generators(asked, [target], parallel or 1, announce) as cluster:
        cores = asked.cpus_per_generator * len(cluster.facts)
        yield LoadBackend(cluster.load, parallel or min(LOADS_A_CORE * cores, MOST_LOADS))


def parallel_loads() -> int:
    """Number of parallel load connections: the server is the limit, and two a core keep it busy."""
    return max(2, min(16, LOADS_A_CORE * (os.cpu_count() or 1)))


@contextmanager
def _generators(
    asked: ClusterAsked, targets: Sequence[Target], most_users: int, announce: Callable[[str], None]
) -> Iterator[Cluster]:
    # Ray takes a second to import: only runs on a cluster pay for it.
    from loadstone.cluster.cluster import Cluster
    from loadstone.cluster.on_ray import GeneratorRequest, generators
    from loadstone.cluster.partition import refuse_too_many, refuse_unreachable

    peer = None if targets[0].socket else targets[0].host
    wanted = GeneratorRequest(asked.address, asked.generators, asked.cpus_per_generator, peer)
    with generators(wanted) as links:
        cluster = Cluster(links, asked.on_node_loss, announce)
        hosts = {one.node: one.host for one in cluster.facts}
        refuse_unreachable(targets, hosts, socket.gethostname())
        # Which of an experiment's targets a step drives is not known yet, so ports to all are
        # counted.
        refuse_too_many(most_users, len(targets), cluster.facts)
        announce(
            counted(
                "1 generator: {nodes}",
                "{number} generators: {nodes}",
                len(links),
                nodes=", ".join(one.node for one in cluster.facts),
            )
        )
        yield cluster
