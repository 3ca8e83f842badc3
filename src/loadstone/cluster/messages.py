"""What a generator tells the head: the engine's records, numbered, and what its host did."""

from __future__ import annotations

from typing import Literal, NamedTuple

Changed = Literal["users", "rate", "hold"]
"""What of a load may be changed while it runs."""


class HostUse(NamedTuple):
    """What a generator's host did during one interval."""

    cpu_share: float | None
    """Share of all cores, 0 to 1."""
    net_bytes_in: int | None
    """Bytes received by the interface towards the first target."""
    net_bytes_out: int | None
    line_bytes_per_s: float | None = None
    """What that interface carries each way, by its own word; `None`: a virtual one, or not told."""


class NumberedRecord(NamedTuple):
    """One record of a part of a step.

    It is told again until the head has said that it has it, so that a lost answer loses nothing;
    by its number the head counts it once.
    """

    number: int
    """From 1, without gaps."""
    record: str
    """The record as the engine sent it (docs/engine.md)."""
    host: HostUse | None = None
    """With each sample."""
