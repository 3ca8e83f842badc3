"""What is seen of a server or a host while load is driven: readings, and what lies between two.

Names are words with dots from the whole to the part: `cpu.user_s`, `cpu.3.user_s`,
`disk.vda.writes`, `nic.eth0.bytes_out`, `process.minor_faults`. A name ends with its unit where
it is not a plain count (`_s`, `_bytes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message
from loadstone.model.with_messages import WithMessages

Role = Literal["server", "server-host", "generator-host", "replica"]

SHARED_HOST = "shared_with_generator"
"""The fact (`yes`) of a server's host that it is the generator's too."""


@dataclass(frozen=True)
class Reading:
    """What a source said at one moment."""

    at_s: float
    """On this machine's monotonic clock, in the middle of the asking."""
    counters: dict[str, float] = field(default_factory=dict)
    """Totals that only grow, since the server or the host began."""
    gauges: dict[str, float] = field(default_factory=dict)
    """Values of that moment."""
    facts: dict[str, str] = field(default_factory=dict)
    """What hardly changes, as text: a NIC's speed, the name of the disk that holds the data."""


class SourceName(Frozen):
    """Which source an observation is of."""

    role: Role
    target: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Whose server it is, by its place in the plan."""

    def __str__(self) -> str:
        """`server`, `server-host`, `generator-host`; a second target's is `server 2`."""
        return f"{self.role} {self.target + 1}" if self.target else self.role


class Observation(Frozen):
    """What happened at one source between two readings, about a second apart.

    `from_s` and `to_s` are on the run's clock. A counter that went backwards (the server was
    started anew) is left out: it is not known how much of it there was.
    """

    source: SourceName
    from_s: float
    to_s: float
    deltas: dict[str, float]
    gauges: dict[str, float]
    cost_s: float = 0.0
    """CPU time of this process that the reading took."""
    asked_s: float = 0.0
    """Until the source had answered: no less than the CPU time that it took there."""

    @property
    def seconds(self) -> float:
        """How long the interval was."""
        return self.to_s - self.from_s


class SourceState(WithMessages):
    """A source could not be read from some moment on, or can be again; `why` is for a person."""

    source: SourceName
    at_s: float
    lost: bool
    why: Message


def line_bytes_per_s(facts: Mapping[str, str], nic: str | None) -> float | None:
    """What an interface carries each way, by its own word among a host's facts, in bytes a second.

    `None` where it does not say it, or is a virtual one, whose word is no limit.
    """
    mbits = facts.get(f"nic.{nic}.speed_mbit", "")
    if not mbits.isdigit() or int(mbits) == 0 or facts.get(f"nic.{nic}.virtual") == "yes":
        return None
    return int(mbits) * 125_000.0
