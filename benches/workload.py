"""What is driven, and the outcome, whichever program drove it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benches.figures import Spent

TABLES = 10
TABLE_SIZE = 10_000


@dataclass(frozen=True)
class Step:
    """A closed loop with uniform keys."""

    users: int
    seconds: float
    warmup_s: float = 0.0
    """Before Loadstone's clock starts: it prepares a statement when a user first needs it, while
    sysbench and the floor have done so before their clocks start.
    """
    workload: str = "oltp_point_select"
    tables: int = TABLES
    table_size: int = TABLE_SIZE
    watch_memory: bool = False
    protocol: Literal["prepared", "text"] = "prepared"
    tls: bool = False
    shards: int | None = None
    """The engine's event loops when run alone; by default one per core."""


@dataclass(frozen=True)
class Outcome:
    """A step driven by one program; the CPU is that of its whole process."""

    queries: int
    queries_per_s: float
    cpu_s: float
    errors: int
    memory_kb: int = 0
    shards: int | None = None
    """Event loops; sysbench has a thread per user."""
    users: int | None = None
    """Connected at the end; sysbench does not report it."""
    own_cpu_us: float | None = None
    """CPU per query by the engine's own clock."""

    @property
    def spent(self) -> Spent:
        """Input for the steady cost."""
        return Spent(self.cpu_s, self.queries)
