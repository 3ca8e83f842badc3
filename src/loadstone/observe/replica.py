"""How far a replica is behind, as it reports itself."""

from __future__ import annotations

from dataclasses import dataclass

LAG = "replica_lag"


@dataclass(frozen=True)
class Behind:
    """A replica's lag; with several sources, that of the source it is furthest behind."""

    seconds: float | None
    """`None`: it is not replicating, so its lag grows with each second."""
