"""`--cluster` and what belongs to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import WORD

if TYPE_CHECKING:
    from loadstone.cluster.cluster import Cluster
    from loadstone.lab.step.runner import Start
    from loadstone.lab.tables.load import BeginLoad
    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.cluster_nodes import NodeFacts
    from loadstone.model.result import StepResult
    from loadstone.model.target import Target

Command = TypeVar("Command", bound=Callable[..., Any])

_BELONG = (
    ("generators", "--generators"),
    ("cpus_per_generator", "--cpus-per-generator"),
    ("on_node_loss", "--on-node-loss"),
)


_MACHINES = (
    click.option(
        "--cluster", type=WORD, metavar="ADDRESS", help="Drive from the nodes of a cluster."
    ),
    click.option("--generators", type=click.IntRange(1, 10_000), help="[default: one a node]"),
    click.option("--cpus-per-generator", type=click.IntRange(1, 1024), help="[default: 1]"),
)

_ON_NODE_LOSS = click.option(
    "--on-node-loss",
    type=click.Choice(["continue", "repeat", "stop"]),
    help="[default: continue]",
)


def machine_options(command: Command) -> Command:
    """The options of what several machines do together."""
    for option in reversed(_MACHINES):
        command = option(command)
    return command


def cluster_options(command: Command) -> Command:
    """The options of a run that several machines drive."""
    return machine_options(_ON_NODE_LOSS(command))


def cluster_asked(asked: dict[str, Any]) -> ClusterAsked | None:
    """What the options say; `None` without a cluster."""
    from loadstone.model.cluster import ClusterAsked

    given = {name: asked[name] for name, _ in _BELONG if asked.get(name) is not None}
    if asked["cluster"] is None:
        for name, option in _BELONG:
            if name in given:
                raise click.UsageError(f"{option} is for many machines: say where with --cluster")
        return None
    return ClusterAsked(address=asked["cluster"], **given)


@dataclass(frozen=True)
class Ways:
    """How steps are begun, and which of those that failed are driven again."""

    start: Start
    drives_again: Callable[[StepResult], bool]
    nodes: tuple[NodeFacts, ...] = ()
    """The machines of a cluster; none where this one drives."""


@contextmanager
def starting(
    asked: ClusterAsked | None,
    targets: Sequence[Target],
    most_users: int,
    say: Callable[[str], None],
) -> Iterator[Ways]:
    """This machine's engine, or a cluster's generators, for as long as the block lasts.

    Raises:
        ClusterError: the cluster cannot be used, cannot reach a target, or is too small for so
            many users.
    """
    from loadstone import engine
    from loadstone.model.cluster import GENERATOR_LOST

    if asked is None:
        yield Ways(engine.start, lambda step: False)
        return
    with _generators(asked, targets, most_users, say) as cluster:

        def lost(step: StepResult) -> bool:
            return step.error is not None and step.error.kind == GENERATOR_LOST

        repeats = asked.on_node_loss == "repeat"
        nodes = tuple(cluster.facts)
        yield Ways(cluster.start, lambda step: repeats and lost(step), nodes)


@dataclass(frozen=True)
class Loading:
    """How tables are loaded."""

    begin: BeginLoad
    parallel: int
    """Connections, of all machines together."""


@contextmanager
def loading(
    asked: ClusterAsked | None,
    target: Target,
    parallel: int | None,
    say: Callable[[str], None],
) -> Iterator[Loading]:
    """This machine's engine, or a cluster's generators, for as long as the block lasts.

    Without `parallel` there are two connections for each core that loads.

    Raises:
        ClusterError: as `starting`.
    """
    from loadstone import engine
    from loadstone.cli.progress.load import LOADS_A_CORE, MOST_LOADS, parallel_loads

    if asked is None:
        yield Loading(engine.load, parallel or parallel_loads())
        return
    with _generators(asked, [target], parallel or 1, say) as cluster:
        cores = asked.cpus_per_generator * len(cluster.facts)
        yield Loading(cluster.load, parallel or min(LOADS_A_CORE * cores, MOST_LOADS))


@contextmanager
def _generators(
    asked: ClusterAsked, targets: Sequence[Target], most_users: int, say: Callable[[str], None]
) -> Iterator[Cluster]:
    from loadstone.cluster.cluster import Cluster
    from loadstone.cluster.on_ray import GeneratorRequest, generators
    from loadstone.cluster.partition import refuse_too_many, refuse_unreachable

    peer = None if targets[0].socket else targets[0].host
    wanted = GeneratorRequest(asked.address, asked.generators, asked.cpus_per_generator, peer)
    with generators(wanted) as links:
        cluster = Cluster(links, asked.on_node_loss, say)
        hosts = {one.node: one.host for one in cluster.facts}
        refuse_unreachable(targets, hosts, socket.gethostname())
        # Which of an experiment's targets a step drives is not known yet: ports are those to all.
        refuse_too_many(most_users, len(targets), cluster.facts)
        say(f"{len(links)} generators: {', '.join(one.node for one in cluster.facts)}")
        yield cluster
