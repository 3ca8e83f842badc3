"""TPC-C-like load: loading warehouses, transactions, their cost, and a server that is killed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pymysql

from benches import loadstone
from benches.place import LOADSTONE, Place, other_server
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import table
from loadstone.lab.tables.tpcc_consistency import CONDITIONS, REQUIRED, verdicts
from loadstone.sandbox import Sandbox

_WAREHOUSES, _WAREHOUSES_QUICK = 10, 1
_LEVELS = (1, 16, 64)
_SECONDS, _SECONDS_QUICK = 60.0, 5.0
_WARMUP_S = 2.0
_KILLED_USERS = 64
_KILLED_S, _KILLED_S_QUICK = 600.0, 20.0
_KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")
_MIX = (45.0, 43.0, 4.0, 4.0, 4.0)
_MIX_WANTED = 0.5

# Ten warehouses take 0.8 GB when loaded, and grow: the cost of a transaction must not depend on
# disk reads.
_SETTINGS = {"innodb_buffer_pool_size": "2G", "innodb_log_file_size": "1G"}
_CONNECTIONS = 200
_RECOVERY_S = 300.0
"""The longest recovery of the killed server with a log of that size."""

_DEADLOCK = "1213"


@dataclass(frozen=True)
class Level:
    """The load of a step."""

    users: int
    protocol: str
    seconds: float
    killed: bool = False


@dataclass(frozen=True)
class Driven:
    """The outcome of a step."""

    users: int
    protocol: str
    killed: bool
    events: int
    tps: float
    tpmc: float
    p90_ms: float | None
    """The latency of New-Orders."""
    generator_us: float
    """CPU time of the generator's shards per transaction."""
    server_us: float | None
    """CPU time of the server's process; `None` if that process was replaced."""
    off_mix: float
    """The largest distance of a transaction's share from the mix, in percent of all."""
    deadlocks: int
    restarts: int
    reconnects: int
    asked: tuple[int, ...]
    """The consistency conditions that were checked afterwards."""
    broken: tuple[int, ...]
    """The checked conditions that do not hold."""
    asking_s: float

    @property
    def has_the_mix(self) -> bool:
        """Whether all shares are close enough: unfinished decks of users are included."""
        return self.off_mix <= _MIX_WANTED


def measure(place: Place) -> Report:
    """Load once, drive each level both ways, then kill the server under the most users."""
    with other_server(place, _SETTINGS, _CONNECTIONS) as roomy:
        return _measure(roomy)


def _measure(place: Place) -> Report:
    quick = place.asked.quick
    warehouses = _WAREHOUSES_QUICK if quick else _WAREHOUSES
    announce(f"tpcc: loading {warehouses} warehouses")
    target = ["--target", place.url()]
    loaded = run(
        [LOADSTONE, "prepare", "tpcc", *target, "--warehouses", str(warehouses)],
        environment=loadstone.environment(place),
    )
    driven = [_drive(place, level) for level in levels(place.asked.users, quick=quick)]
    return Report(
        title="TPC-C-like, not audited",
        tables=(steps_table(driven),),
        readings=[{"load_s": loaded.wall_s, "load_cpu_s": loaded.cpu_s}]
        + [asdict(one) for one in driven],
        notes=(
            f"{warehouses} warehouses loaded in {loaded.wall_s:.1f} s with {loaded.cpu_s:.1f} s of"
            " the generator's CPU. No keying and think times; the buffer pool holds all. Off the"
            f" mix: the largest distance of a transaction's share, wanted ≤ {_MIX_WANTED} %."
            " Killed: SIGKILL in the middle, and the server started again. Conditions: those of"
            " clause 3.3.2; 1 to 4 after each step, all twelve after the last.",
            _verdict(driven, judges_mix=not quick),
        ),
    )


def levels(chosen: Sequence[int] | None, *, quick: bool) -> list[Level]:
    """The levels in order; the one in which the server is killed comes last."""
    seconds = _SECONDS_QUICK if quick else _SECONDS
    steps = [
        Level(users, protocol, seconds)
        for users in chosen or _LEVELS
        for protocol in ("prepared", "text")
    ]
    killed_s = _KILLED_S_QUICK if quick else _KILLED_S
    return [*steps, Level(_KILLED_USERS, "prepared", killed_s, killed=True)]


def _verdict(driven: Sequence[Driven], *, judges_mix: bool) -> str:
    bad = [one for one in driven if one.broken or (judges_mix and not one.has_the_mix)]
    if not bad and not judges_mix:
        return "All conditions that were asked for hold; steps are too short to judge their mix."
    if not bad:
        return "All conditions that were asked for hold, and each step is within the mix."
    which = ", ".join(f"{one.users} users, {one.protocol}" for one in bad)
    return f"**Not as wanted**: {which}."


@dataclass
class _Blows:
    """Hits the server at certain moments of a run, from the thread that waits for the run."""

    blows: list[tuple[float, Callable[[], None]]]
    """Seconds after the first look, in rising order."""
    begun_s: float | None = None

    def look(self, _pid: int) -> None:
        """Strike what is due."""
        now_s = time.monotonic()
        self.begun_s = self.begun_s or now_s
        while self.blows and now_s - self.begun_s >= self.blows[0][0]:
            _, strike = self.blows.pop(0)
            strike()


def _blows(sandbox: Sandbox, seconds: float) -> _Blows:
    """A deadlock in the first quarter, the kill in the middle; the start comes before both."""

    def kill() -> None:
        sandbox.kill()
        sandbox.start_again(timeout_s=_RECOVERY_S)

    return _Blows(
        [
            (_WARMUP_S + seconds / 4, lambda: provoke_deadlock(sandbox)),
            (2 * _WARMUP_S + seconds / 2, kill),
        ]
    )


def provoke_deadlock(sandbox: Sandbox) -> None:
    """Lock a warehouse's stock, then its districts: New-Orders lock them in the other order."""
    with sandbox.connect() as connection, connection.cursor() as cursor:
        connection.begin()
        # The transaction that has done less is the victim, and that may be this one.
        with contextlib.suppress(pymysql.MySQLError):
            cursor.execute("SELECT SUM(s_ytd) FROM tpcc_stock WHERE s_w_id = 1 FOR UPDATE")
            time.sleep(0.5)
            cursor.execute("SELECT SUM(d_ytd) FROM tpcc_district WHERE d_w_id = 1 FOR UPDATE")
        connection.rollback()


def _drive(place: Place, level: Level) -> Driven:
    killed = ", killed" if level.killed else ""
    announce(f"tpcc: {level.users} users, {level.protocol}, {level.seconds:g} s{killed}")
    blows = _blows(place.sandbox, level.seconds) if level.killed else None
    ran = run(
        [LOADSTONE, "run", "tpcc", "--target", place.url(), f"--{level.protocol}", "--json"]
        + ["--concurrency", str(level.users), "--duration", f"{level.seconds:g}s"]
        + ["--warmup", f"{_WARMUP_S:g}s", "--out", str(place.folder)],
        environment=loadstone.environment(place),
        look=blows.look if blows else None,
    )
    if blows and blows.blows:
        raise ProgramFailed("the run was over before the server was killed")
    begun = time.monotonic()
    asked = tuple(each.number for each in CONDITIONS) if level.killed else REQUIRED
    announce(f"tpcc: conditions {asked[0]} to {asked[-1]}")
    found = list(verdicts(place.sandbox.tcp, asked))
    broken = tuple(each.condition for each in found if not each.holds)
    (step,) = json.loads(ran.stdout)["steps"]
    return driven_of(level, step, (asked, broken, time.monotonic() - begun))


def driven_of(
    level: Level, step: dict[str, Any], conditions: tuple[tuple[int, ...], tuple[int, ...], float]
) -> Driven:
    """A step of result.json, and which conditions were checked, are violated, and how long that
    took.

    Raises:
        ProgramFailed: it did nothing.
    """
    if not step["events"]:
        raise ProgramFailed(f"tpcc with {level.users} users did no transaction")
    asked, broken, asking_s = conditions
    counts = [step["kinds"].get(kind, {"count": 0})["count"] for kind in _KINDS]
    shares = [100.0 * count / step["events"] for count in counts]
    statements = step["reads"] + step["writes"] + step["other"]
    return Driven(
        users=level.users,
        protocol=level.protocol,
        killed=level.killed,
        events=step["events"],
        tps=step["tps"],
        tpmc=step["tpmc"],
        p90_ms=step["kinds"].get("new_order", {}).get("p90"),
        generator_us=step["generator"]["cpu_us_per_query"] * statements / step["events"],
        server_us=None if level.killed else _server_us(step),
        off_mix=max(abs(share - wanted) for share, wanted in zip(shares, _MIX, strict=True)),
        deadlocks=step["errors"].get(_DEADLOCK, 0),
        restarts=step["restarts"],
        reconnects=step["reconnects"],
        asked=asked,
        broken=broken,
        asking_s=asking_s,
    )


def _server_us(step: dict[str, Any]) -> float | None:
    """CPU of the server's process per transaction; `None` if it was not seen."""
    host = step["host"] or {}
    cores = [host.get("process_cpu_user"), host.get("process_cpu_sys")]
    busy = [each for each in cores if each is not None]
    return 1e6 * sum(busy) / step["tps"] if busy else None


def steps_table(driven: Sequence[Driven]) -> str:
    """One row per step."""
    head = [
        "users",
        "statements",
        "tps",
        "New-Orders/min",
        "New-Order p90 ms",
        "generator µs/transaction",
    ]
    head += ["server µs/transaction", "off the mix %", "deadlocks", "restarts", "reconnects"]
    head += ["conditions"]
    return table(head, [_row(one) for one in driven])


def _row(one: Driven) -> list[str]:
    span = f"{one.asked[0]} to {one.asked[-1]}"
    return [
        f"{one.users}" + (", killed" if one.killed else ""),
        one.protocol,
        f"{one.tps:,.0f}",
        f"{one.tpmc:,.0f}",
        "" if one.p90_ms is None else f"{one.p90_ms:,.1f}",
        f"{one.generator_us:,.0f}",
        "" if one.server_us is None else f"{one.server_us:,.0f}",
        f"{one.off_mix:.2f}",
        f"{one.deadlocks:,}",
        f"{one.restarts:,}",
        f"{one.reconnects:,}",
        f"{span} hold" if not one.broken else "broken: " + ", ".join(map(str, one.broken)),
    ]
