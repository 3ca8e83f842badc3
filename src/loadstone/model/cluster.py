"""The request to drive the load from the generators of a cluster."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from loadstone.model.frozen import Frozen

OnNodeLoss = Literal["continue", "repeat", "stop"]
"""What happens when a generator is lost: the step continues with the others, ends and is repeated
without it, or the run stops."""

GENERATOR_LOST = "generator_lost"
"""The failure kind of a step that ended because a generator was lost."""


class ClusterAsked(Frozen):
    """The machines that drive the load."""

    address: str
    """Address of the cluster, in Ray's form."""
    generators: PositiveInt | None = None
    """`None`: one on each node that has enough processors."""
    cpus_per_generator: PositiveInt = 1
    on_node_loss: OnNodeLoss = "continue"
