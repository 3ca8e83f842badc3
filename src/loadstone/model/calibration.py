"""What this machine's generator can do against a server that costs nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat

from loadstone.model.frozen import Frozen

Protocol = Literal["prepared", "text"]
Transport = Literal["tcp", "tls", "socket"]


class Ceiling(Frozen):
    """The most that one core of the generator could do, in statements a second."""

    protocol: Protocol
    transport: Transport
    users: int
    cpu_us_per_query: PositiveFloat
    """CPU of one event loop by statement, point selects against the null server."""
    measured_qps: PositiveFloat
    """What was driven meanwhile: the null server shared the cores."""

    @property
    def queries_per_core(self) -> float:
        """With a core of its own."""
        return 1e6 / self.cpu_us_per_query


class Ceilings(Frozen):
    """Statements a second and core, by transport, for the protocol of one run."""

    by_transport: dict[Transport, float]
    unencrypted: Transport
    """How the run's connections travel where they are not encrypted."""

    def queries_per_core(self, *, encrypted: bool) -> float | None:
        """The ceiling of one event loop; `None` where it was not measured."""
        return self.by_transport.get("tls" if encrypted else self.unencrypted)


class HostCheck(Frozen):
    """One thing of the generator's host that limits or disturbs it."""

    name: str
    state: Literal["good", "change", "not evaluated"]
    found: str
    advice: str | None = None


class Calibration(Frozen):
    """All ceilings of a machine, measured by one version."""

    version: Literal[1] = 1
    made_at: str
    loadstone: str
    machine: str
    """Processor, cores and kernel: on another machine it says nothing."""
    measured: tuple[Ceiling, ...]
    checks: tuple[HostCheck, ...] = ()

    def ceilings(self, protocol: Protocol, unencrypted: Transport) -> Ceilings:
        """Ceilings that fit a run."""
        fitting = {
            each.transport: each.queries_per_core
            for each in self.measured
            if each.protocol == protocol
        }
        return Ceilings(by_transport=fitting, unencrypted=unencrypted)
