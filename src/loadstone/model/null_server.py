"""The null server's settings and counters; crates/null-server/README.md explains them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from loadstone.model.frozen import Frozen

NullAuth = Literal["mysql_native_password", "caching_sha2_password"]


class NullServerTls(Frozen):
    """Its certificate and key for TLS, as PEM files."""

    cert: Path
    key: Path


class NullServerSettings(Frozen):
    """Its settings at start; those that are not here keep their defaults."""

    host: str = "127.0.0.1"
    port: int = 0
    socket: Path | None = None
    protocol: Literal["mysql", "postgresql"] = "mysql"
    auth: NullAuth = "mysql_native_password"
    tls: NullServerTls | None = None
    tables: int = 10
    table_size: int = 10_000
    range_rows: int = 1
    log: Path | None = None
    log_records_max: int | None = None


class NullServerStats(Frozen):
    """Its counters since it was started or flushed.

    At every instant `executes + queries == answered + errors + dropped_answers + owed`.
    """

    executes: int
    queries: int
    answered: int
    errors: int
    dropped_answers: int
    owed: int
    prepares: int
    closes: int
    others: int
    connections: int
    refused: int
    open: int
    open_max: int
    encrypted: int
    tls_failed: int
    logins: int
    dropped: int
    garbled: int
    bytes_in: int
    bytes_out: int
    timed: int
    late_ns_sum: int
    late_ns_max: int
    log_records: int
    log_lost: int
    cpu_us: int
    wall_us: int

    @property
    def statements(self) -> int:
        """The number of statements of the load, prepared or as text."""
        return self.executes + self.queries

    def balances(self) -> bool:
        """Whether the equation above holds."""
        parts = (self.answered, self.errors, self.dropped_answers, self.owed)
        return self.statements == sum(parts)
