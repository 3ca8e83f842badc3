"""The capacity of this machine's generator, measured against a server that costs nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message
from loadstone.model.with_messages import WithMessages

Protocol = Literal["prepared", "text"]
Transport = Literal["tcp", "tls", "socket"]


class Ceiling(Frozen):
    """The highest rate of one core of the generator, in statements a second."""

    protocol: Protocol
    transport: Transport
    users: int
    cpu_us_per_query: PositiveFloat
    """CPU time of one event loop per statement, for point selects against the null server."""
    measured_qps: PositiveFloat
    """The measured rate; the null server shared the cores."""

    @property
    def queries_per_core(self) -> float:
        """Statements a second of an event loop with a core of its own."""
        return 1e6 / self.cpu_us_per_query


class Ceilings(Frozen):
    """Statements a second per core, by transport, for the protocol of one run."""

    by_transport: dict[Transport, float]
    unencrypted: Transport
    """The transport of the run's connections that are not encrypted."""

    def queries_per_core(self, *, encrypted: bool) -> float | None:
        """The ceiling of one event loop; `None` if it was not measured."""
        return self.by_transport.get("tls" if encrypted else self.unencrypted)


class HostCheck(WithMessages):
    """A property of the generator's host that may limit or disturb it."""

    name: Message
    state: Literal["good", "change", "not evaluated"]
    found: Message
    advice: Message | None = None


class Calibration(Frozen):
    """All ceilings of a machine, measured by one version of Loadstone."""

    version: Literal[1] = 1
    made_at: str
    loadstone: str
    machine: str
    """Processor, cores and kernel; the calibration is not valid on another machine."""
    measured: tuple[Ceiling, ...]
    checks: tuple[HostCheck, ...] = ()

    def ceilings(self, protocol: Protocol, unencrypted: Transport) -> Ceilings:
        """The ceilings for the protocol and transports of a run."""
        fitting = {
            each.transport: each.queries_per_core
            for each in self.measured
            if each.protocol == protocol
        }
        return Ceilings(by_transport=fitting, unencrypted=unencrypted)
