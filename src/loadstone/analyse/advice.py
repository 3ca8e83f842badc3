"""What a review of a server's settings looks at, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from loadstone.analyse.meaning import Weight
from loadstone.model.message import Message, clauses

_TURNING_IOPS = 500
"""No rotating disk reads so many random pages per second."""


@dataclass(frozen=True)
class Machine:
    """The facts of the server's machine that the review uses; `None`: not known."""

    memory_bytes: int | None = None
    cores: int | None = None
    rotational: bool | None = None
    """Whether the data is on a spinning disk."""
    today: date | None = None


@dataclass(frozen=True)
class Advice:
    """One line of the review."""

    weight: Weight
    variable: str
    value: str
    why: Message
    wanted: str | None = None
    """What to write into the server's configuration file; `None`: nothing."""
    restart: bool = False
    """Whether the setting only takes effect when the server starts."""
    cause: str | None = None
    """The cause by which a diagnosis names the setting's effect on a run, as in docs/diagnosis.md;
    `None`: no rule looks for it."""
    how: Message | None = None
    """Where a managed service's users set it; `None`: in the server's configuration file."""

    @property
    def said(self) -> Message:
        """Why it matters, and how to set it where that is not the server's configuration file."""
        return self.why if self.how is None else clauses(self.why, self.how)


@dataclass(frozen=True)
class Server:
    """The server's variables, with typed access."""

    variables: Mapping[str, str]
    machine: Machine

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of the server's version."""
        found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", self.variables.get("version", ""))
        return tuple(int(part) for part in found.groups() if part) if found else ()

    def text(self, name: str) -> str | None:
        """The value as the server reports it; `None` where it has no such variable."""
        return self.variables.get(name)

    def number(self, name: str) -> int | None:
        """The value as a whole number; `None` where it is missing or not a number."""
        value = self.variables.get(name, "")
        return int(value) if re.fullmatch(r"-?\d+", value) else None

    def is_on(self, name: str) -> bool | None:
        """Whether a switch is on; `None` where there is none."""
        value = self.variables.get(name)
        return None if value is None else value.upper() in ("ON", "1", "YES", "TRUE")


Rule = Callable[[Server], Iterator[Advice]]


def usable_memory(gauges: Mapping[str, float]) -> int | None:
    """The bytes that a server may use: its host's memory, or the limit of its control group.

    `gauges` are those of its host; `None`: neither is known.
    """
    limits = (gauges.get("memory.total_bytes"), gauges.get("cgroup.memory_limit_bytes"))
    known = [limit for limit in limits if limit]
    return round(min(known)) if known else None


def is_rotating(read_iops: float | None, reported: bool | None) -> bool | None:
    """Whether a disk rotates: its measured random reads per second count more than its report.

    Virtual disks report that they rotate.
    """
    return reported if read_iops is None else read_iops < _TURNING_IOPS
