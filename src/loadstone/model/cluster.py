"""Many generators: what is asked of a cluster."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from loadstone.model.frozen import Frozen

OnNodeLoss = Literal["continue", "repeat", "stop"]
"""What the loss of a generator means: the step goes on with the others, or ends and is driven once
more without it, or ends the run."""

GENERATOR_LOST = "generator_lost"
"""The kind of failure that a step has when the loss of a generator ended it."""


class ClusterAsked(Frozen):
    """Which machines drive the load."""

    address: str
    """Address of the cluster, as Ray takes it."""
    generators: PositiveInt | None = None
    """`None`: one on each node that has the processors."""
    cpus_per_generator: PositiveInt = 1
    on_node_loss: OnNodeLoss = "continue"
