"""`--cluster` and what belongs to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.values import WORD

if TYPE_CHECKING:
    from loadstone.lab.conduct import Start
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


def cluster_options(command: Command) -> Command:
    """The options of a run that several machines drive."""
    for option in reversed(
        (
            click.option(
                "--cluster", type=WORD, metavar="ADDRESS", help="Drive from the nodes of a cluster."
            ),
            click.option(
                "--generators", type=click.IntRange(1, 10_000), help="[default: one a node]"
            ),
            click.option("--cpus-per-generator", type=click.IntRange(1, 1024), help="[default: 1]"),
            click.option(
                "--on-node-loss",
                type=click.Choice(["continue", "repeat", "stop"]),
                help="[default: continue]",
            ),
        )
    ):
        command = option(command)
    return command


def cluster_asked(asked: dict[str, Any]) -> ClusterAsked | None:
    """What the options say; `None` without a cluster."""
    from loadstone.model.cluster import ClusterAsked

    given = {name: asked[name] for name, _ in _BELONG if asked[name] is not None}
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
    from loadstone.cluster.cluster import Cluster
    from loadstone.cluster.on_ray import Wanted, generators
    from loadstone.cluster.parts import refuse_too_many, refuse_unreachable

    peer = None if targets[0].socket else targets[0].host
    wanted = Wanted(asked.address, asked.generators, asked.cpus_per_generator, peer)
    with generators(wanted) as links:
        cluster = Cluster(links, asked.on_node_loss, say)
        hosts = {one.node: one.host for one in cluster.facts}
        refuse_unreachable(targets, hosts, socket.gethostname())
        # Which of an experiment's targets a step drives is not known yet: ports are those to all.
        refuse_too_many(most_users, len(targets), cluster.facts)
        say(f"{len(links)} generators: {', '.join(one.node for one in cluster.facts)}")

        def lost(step: StepResult) -> bool:
            return step.error is not None and step.error.kind == GENERATOR_LOST

        repeats = asked.on_node_loss == "repeat"
        nodes = tuple(cluster.facts)
        yield Ways(cluster.start, lambda step: repeats and lost(step), nodes)
