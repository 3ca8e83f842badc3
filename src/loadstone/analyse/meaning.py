"""What a setting of a server means, in the words of no family of servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loadstone.model.message import Message

Weight = Literal["unfair", "slow", "note"]
"""Makes two servers unequal in what they promise; changes how fast one is; is worth knowing."""

WEIGHTS: tuple[Weight, ...] = ("unfair", "slow", "note")
"""What must be read first comes first."""


@dataclass(frozen=True)
class Meaning:
    """A setting in half a sentence each."""

    weight: Weight
    performance: Message
    durability: Message | None = None
    """What may be lost or seen wrongly; `None`: nothing changes there."""
