"""Observations of a server or a host during the load: readings, and the differences between two.

Names are dotted, from the whole to the part: `cpu.user_s`, `cpu.3.user_s`,
`disk.vda.writes`, `nic.eth0.bytes_out`, `process.minor_faults`. A name ends with its unit where
it is not a plain count (`_s`, `_bytes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.model.with_messages import WithMessages

Role = Literal["server", "server-host", "generator-host", "replica", "sessions"]

SHARED_HOST = "shared_with_generator"
"""The fact (`yes`) that a server's host is also the generator's."""

BETWEEN_CPU = "between.cpu_s"
"""The counter of CPU time of a pooler or proxy on the server's host that the load goes through."""

BETWEEN_RUN, BETWEEN_DELAY = "between.thread_run_s", "between.thread_delay_s"
"""Counters of its first thread: how long it ran, and how long it was ready to without a core."""


@dataclass(frozen=True)
class Reading:
    """The values of a source at one moment."""

    at_s: float
    """Time on this machine's monotonic clock, in the middle of the query."""
    counters: dict[str, float] = field(default_factory=dict)
    """Totals since the start of the server or host, which only grow."""
    gauges: dict[str, float] = field(default_factory=dict)
    """Values at that moment."""
    facts: dict[str, str] = field(default_factory=dict)
    """Facts that hardly change, as text: a NIC's speed, the name of the disk with the data."""


class SourceName(Frozen):
    """The source of an observation."""

    role: Role
    target: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """The index of the target in the plan."""

    def __str__(self) -> str:
        """`server`, `server-host`, `generator-host`; a second target's is `server 2`."""
        return f"{self.role} {self.target + 1}" if self.target else self.role


_READ: Mapping[Role, Message] = {
    "server": say("the server's counters"),
    "server-host": say("the counters of the server's host"),
    "generator-host": say("this machine's counters"),
    "replica": say("the replica's lag"),
    "sessions": say("the server's sessions"),
}


def read_of(source: SourceName) -> Message:
    """What is read of a source, for a person."""
    what = _READ[source.role]
    if not source.target:
        return what
    return say("{what} (target {number})", what=what, number=source.target + 1)


COARSE_S = 3.0
"""[P] Readings further apart than that are means, and pass for no second. A source is read every
second; a Prometheus server scrapes every 15 or 60."""

LEAST_COVERED = 0.5
"""The part of a window that means must cover to stand for it."""


class Observation(Frozen):
    """The change at one source between two readings, about a second apart.

    `from_s` and `to_s` are on the run's clock. A counter that went backwards (the server was
    restarted) is left out, as its growth is unknown.
    """

    source: SourceName
    from_s: float
    to_s: float
    deltas: dict[str, float]
    gauges: dict[str, float]
    cost_s: float = 0.0
    """CPU time of this process for the reading."""
    asked_s: float = 0.0
    """Time until the source had answered: an upper bound of the CPU time that it took there."""

    @property
    def seconds(self) -> float:
        """The length of the interval."""
        return self.to_s - self.from_s

    @property
    def is_coarse(self) -> bool:
        """Whether it is a mean of more than what happens in a second."""
        return self.seconds > COARSE_S


class SourceState(WithMessages):
    """A source became unreadable, or readable again, at some moment; `why` is for a person."""

    source: SourceName
    at_s: float
    lost: bool
    why: Message


def line_bytes_per_s(facts: Mapping[str, str], nic: str | None) -> float | None:
    """The speed of an interface in each direction, as its host reports it, in bytes a second.

    `None` if the speed is not reported, or the interface is virtual, where it is not a limit.
    """
    mbits = facts.get(f"nic.{nic}.speed_mbit", "")
    if not mbits.isdigit() or int(mbits) == 0 or facts.get(f"nic.{nic}.virtual") == "yes":
        return None
    return int(mbits) * 125_000.0
