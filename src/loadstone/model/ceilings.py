"""The ceiling of each resource in events a second, and what it is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from loadstone.model.frozen import Frozen
from loadstone.model.limits import Limits as Limits
from loadstone.model.message import Message, say, say_in
from loadstone.model.plan import Rate
from loadstone.model.predicted import Foretold
from loadstone.model.with_messages import WithMessages

Resource = Literal[
    "server CPU",
    "hottest core",
    "flushes",
    "disk writes",
    "disk reads",
    "disk operations",
    "disk write bandwidth",
    "network to the server",
    "network from the server",
    "row locks",
    "generator",
    "concurrency",
]

DISK: tuple[Resource, ...] = (
    "disk writes",
    "disk reads",
    "disk operations",
    "disk write bandwidth",
)
"""Those of the disk."""

RESOURCES: Mapping[Resource, Message] = {
    "server CPU": say("server CPU"),
    "hottest core": say("hottest core"),
    "flushes": say_in("resource", "flushes"),
    "disk writes": say("disk writes"),
    "disk reads": say("disk reads"),
    "disk operations": say("disk operations"),
    "disk write bandwidth": say("disk write bandwidth"),
    "network to the server": say("network to the server"),
    "network from the server": say("network from the server"),
    "row locks": say("row locks"),
    "generator": say("generator"),
    "concurrency": say("number of users"),
}
"""The names of the resources, for a person."""


class Ceiling(WithMessages):
    """The ceiling of one resource; `why_not` is the reason if it was not evaluated."""

    resource: Resource
    events_per_s: float | None
    used: float | None
    """The measured rate as a share of the ceiling."""
    others: float | None = None
    """How much of the resource other programs use, which is no part of the ceiling; for the CPU of
    the server's host in cores. `None`: none, or not known."""
    how: Message | None
    """The computation, with figures."""
    by_hand: bool = False
    """Whether its limit was stated by the user (`--limit`), not measured."""
    granularity_s: float | None = None
    """The length of the means that its use is known by, if they are longer than a second."""
    why_not: Message | None = None


class StepCeilings(Frozen):
    """All ceilings of one step, the lowest first; those not evaluated come last."""

    step: int
    variant: str = "default"
    workload: str = ""
    concurrency: int
    rate: Rate | None = None
    repeat: int = 1
    tps: float
    ceilings: tuple[Ceiling, ...]
    foretold: Foretold | None = None
    """The rate under limits that are not in force; `None`: none are assumed, or not predicted."""

    @property
    def lowest(self) -> Ceiling | None:
        """The lowest ceiling, which limits the step; `None` if none was evaluated."""
        first = self.ceilings[0] if self.ceilings else None
        return first if first and first.events_per_s is not None else None
