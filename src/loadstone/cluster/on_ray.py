"""Runs generators as Ray actors, one on each node; the only module that imports Ray.

Ray places the actors, transports the calls and reports nodes that are gone. Nothing else of it is
used: nothing is put into its object store by name, and no result of one task feeds another. An
argument or an answer above 100 kB goes through that store all the same (a large template), so none
contains a password (`passwords`).
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from loadstone.cluster.errors import ClusterError
from loadstone.cluster.generator import Generator
from loadstone.cluster.transport import Link
from loadstone.model.figure import General
from loadstone.model.message import say, say_in

_PLACED_S = 30.0
"""Seconds that Ray may take to reserve the processors."""

_AT_ONCE = 4
"""Concurrent calls of one generator: one waits for records, others begin, stop and read the
clock."""


@dataclass(frozen=True)
class GeneratorRequest:
    """Which generators to start."""

    address: str
    generators: int | None
    cpus: int
    peer: str | None
    """The first target's host."""


@contextmanager
def generators(wanted: GeneratorRequest) -> Iterator[Sequence[Link]]:
    """Start one on each of the requested nodes; they end with the context, and with this process.

    Raises:
        ClusterError: Ray is missing, the cluster does not answer, or has too few nodes.
    """
    ray = _ray()
    _connect(ray, wanted.address)
    try:
        chosen = choose(_nodes(ray), wanted.generators, wanted.cpus, wanted.address)
        with _placed(ray, len(chosen), wanted.cpus) as strategies:
            actor = ray.remote(Generator)
            options = {"num_cpus": wanted.cpus, "max_concurrency": _AT_ONCE, "max_restarts": 0}
            links: list[Link] = []
            for node, strategy in strategies:
                placed = actor.options(scheduling_strategy=strategy, **options)
                links.append(_OnRay(node, placed.remote(node, wanted.peer)))
            yield links
    finally:
        # Actors that belong to this driver end with it.
        ray.shutdown()


@dataclass(frozen=True)
class Node:
    """A live node, and the processors that Ray may allocate there."""

    node: str
    cpus: float


def choose(nodes: Sequence[Node], asked: int | None, cpus: int, address: str) -> list[Node]:
    """Choose the nodes that get a generator.

    Raises:
        ClusterError: there are fewer than requested; lists those that exist.
    """
    fitting = [node for node in nodes if node.cpus >= cpus]
    if len(fitting) < (asked or 1):
        there = ", ".join(f"{node.node} ({node.cpus:g} CPUs)" for node in nodes)
        raise ClusterError(
            say(
                "{needed} nodes with {cpus} CPUs each are needed for as many generators; the "
                "cluster at {address} has {found}: {nodes}",
                needed=asked or 1,
                cpus=cpus,
                address=address,
                found=len(fitting),
                nodes=there or say_in("nodes", "none"),
            ),
            say("start Ray on more machines, or ask for fewer with --generators"),
        )
    return fitting[:asked]


@dataclass(frozen=True)
class _OnRay:
    """A generator in a Ray actor."""

    node: str
    actor: Any

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Start a call; see `Link`."""
        future: Future[Any] = getattr(self.actor, method).remote(*arguments).future()
        return future


def _ray() -> Any:
    try:
        ray = importlib.import_module("ray")
        # Ray would print what it knows of dead nodes on stdout, where the result goes;
        # log_to_driver does not cover that, and there is no public option for it.
        worker: Any = importlib.import_module("ray._private.worker")
        worker._worker_logs_enabled = False
        return ray
    except ImportError as error:
        raise ClusterError(
            say("Ray is not installed here, and --cluster needs it"),
            say("pip install 'loadstone[cluster]', here and on each node"),
        ) from error


def _connect(ray: Any, address: str) -> None:
    try:
        # The driver's working folder would be the first place where the nodes look for modules.
        with chdir("/"):
            ray.init(
                address=address,
                _node_ip_address=_own_ip(address),
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except Exception as error:
        raise ClusterError(
            say("no cluster answers at {address}: {why}", address=address, why=_first_line(error)),
            say("run it on a node of the cluster, with Ray's address there: ray status"),
        ) from error


def _own_ip(address: str) -> str | None:
    """The driver's address: the cluster's if that is loopback; `None`: Ray finds its own."""
    host = address.rpartition(":")[0]
    with suppress(ValueError):
        return host if ip_address(host).is_loopback else None
    return None


def _nodes(ray: Any) -> list[Node]:
    found = [
        Node(node["NodeManagerAddress"], node["Resources"].get("CPU", 0.0))
        for node in ray.nodes()
        if node["Alive"]
    ]
    return sorted(found, key=lambda node: node.node)


@contextmanager
def _placed(ray: Any, count: int, cpus: int) -> Iterator[list[tuple[str, Any]]]:
    """Reserve processors on one node each; yields the address and how to place an actor there."""
    util = importlib.import_module("ray.util")
    scheduling = importlib.import_module("ray.util.scheduling_strategies")
    group = util.placement_group([{"CPU": cpus}] * count, strategy="STRICT_SPREAD")
    try:
        if not group.wait(_PLACED_S):
            raise ClusterError(
                say(
                    "the cluster did not set {cpus} CPUs aside on each of {nodes} nodes within "
                    "{seconds} s",
                    cpus=cpus,
                    nodes=count,
                    seconds=General(_PLACED_S),
                ),
                say("does something else hold them? ray status shows it; or --cpus-per-generator"),
            )
        places = util.placement_group_table(group)["bundles_to_node_id"]
        addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
        placed = [
            (
                addresses[places[index]],
                scheduling.PlacementGroupSchedulingStrategy(
                    placement_group=group, placement_group_bundle_index=index
                ),
            )
            for index in range(count)
        ]
        # Ray numbers the places arbitrarily; sorted, the same nodes have the same parts in each
        # run.
        yield sorted(placed, key=lambda place: place[0])
    finally:
        # The cluster may be gone by now, and with it the reservation.
        with suppress(Exception):
            util.remove_placement_group(group)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
