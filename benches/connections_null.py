"""As many connections as descriptors allow, from one process and from several, and their memory.

Null servers need a descriptor for each connection, too: there is one for each generator. Each pair
has an address of its own on loopback, since an address has some 28,000 ports for a server.
"""

from __future__ import annotations

import json
import resource
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.figures import slope
from benches.loadstone import plan_on
from benches.null_servers import NullServer, Protocol, null_server
from benches.place import Asked, allow_descriptors, build_example, build_program
from benches.processes import Memory, ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import table
from benches.workload import Step

LEAST = 18_000
EACH, ALL = 17_000, 100_000
"""Connections of each of several processes, and of all of them."""

QUICK_ALL = 34_000
TARGET_KB = 1.5
FEW = 1_000
_OWN = 100
"""Descriptors of a generator or a server that are no connection."""
_HELD_S, _QUICK_HELD_S = 60.0, 3.0
_AT_ONCE = 64
_CONNECT_S = 600.0
RATE = 2_000
"""Events a second of all connections of a process, which take turns: within seconds each has had
one, and no core is full with it."""


@dataclass(frozen=True)
class Held:
    """One generator with all its connections under load."""

    processes: int
    """How many there were at the same time."""
    asked: int
    connected: int
    at_the_end: int
    """Connected at the end of the window."""
    connect_s: float
    """Until all were logged in."""
    errors: dict[str, int]
    """By their codes; connections that were lost and opened again are `lost`."""
    events: int
    memory_kb: int

    @property
    def logins_per_s(self) -> float:
        """How fast they were opened."""
        return self.connected / self.connect_s


def measure(asked: Asked, folder: Path) -> Report:
    """One process at two levels, then several at the same time.

    Raises:
        ProgramFailed: the limit of descriptors is too low for it.
    """
    allow_descriptors()
    program, null = build_example("drive", "step"), build_program("null-server")
    held_s = _QUICK_HELD_S if asked.quick else _HELD_S
    protocol: Protocol = "postgresql" if asked.server == "postgresql" else "mysql"
    most = most_connections()
    if most < EACH:
        raise ProgramFailed(f"connections-null needs ulimit -Hn of {EACH + _OWN:,}")
    total = QUICK_ALL if asked.quick else ALL
    readings = []
    for users in (FEW, most):
        announce(f"connections-null: {users:,} connections of one process")
        readings += _hold((program, null, protocol), [users], held_s)
    shares = shared(total)
    announce(f"connections-null: {total:,} connections of {len(shares)} processes")
    readings += _hold((program, null, protocol), shares, held_s)
    return Report(
        title=f"Connections: point selects against null servers, {protocol}",
        tables=(held_table(readings),),
        readings=[asdict(one) for one in readings],
        notes=(
            f"The hard limit of descriptors allows {most:,} in one process (wanted:"
            f" {LEAST:,}). Held for {held_s:g} s, with {RATE:,} events a second in each process, in"
            " turn over its connections. Errors: error packets, failed attempts to connect, and"
            " connections that were lost. Memory: the greatest resident memory under load; a"
            f" connection's is the slope from {FEW:,} connections of one process. What the kernel"
            " keeps for a socket is in no figure. Logins: users divided by the time until all were"
            f" connected, {_AT_ONCE} attempts at once; several processes connect at the same time,"
            " on the same cores as their servers.",
        ),
    )


def most_connections() -> int:
    """How many the limit of descriptors allows in one process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(hard, 1_000_000) - _OWN


def shared(total: int) -> list[int]:
    """`EACH` connections for each process, and the rest for the last one."""
    whole, rest = divmod(total, EACH)
    return [EACH] * whole + ([rest] if rest else [])


def _hold(programs: tuple[str, str, Protocol], shares: Sequence[int], held_s: float) -> list[Held]:
    """Generators at the same time, each with a null server of its own."""
    program, null, protocol = programs
    outcomes: list[Held | BaseException] = []

    def drive(server: NullServer, users: int) -> None:
        try:
            outcomes.append(_drive(program, server, (users, held_s), len(shares)))
        except BaseException as error:
            outcomes.append(error)

    with ExitStack() as stack:
        servers = [
            stack.enter_context(null_server(null, host=f"127.0.0.{number + 2}", protocol=protocol))
            for number in range(len(shares))
        ]
        threads = [
            threading.Thread(target=drive, args=each) for each in zip(servers, shares, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    held = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        held.append(outcome)
    return held


def _drive(program: str, server: NullServer, way: tuple[int, float], processes: int) -> Held:
    users, held_s = way
    plan = plan_on(server.engine_target(), Step(users, held_s), shards=1)
    plan["arrival"] = {"kind": "open", "rate": RATE, "gaps": "uniform"}
    plan["connect"] |= {"timeout_s": _CONNECT_S, "source_addresses": [server.host]}
    memory = Memory("shard-0")
    ran = run([program], stdin=json.dumps(plan), look=memory.look)
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    return held_of(records, users, processes, memory.most_kb)


def held_of(records: Sequence[dict[str, Any]], asked: int, processes: int, memory_kb: int) -> Held:
    """Read the engine's records of a step."""
    (connected,) = (one for one in records if one["kind"] == "connected")
    samples = [one for one in records if one["kind"] == "sample"]
    window = [one for one in samples if one["phase"] == "window"]
    errors = Counter({"lost": sum(one["counts"]["reconnects"] for one in samples)})
    for one in [connected, *samples]:
        errors.update(one["connect_failures"])
        errors.update(one.get("errors", {}))
    return Held(
        processes=processes,
        asked=asked,
        connected=connected["users"],
        at_the_end=window[-1]["users"],
        connect_s=connected["seconds"],
        errors={code: count for code, count in errors.items() if count},
        events=sum(one["counts"]["events"] for one in samples),
        memory_kb=memory_kb,
    )


def _shown(mine: Sequence[Held]) -> str:
    """`0`, or the number of errors of each code."""
    errors: Counter[str] = Counter()
    for one in mine:
        errors.update(one.errors)
    return ", ".join(f"{count:,} × {code}" for code, count in sorted(errors.items())) or "0"


def held_table(readings: Sequence[Held]) -> str:
    """One row for one process at each level, and one for all that ran at the same time."""
    head = ["processes", "connections", "at the end", "errors", "wanted", "events"]
    head += ["MB a process", "KB a connection", "wanted", "logins/s"]
    few = next(one for one in readings if one.processes == 1)
    groups: dict[tuple[int, int], list[Held]] = {}
    for one in readings:
        groups.setdefault((one.processes, one.asked if one.processes == 1 else 0), []).append(one)
    return table(head, [_row(mine, few) for mine in groups.values()])


def _row(mine: Sequence[Held], few: Held) -> list[str]:
    slopes = [
        slope([(few.connected, few.memory_kb), (one.connected, one.memory_kb)])
        for one in mine
        if one.connected > few.connected
    ]
    # They begin at the same time: the slowest ends last.
    slowest_s = max(one.connect_s for one in mine)
    return [
        str(mine[0].processes),
        f"{sum(one.connected for one in mine):,}",
        f"{sum(one.at_the_end for one in mine):,}",
        _shown(mine),
        "0",
        f"{sum(one.events for one in mine):,}",
        f"{max(one.memory_kb for one in mine) / 1024:,.1f}",
        f"{max(slopes):,.2f}" if slopes else "",
        f"≤ {TARGET_KB:g}" if slopes else "",
        f"{sum(one.connected for one in mine) / slowest_s:,.0f}",
    ]
