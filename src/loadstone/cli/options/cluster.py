"""`--cluster` and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import WORD

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked

Command = TypeVar("Command", bound=Callable[..., Any])

_BELONG = (
    ("generators", "--generators"),
    ("cpus_per_generator", "--cpus-per-generator"),
    ("on_node_loss", "--on-node-loss"),
)


_MACHINES = (
    click.option(
        "--cluster",
        type=WORD,
        metavar="ADDRESS",
        help="Drive the load from the nodes of a Ray cluster.",
    ),
    click.option(
        "--generators",
        type=click.IntRange(1, 10_000),
        help="Load generators. [default: one per node]",
    ),
    click.option(
        "--cpus-per-generator",
        type=click.IntRange(1, 1024),
        help="CPUs that each generator uses. [default: 1]",
    ),
)

_ON_NODE_LOSS = click.option(
    "--on-node-loss",
    type=click.Choice(["continue", "repeat", "stop"]),
    help="When a node is lost: go on, repeat the step, or stop. [default: continue]",
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
