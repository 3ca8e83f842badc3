"""Where a fault is injected: the server, the load's process, and what both were seen to use."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benches.caps import MemoryGroup, Network
from benches.processes import ProgramFailed
from faults.case import Server
from faults.dialects import DIALECTS, Dialect
from loadstone.families import connect
from loadstone.sandbox import Sandbox
from loadstone.servers.connection import Connection, Cursor

_EVENT_LOOP = "shard-0"
"""The thread that is there as long as load is driven."""

_BETWEEN_STEPS_S = 6.0
"""For so long a ladder's next step lets wait for its event loops: the last one's connections are
waited for, up to 3 s where an injection has one of its own."""


_SPAN_S = 2.0
"""A level's busiest time is found in spans of this length: a ladder's levels differ."""


@dataclass(frozen=True)
class Moment:
    """Seconds of CPU that all have used so far."""

    at_s: float
    busy_s: float
    interrupts_s: float
    """Part of the busy ones that belongs to no process."""
    stolen_s: float
    server_s: float
    generator_s: float


@dataclass(frozen=True)
class Used:
    """Shares of this machine's cores while the load was on, by /proc and not by Loadstone."""

    busy: float
    others: float
    """Of whom neither server nor generator are."""
    stolen: float
    busiest: float
    """The same as `busy`, in the busiest two seconds."""


@dataclass
class Watch:
    """Follows the load's process from outside."""

    server_pid: int
    on: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    generator_pid: int | None = None
    first: Moment | None = None
    last: Moment | None = None
    _seen_s: float = 0.0
    _span: Moment | None = None
    """Where the span at hand began."""
    _busiest: float = 0.0

    def look(self, pid: int) -> None:
        """Called some times a second with the process of `loadstone run`."""
        self.generator_pid = pid
        now_s = time.monotonic()
        if _drives(pid):
            self._seen_s = now_s
            self.last = _moment(self.server_pid, pid) or self.last
            self.first = self.first or self.last
            self._measure_span()
            self.on.set()
        elif self.on.is_set() and now_s - self._seen_s > _BETWEEN_STEPS_S:
            self.over.set()

    def _measure_span(self) -> None:
        begin, now = self._span or self.last, self.last
        if begin is None or now is None:
            return
        if now.at_s - begin.at_s >= _SPAN_S:
            share = (now.busy_s - begin.busy_s) / _cores_s(begin, now)
            self._busiest, begin = max(self._busiest, share), now
        self._span = begin

    def end(self) -> None:
        """The load is over, or never came: nobody waits for it any longer."""
        self.over.set()
        self.on.set()

    def used(self) -> Used | None:
        """What was used between the first look at the load and the last."""
        if self.first is None or self.last is None or self.last.at_s <= self.first.at_s:
            return None
        cores_s = _cores_s(self.first, self.last)
        busy_s = self.last.busy_s - self.first.busy_s
        own_s = self.last.server_s + self.last.generator_s
        own_s -= self.first.server_s + self.first.generator_s
        own_s += self.last.interrupts_s - self.first.interrupts_s
        stolen_s = self.last.stolen_s - self.first.stolen_s
        return Used(
            busy=busy_s / cores_s,
            others=max(busy_s - own_s, 0.0) / cores_s,
            stolen=stolen_s / cores_s,
            busiest=max(self._busiest, busy_s / cores_s),
        )


@dataclass(frozen=True)
class Scene:
    """What an injection may use."""

    sandbox: Sandbox
    server: Server
    watch: Watch
    port: int
    """Which the load connects to."""
    network: Network | None = None
    """The server's, where it has one of its own."""
    memory: MemoryGroup | None = None
    """Likewise."""

    def connect(self) -> Connection:
        """A session of ours, by the unix socket."""
        return self.sandbox.connect()

    def connect_as_the_load(self) -> Connection:
        """A session over the same way as the load's, where that is on this host."""
        return connect(
            self.sandbox.tcp.model_copy(
                update={"target": self.sandbox.tcp.target.model_copy(update={"port": self.port})}
            )
        )

    @property
    def dialect(self) -> Dialect:
        """The words of its server."""
        return DIALECTS[self.server]

    @contextmanager
    def session(self) -> Iterator[Cursor]:
        """A cursor of another client's session, in the load's schema."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(self.dialect.enter.format(database=self.sandbox.state.database))
            yield cursor

    def status(self, name: str) -> float:
        """A counter or value of the server: a global status, or an expression of PostgreSQL's.

        Raises:
            ProgramFailed: the server has none of that name.
        """
        with self.session() as cursor:
            cursor.execute(self.dialect.status.format(name=name))
            row = cursor.fetchone()
        if row is None:
            raise ProgramFailed(f"the server has no status {name}")
        return float(row[-1])

    def execute(self, statements: Iterable[str]) -> None:
        """Carry them out, one after the other."""
        with self.session() as cursor:
            for statement in statements:
                cursor.execute(statement)


def _cores_s(begin: Moment, end: Moment) -> float:
    return (end.at_s - begin.at_s) * (psutil.cpu_count() or 1)


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process and its children have used, those that have ended as well."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        times = process.cpu_times()
        own_s = times.user + times.system + times.children_user + times.children_system
        return float(own_s + sum(cpu_s(child.pid) for child in process.children()))
    return 0.0


def processes_of(pid: int) -> list[int]:
    """A server's processes, the first one first."""
    with suppress(psutil.Error):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return []


def _drives(pid: int) -> bool:
    try:
        comms = Path(f"/proc/{pid}/task").glob("*/comm")
        return any(comm.read_text().strip() == _EVENT_LOOP for comm in comms)
    except OSError:
        return False  # it is just ending


def _moment(server_pid: int, generator_pid: int) -> Moment | None:
    times = psutil.cpu_times()
    interrupts_s = times.irq + times.softirq
    try:
        generator = psutil.Process(generator_pid).cpu_times()
    except psutil.Error:
        return None  # it is just ending
    return Moment(
        at_s=time.monotonic(),
        busy_s=times.user + times.nice + times.system + interrupts_s,
        interrupts_s=interrupts_s,
        stolen_s=times.steal,
        server_s=cpu_s(server_pid),
        generator_s=generator.user + generator.system,
    )
