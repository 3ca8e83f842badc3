"""What grows with the number of event loops: many of them on the cores that there are."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.figures import spread
from benches.loadstone import outcome_of_records, plan_on
from benches.null_servers import NullServer, null_server
from benches.place import Asked, allow_descriptors, build_example, build_program
from benches.processes import Memory, ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread
from benches.threads import Threads
from benches.workload import Step

SHARDS = (1, 4, 16, 64)
USERS = 512
RATE = 10_000
"""Due events a second, far below what the cores can: more loops do the same work."""
_LOOPS, _COORDINATOR = "shard", "coordinator"
_WARMUP_S = 2.0


@dataclass(frozen=True)
class Reading:
    """One run with so many event loops."""

    shards: int
    round: int
    queries_per_s: float
    cpu_us_per_query: float
    """Of the event loops' threads."""
    wakeups_per_query: float
    """How often an event loop slept, by the kernel's count."""
    merge_ms_per_s: float
    """CPU of the thread that adds up the seconds of all loops and writes them."""
    memory_kb: int
    errors: int


class _Sleeps:
    """Counts how often the event loops' threads have slept: their voluntary switches."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None
        self._came_at: float | None = None

    def look(self, pid: int) -> None:
        """Take a reading once the load is under way; a process that is ending gives none."""
        try:
            slept = _sleeps(Path("/proc", str(pid)))
        except OSError:
            return
        if slept is None:
            return
        now = time.monotonic()
        self._came_at = self._came_at or now
        if now - self._came_at >= _WARMUP_S:
            self._first = self._first or (now, slept)
            self._last = (now, slept)

    @property
    def per_s(self) -> float:
        """Over all loops.

        Raises:
            ProgramFailed: it was over before there were two readings.
        """
        if self._first is None or self._last is None or self._first is self._last:
            raise ProgramFailed("shards: the run was too short for two readings")
        return (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])


def _sleeps(process: Path) -> int | None:
    slept = None
    for task in process.glob("task/*"):
        if (task / "comm").read_text().startswith(_LOOPS):
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    slept = (slept or 0) + int(line.split()[1])
    return slept


def measure(asked: Asked, folder: Path) -> Report:
    """Each number of event loops in turn, so many rounds, at the same rate."""
    allow_descriptors()
    program, null = build_example("drive", "step"), build_program("null-server")
    seconds = asked.seconds[1]
    readings = []
    for number in range(asked.pairs):
        for shards in SHARDS:
            announce(f"shards: {shards}, round {number + 1} of {asked.pairs}")
            with null_server(null) as server:
                readings.append(_read(program, server, (shards, seconds), number))
    cores = len(os.sched_getaffinity(0))
    return Report(
        title=f"Event loops: {RATE:,} point selects a second by {USERS} users, {cores} cores",
        tables=(shards_table(readings),),
        readings=[asdict(one) for one in readings],
        notes=(
            f"{counted(asked.pairs, 'run')} of {seconds:g} s each, null server over loopback TCP;"
            " median (least–greatest). CPU of the loops' threads by their own clock. A wake-up: a"
            " loop has slept. Merging: CPU of the thread that adds up and writes the seconds.",
        ),
    )


def _read(program: str, server: NullServer, way: tuple[int, float], number: int) -> Reading:
    shards, seconds = way
    plan = plan_on(server.engine_target(), Step(USERS, seconds, warmup_s=_WARMUP_S), shards=shards)
    plan["arrival"] = {"kind": "open", "rate": RATE, "gaps": "uniform"}
    memory, sleeps, threads = Memory(f"{_LOOPS}-0"), _Sleeps(), Threads(_LOOPS, _WARMUP_S)

    def look(pid: int) -> None:
        for each in (memory, sleeps, threads):
            each.look(pid)

    ran = run([program], stdin=json.dumps(plan), look=look)
    records: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    outcome = outcome_of_records(records, ran.cpu_s, memory.most_kb)
    return Reading(
        shards=shards,
        round=number,
        queries_per_s=outcome.queries_per_s,
        cpu_us_per_query=outcome.own_cpu_us or 0.0,
        wakeups_per_query=sleeps.per_s / outcome.queries_per_s,
        merge_ms_per_s=threads.shares[_COORDINATOR] * 1000,
        memory_kb=outcome.memory_kb,
        errors=outcome.errors,
    )


def shards_table(readings: Sequence[Reading]) -> str:
    """One row for each number of event loops."""
    head = ["event loops", "queries/s", "CPU µs a query", "wake-ups a query"]
    head += ["merging, ms a second", "MB", "errors"]
    rows = []
    for shards in dict.fromkeys(one.shards for one in readings):
        mine = [one for one in readings if one.shards == shards]
        rows.append(
            [
                str(shards),
                with_spread(spread([one.queries_per_s for one in mine]), 0),
                with_spread(spread([one.cpu_us_per_query for one in mine]), 2),
                with_spread(spread([one.wakeups_per_query for one in mine]), 2),
                with_spread(spread([one.merge_ms_per_s for one in mine]), 2),
                with_spread(spread([one.memory_kb / 1024 for one in mine])),
                str(sum(one.errors for one in mine)),
            ]
        )
    return table(head, rows)
