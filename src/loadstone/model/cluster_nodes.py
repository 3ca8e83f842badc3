"""What the nodes of a cluster say of themselves, and what they can do together."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import PositiveFloat, PositiveInt, computed_field

from loadstone.model.frozen import Frozen
from loadstone.model.result import CLIENT_BOUND_SHARE


class Versions(Frozen):
    """What has to be the same on all nodes: they drive parts of one step."""

    loadstone: str
    engine: str


class Line(Frozen):
    """The way by which a node reaches a target."""

    interface: str
    speed_bits_per_s: int | None = None
    """Line speed as the interface gives it, which virtual ones do wrongly or not at all."""
    source: str | None = None
    """The address that the target sees; `None`: not told."""
    gateway: str | None = None
    """The next host on the way; `None`: the target is on the same network, or it is not told."""


class NodeFacts(Frozen):
    """What a node says of itself."""

    node: str
    versions: Versions
    ray: str | None = None
    """Version of Ray; `None` where generators are reached in another way."""
    machine: dict[str, Any]
    """The machine, as `environment.json` has the generator's (docs/result.md)."""
    cores: PositiveInt
    descriptors: int | None
    """File descriptors that a generator may have, one a virtual user; `None`: no limit."""
    ephemeral_ports: int | None
    """Connections that one address of it can have to one target; `None`: not told."""
    line: Line | None = None
    """Towards the target; `None`: no target was named, or no route is known."""
    queries_per_core: PositiveFloat | None = None
    """Statements a second that one event loop can do at most, by its calibration: prepared ones
    over TCP, without TLS."""

    @property
    def host(self) -> str:
        """The node's own name for itself."""
        return str(self.machine["host"])

    @property
    def kernel(self) -> str:
        """The kernel's release."""
        return str(self.machine["kernel"]["release"])

    def most_users(self, targets: int = 1) -> int | None:
        """The most virtual users that it can have, dealt out to so many targets.

        `None` where nothing limits them.
        """
        ports = None if self.ephemeral_ports is None else targets * self.ephemeral_ports
        limits = [limit for limit in (self.descriptors, ports) if limit is not None]
        return min(limits, default=None)


class ClusterCheck(Frozen):
    """What the nodes of a cluster say, and what they can do together."""

    version: Literal[1] = 1
    cpus_per_generator: PositiveInt
    nodes: tuple[NodeFacts, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def users(self) -> int | None:
        """The most virtual users of a step against one target: the least node decides."""
        limits = [most for node in self.nodes if (most := node.most_users()) is not None]
        return min(limits) * len(self.nodes) if limits else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def queries_per_s(self) -> float | None:
        """Statements a second at which the slowest generator would be saturated, times all.

        `None` where a node was not calibrated: its share is then not known.
        """
        ceilings = [node.queries_per_core for node in self.nodes]
        known = [ceiling for ceiling in ceilings if ceiling is not None]
        if len(known) < len(ceilings) or not known:
            return None
        return CLIENT_BOUND_SHARE * min(known) * self.cpus_per_generator * len(known)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def bits_per_s(self) -> int | None:
        """What their lines carry together, dealt out evenly: the slowest decides.

        By the interfaces' own word; `None` where one does not say it.
        """
        speeds = [node.line.speed_bits_per_s if node.line else None for node in self.nodes]
        known = [speed for speed in speeds if speed is not None]
        return min(known) * len(known) if known and len(known) == len(speeds) else None
