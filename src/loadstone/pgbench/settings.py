"""What a command line of pgbench asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from loadstone.pgbench.scripts import Script

Protocol = Literal["simple", "extended", "prepared"]
Method = Literal["range", "hash"]

STEPS = "dtgGvpf"
"""The letters of all steps of an initialization."""
USUAL_STEPS = "dtgvp"
USUAL_TRANSACTIONS = 10


@dataclass(frozen=True)
class Place:
    """The server and the database; `None` and empty: not named."""

    host: str | None = None
    port: str | None = None
    user: str | None = None
    database: str | None = None
    """A name, or all parameters of the connection as libpq takes them."""


@dataclass(frozen=True)
class Initialization:
    """`-i`: the tables to create, and the steps."""

    place: Place
    steps: str = USUAL_STEPS
    scale: int = 1
    fillfactor: int = 100
    quiet: bool = False
    unlogged: bool = False
    tablespace: str | None = None
    index_tablespace: str | None = None
    method: Method = "range"
    partitions: int = 0


@dataclass(frozen=True)
class Logging:
    """`-l`: a log file of each thread."""

    prefix: str = "pgbench_log"
    share: float = 1.0
    """The share of the transactions that are logged."""
    aggregate_s: int | None = None
    """A line for all transactions of so many seconds; `None`: a line for each."""


@dataclass(frozen=True)
class Tries:
    """What happens after a transaction that failed to serialize or ran into a deadlock."""

    most: int = 1
    """0: no limit."""
    detailed: bool = False
    """Failures are reported by their type."""
    verbose: bool = False
    """Each error is printed."""

    @property
    def is_retrying(self) -> bool:
        """Whether a transaction may be tried again."""
        return self.most != 1


@dataclass(frozen=True)
class Progress:
    """`-P`: a line every so many seconds."""

    every_s: int
    unix_times: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A run."""

    place: Place
    scripts: tuple[Script, ...]
    clients: int = 1
    threads: int = 1
    transactions: int | None = USUAL_TRANSACTIONS
    """Of each client; `None`: for `duration_s`."""
    duration_s: int | None = None
    reconnects: bool = False
    protocol: Protocol = "simple"
    rate: float | None = None
    """Transactions that become due, per second; `None`: each follows the last."""
    limit_ms: float | None = None
    """The latency above which transactions are late."""
    tries: Tries = Tries()
    progress: Progress | None = None
    logging: Logging | None = None
    by_command: bool = False
    defined: Mapping[str, str] = field(default_factory=dict)
    scale: int | None = None
    """As given."""
    seed: int | None = None
    """As given; `None`: another one each time."""
    vacuums: bool = True
    vacuums_all: bool = False
    debug: bool = False
    exits_on_abort: bool = False
    """The run ends with the first client that is aborted."""
    out: Path | None = None
    """The folder in which the run's own is kept."""

    @property
    def limits_lateness(self) -> bool:
        """Whether transactions that start too late are skipped."""
        return self.rate is not None and self.limit_ms is not None

    @property
    def measures_each(self) -> bool:
        """Whether the latency is that of transactions, not the time divided by their number."""
        return bool(self.rate or self.limit_ms or self.progress)


@dataclass(frozen=True)
class Shown:
    """A text that is all that was asked for."""

    text: str
    on_stderr: bool = False
