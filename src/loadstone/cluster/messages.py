"""Messages from a generator to the head: the engine's numbered records, and the host's use."""

from __future__ import annotations

from typing import Literal, NamedTuple

Changed = Literal["users", "rate", "hold"]
"""Properties of a load that can be changed while it runs."""


class HostUse(NamedTuple):
    """A generator's host during one interval."""

    cpu_share: float | None
    """Share of all cores, 0 to 1."""
    net_bytes_in: int | None
    """Bytes received by the interface towards the first target."""
    net_bytes_out: int | None
    line_bytes_per_s: float | None = None
    """The interface's speed each way, as its driver reports it; `None`: virtual, or not
    reported."""


class NumberedRecord(NamedTuple):
    """One record of a part of a step.

    It is sent again until the head has confirmed it, so that a lost answer loses nothing; by its
    number the head counts it once.
    """

    number: int
    """Numbered from 1, without gaps."""
    record: str
    """The record as the engine sent it (docs/engine.md)."""
    host: HostUse | None = None
    """The host's use; present with each sample."""
