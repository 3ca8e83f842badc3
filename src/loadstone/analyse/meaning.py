"""The meaning of a server's setting, independent of the family of servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loadstone.model.message import Message

Weight = Literal["unfair", "slow", "note"]
"""The setting makes a comparison unfair, changes the speed, or is worth knowing."""

WEIGHTS: tuple[Weight, ...] = ("unfair", "slow", "note")
"""In the order in which they are shown."""


@dataclass(frozen=True)
class Meaning:
    """What a setting means, in a short phrase for each aspect."""

    weight: Weight
    performance: Message
    durability: Message | None = None
    """What may be lost or read wrongly; `None`: the setting does not affect durability."""
