"""How far a replica is behind, by its own word."""

from __future__ import annotations

from dataclasses import dataclass

LAG = "replica_lag"


@dataclass(frozen=True)
class Behind:
    """What a replica says: of several sources, of the one that it is furthest behind."""

    seconds: float | None
    """`None`: it is not replicating, so that it falls further behind with each second."""
