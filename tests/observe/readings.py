"""When a run's sources were read, as seen from outside, and how long this process lacked a core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from kept import waits
from loadstone.model.observed import Reading
from loadstone.observe.local import LocalHost
from loadstone.observe.looker import Looker
from loadstone.observe.mysql.server import ServerSource


@dataclass(frozen=True)
class Seen:
    """One reading."""

    role: str
    began_s: float
    at_s: float
    """The time that the reading itself reports."""
    ended_s: float
    kept_s: float
    """How long this process's threads waited for a core since the last reading of this source."""


@dataclass
class Readings:
    """All readings of a run, in the order in which they ended."""

    seen: list[Seen] = field(default_factory=list)
    looks: int = 0
    """How often the sessions were looked at, also before and after the load."""
    _waited: dict[str, dict[str, float]] = field(default_factory=dict)

    def of(self, role: str) -> list[Seen]:
        """The readings of one source."""
        return [one for one in self.seen if one.role == role]

    def watch(self, patch: pytest.MonkeyPatch, kind: type[ServerSource | LocalHost]) -> None:
        """Record when sources of this kind are read."""
        read = kind.read

        def watched(source: Any) -> Reading:
            role, began_s, waited = source.name.role, time.monotonic(), waits()
            before, self._waited[role] = self._waited.get(role, {}), waited
            reading = read(source)
            kept_s = sum(max(now - before.get(thread, 0.0), 0.0) for thread, now in waited.items())
            self.seen.append(Seen(role, began_s, reading.at_s, time.monotonic(), kept_s))
            return reading

        patch.setattr(kind, "read", watched)

    def count_looks(self, patch: pytest.MonkeyPatch) -> None:
        """Count each look at the sessions."""
        look = Looker.look

        def counted(looker: Looker) -> dict[str, float]:
            self.looks += 1
            return look(looker)

        patch.setattr(Looker, "look", counted)


@contextmanager
def watched() -> Iterator[Readings]:
    """Record the readings of servers and of this host during the block."""
    readings = Readings()
    with pytest.MonkeyPatch.context() as patch:
        for source in (ServerSource, LocalHost):
            readings.watch(patch, source)
        readings.count_looks(patch)
        yield readings
