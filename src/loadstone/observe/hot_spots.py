"""Where a server has spent its time, as it sums that up itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Key = tuple[Any, ...]
Sums = dict[Key, tuple[float, ...]]


@dataclass(frozen=True)
class Snapshot:
    """All sums at one moment, and the reasons why some are missing."""

    sums: dict[str, Sums] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    datadir: str = ""
    """The server's data directory; empty if it is not known."""
