"""Facts of the nodes of a cluster, and their joint capacity."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import PositiveFloat, PositiveInt, computed_field

from loadstone.model.frozen import Frozen
from loadstone.model.result import CLIENT_BOUND_SHARE


class Versions(Frozen):
    """Versions that must be equal on all nodes, since they drive parts of one step."""

    loadstone: str
    engine: str


class Line(Frozen):
    """The network path from a node to a target."""

    interface: str
    speed_bits_per_s: int | None = None
    """Line speed as the interface reports it; virtual ones report a wrong one, or none."""
    source: str | None = None
    """The address that the target sees; `None`: unknown."""
    gateway: str | None = None
    """The next hop; `None`: the target is on the same network, or the hop is unknown."""


class NodeFacts(Frozen):
    """The facts that a node reports about itself."""

    node: str
    versions: Versions
    ray: str | None = None
    """Version of Ray; `None` if generators are not started by Ray."""
    machine: dict[str, Any]
    """The machine, in the form of the generator's in `environment.json` (docs/result.md)."""
    cores: PositiveInt
    descriptors: int | None
    """File descriptors that a generator may open, one per virtual user; `None`: no limit."""
    ephemeral_ports: int | None
    """Connections that one of its addresses can have to one target; `None`: unknown."""
    line: Line | None = None
    """The path to the target; `None`: no target was named, or no route is known."""
    queries_per_core: PositiveFloat | None = None
    """The highest rate of one event loop in statements a second, by its calibration: prepared
    statements over TCP without TLS."""

    @property
    def host(self) -> str:
        """The node's host name."""
        return str(self.machine["host"])

    @property
    def kernel(self) -> str:
        """The kernel's release."""
        return str(self.machine["kernel"]["release"])

    def most_users(self, targets: int = 1) -> int | None:
        """The most virtual users that the node can have, spread over that many targets.

        `None`: there is no limit.
        """
        ports = None if self.ephemeral_ports is None else targets * self.ephemeral_ports
        limits = [limit for limit in (self.descriptors, ports) if limit is not None]
        return min(limits, default=None)


class ClusterCheck(Frozen):
    """The facts of a cluster's nodes, and their joint capacity."""

    version: Literal[1] = 1
    cpus_per_generator: PositiveInt
    nodes: tuple[NodeFacts, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def users(self) -> int | None:
        """The most virtual users of a step against one target; the weakest node decides."""
        limits = [most for node in self.nodes if (most := node.most_users()) is not None]
        return min(limits) * len(self.nodes) if limits else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def queries_per_s(self) -> float | None:
        """The rate at which the slowest generator would be saturated, times their number.

        In statements a second; `None` if a node was not calibrated, as its share is then unknown.
        """
        ceilings = [node.queries_per_core for node in self.nodes]
        known = [ceiling for ceiling in ceilings if ceiling is not None]
        if len(known) < len(ceilings) or not known:
            return None
        return CLIENT_BOUND_SHARE * min(known) * self.cpus_per_generator * len(known)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def bits_per_s(self) -> int | None:
        """The joint capacity of the lines with an even load, so the slowest decides.

        By the speed that interfaces report; `None` if one does not report it.
        """
        speeds = [node.line.speed_bits_per_s if node.line else None for node in self.nodes]
        known = [speed for speed in speeds if speed is not None]
        return min(known) * len(known) if known and len(known) == len(speeds) else None
