"""`-l`: a log file for each thread, with a line for each transaction or for each interval.

Formats: https://www.postgresql.org/docs/15/pgbench.html, "Per-Transaction Logging" and "Aggregated
Logging".
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from loadstone.model.pgbench import LoggedEvent
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Benchmark, Logging

_MICROSECONDS = 1_000_000
_RETURNED = ("ok", "skipped", "serialization", "deadlock")
"""How transactions end that are logged; those of an aborted client are not."""


@dataclass(frozen=True)
class Columns:
    """Which columns a line has."""

    lag: bool
    retries: bool
    detailed: bool

    @classmethod
    def of(cls, asked: Benchmark) -> Columns:
        """Those of a run."""
        tries = asked.tries
        return cls(asked.rate is not None, tries.is_retrying, tries.detailed)


def line_of(event: LoggedEvent, script: int, columns: Columns) -> str:
    """The line of a transaction; `script` is the script's place on the command line."""
    time = {"ok": str(event.latency_us), "skipped": "skipped"}.get(event.outcome)
    if time is None:
        time = event.outcome if columns.detailed else "failed"
    seconds, microseconds = divmod(event.end_unix_us, _MICROSECONDS)
    words = [event.user, event.number, time, script, seconds, microseconds]
    if columns.lag:
        words.append(event.lag_us or 0)
    if columns.retries:
        words.append(max(event.tries - 1, 0))
    return " ".join(map(str, words))


@dataclass
class Spread:
    """Values of an interval: their sum, that of their squares, the least and the greatest."""

    sum: int = 0
    squares: int = 0
    least: int = 0
    most: int = 0
    count: int = 0

    def add(self, value: int) -> None:
        """Add a value."""
        self.least = value if not self.count else min(self.least, value)
        self.most = max(self.most, value)
        self.sum += value
        self.squares += value * value
        self.count += 1

    def __str__(self) -> str:
        """The four columns."""
        return f"{self.sum} {self.squares} {self.least} {self.most}"


@dataclass
class Interval:
    """The transactions of an interval that begins at this second since 1970."""

    begin_s: int
    latency_us: Spread = field(default_factory=Spread)
    lag_us: Spread = field(default_factory=Spread)
    ended: int = 0
    skipped: int = 0
    retried: int = 0
    retries: int = 0
    serialization: int = 0
    deadlock: int = 0

    def add(self, event: LoggedEvent, columns: Columns) -> None:
        """Add a transaction."""
        if event.outcome == "skipped":
            self.skipped += 1
        elif event.outcome == "ok":
            self.latency_us.add(event.latency_us)
            if columns.lag:
                self.lag_us.add(event.lag_us or 0)
        elif columns.detailed and event.outcome == "serialization":
            self.serialization += 1
        elif columns.detailed and event.outcome == "deadlock":
            self.deadlock += 1
        if columns.retries and event.tries > 1:
            self.retried += 1
            self.retries += event.tries - 1

    def __str__(self) -> str:
        """The line of the interval."""
        words = (
            *(self.begin_s, self.latency_us.count, self.latency_us, self.lag_us, self.skipped),
            *(self.retried, self.retries, self.serialization, self.deadlock),
        )
        return " ".join(map(str, words))


@dataclass
class Aggregate:
    """A thread's lines for each interval that is over."""

    length_s: int
    now: Interval

    def lines(self, event: LoggedEvent, columns: Columns) -> Iterator[str]:
        """The lines of the intervals that are over by the end of this transaction."""
        yield from self.lines_until(event.end_unix_us // _MICROSECONDS)
        self.now.add(event, columns)

    def lines_until(self, second: int) -> Iterator[str]:
        """The lines of the intervals that are over at this second; the last one stays open."""
        while self.now.begin_s + self.length_s <= second:
            yield str(self.now)
            self.now = Interval(self.now.begin_s + self.length_s)


@dataclass
class TransactionLog:
    """The open files of a run."""

    asked: Benchmark
    logging: Logging
    files: list[TextIO]
    scripts: tuple[int, ...]
    """The place on the command line of each workload."""
    random: random.Random | None = None
    """Draws which transactions are kept; `None`: the engine does, or all are."""
    aggregates: list[Aggregate] = field(default_factory=list)

    def begin(self, unix_s: float) -> None:
        """The transactions begin."""
        if self.logging.aggregate_s:
            length_s = self.logging.aggregate_s
            self.aggregates = [Aggregate(length_s, Interval(int(unix_s))) for _ in self.files]

    def add(self, events: Iterable[LoggedEvent]) -> None:
        """Write the transactions of an interval, in the order in which they ended."""
        columns = Columns.of(self.asked)
        for event in sorted(events, key=lambda one: one.end_unix_us):
            if event.outcome not in _RETURNED or self._leaves_out():
                continue
            thread = thread_of(event.user, self.asked)
            if self.aggregates:
                lines = self.aggregates[thread].lines(event, columns)
            else:
                lines = iter((line_of(event, self.scripts[event.member], columns),))
            self.files[thread].writelines(f"{line}\n" for line in lines)

    def _leaves_out(self) -> bool:
        return self.random is not None and self.random.random() >= self.logging.share

    def end(self, unix_s: float) -> None:
        """The transactions have ended: write the intervals that are over."""
        for aggregate, file in zip(self.aggregates, self.files, strict=False):
            file.writelines(f"{line}\n" for line in aggregate.lines_until(int(unix_s)))


def thread_of(client: int, asked: Benchmark) -> int:
    """The thread of a client: clients are dealt out in their order, the first threads get more."""
    share, more = divmod(asked.clients, asked.threads)
    with_more = more * (share + 1)
    if client < with_more:
        return client // (share + 1)
    return more + (client - with_more) // share


@contextlib.contextmanager
def opened(
    asked: Benchmark, scripts: tuple[int, ...], draws: random.Random | None
) -> Iterator[TransactionLog | None]:
    """The log of a run, if one was asked for: PREFIX.PID, and PREFIX.PID.N of further threads.

    Raises:
        Failed: a file cannot be written.
    """
    if asked.logging is None:
        yield None
        return
    names = [f"{asked.logging.prefix}.{os.getpid()}"]
    names += [f"{names[0]}.{thread}" for thread in range(1, asked.threads)]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_file(name)) for name in names]
        yield TransactionLog(asked, asked.logging, files, scripts, draws)


def _file(name: str) -> TextIO:
    try:
        return Path(name).open("w")
    except OSError as error:
        raise Failed(f'could not open logfile "{name}": {error.strerror}') from error
