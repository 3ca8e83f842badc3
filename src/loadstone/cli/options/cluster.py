"""`--cluster` and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.options.types import WORD, gathered

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked

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


def _asked(cluster: str | None, **given: Any) -> ClusterAsked | None:
    from loadstone.model.cluster import ClusterAsked

    said = {name: value for name, value in given.items() if value is not None}
    if cluster is None:
        for name in said:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for many machines: say where with --cluster")
        return None
    return ClusterAsked(address=cluster, **said)


machine_options = gathered("cluster", _MACHINES, _asked)
"""Give a command the options of what several machines do together; it gets one `cluster`."""

cluster_options = gathered("cluster", (*_MACHINES, _ON_NODE_LOSS), _asked)
"""The same of a run that they drive."""
