"""`--cluster` and the options that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import WORD, gathered
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.cluster import ClusterAsked

_option = options_in(Section.CLUSTER)

_MACHINES = (
    _option(
        "--cluster",
        type=WORD,
        metavar="ADDRESS",
        help=say("Drive the load from the nodes of the Ray cluster at this address."),
    ),
    _option(
        "--generators",
        type=click.IntRange(1, 10_000),
        help=say("Number of load generators. [default: one per node]"),
    ),
    _option(
        "--cpus-per-generator",
        type=click.IntRange(1, 1024),
        help=say("CPUs that each generator uses. [default: 1]"),
    ),
)

_ON_NODE_LOSS = _option(
    "--on-node-loss",
    type=click.Choice(["continue", "repeat", "stop"]),
    help=say(
        "If a node is lost: continue without it, repeat the step, or stop. [default: continue]"
    ),
)


def _asked(cluster: str | None, **given: Any) -> ClusterAsked | None:
    from loadstone.model.cluster import ClusterAsked

    said = {name: value for name, value in given.items() if value is not None}
    if cluster is None:
        for name in said:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(say("{option} needs --cluster", option=option))
        return None
    return ClusterAsked(address=cluster, **said)


machine_options = gathered("cluster", _MACHINES, _asked)
"""Add the options for several machines to a command, which gets one `cluster` instead."""

cluster_options = gathered("cluster", (*_MACHINES, _ON_NODE_LOSS), _asked)
"""As `machine_options`, for a run that the machines drive."""
