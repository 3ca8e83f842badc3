"""TPC-C-like load: loading warehouses, transactions, their cost, and a server that is killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benches import loadstone
from benches.place import LOADSTONE, Place
from benches.processes import ProgramFailed, run
from benches.progress import say
from benches.report import Report
from benches.tables import table
from loadstone.lab.tpcc_conditions import CONDITIONS, verdicts
from loadstone.sandbox import Sandbox

_WAREHOUSES, _WAREHOUSES_QUICK = 10, 1
_LEVELS = (1, 16, 64)
_SECONDS, _SECONDS_QUICK = 60.0, 5.0
_KILLED_USERS = 64
_KILLED_S, _KILLED_S_QUICK = 600.0, 20.0
_KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")
_MIX = (45.0, 43.0, 4.0, 4.0, 4.0)
_MIX_WANTED = 0.5


@dataclass(frozen=True)
class Driven:
    """A step."""

    users: int
    protocol: str
    killed: bool
    tps: float
    tpmc: float
    p90_ms: float
    """Of New-Orders."""
    generator_us: float
    """CPU time of the generator's shards by transaction."""
    server_us: float | None
    """That of the server's process."""
    off_mix: float
    """The largest distance of a transaction's share from the mix, in percent of all."""
    restarts: int
    reconnects: int
    broken: tuple[int, ...]
    """The consistency conditions that do not hold afterwards."""


def measure(place: Place) -> Report:
    """Load once, drive each level both ways, then kill the server under the most users."""
    quick = place.asked.quick
    warehouses = _WAREHOUSES_QUICK if quick else _WAREHOUSES
    place.empty_schema()
    say(f"tpcc: loading {warehouses} warehouses")
    target = ["--target", place.url()]
    loaded = run(
        [LOADSTONE, "prepare", "tpcc", *target, "--warehouses", str(warehouses)],
        environment=loadstone.environment(place),
    )
    chosen = place.asked.users or _LEVELS
    levels = [(users, _SECONDS_QUICK if quick else _SECONDS, False) for users in chosen]
    steps = [(*level, protocol) for level in levels for protocol in ("prepared", "text")]
    killed_s = _KILLED_S_QUICK if quick else _KILLED_S
    steps.append((_KILLED_USERS, killed_s, True, "prepared"))
    driven = [
        _drive(place, users, seconds, killed=killed, protocol=protocol)
        for users, seconds, killed, protocol in steps
    ]
    place.empty_schema()
    return Report(
        title="TPC-C-like, not audited",
        tables=(steps_table(driven),),
        readings=[{"load_s": loaded.wall_s, "load_cpu_s": loaded.cpu_s}]
        + [asdict(one) for one in driven],
        notes=(
            f"{warehouses} warehouses loaded in {loaded.wall_s:.1f} s with {loaded.cpu_s:.1f} s of"
            " the generator's CPU. No keying and think times. Off the mix: the largest distance of"
            f" a transaction's share, wanted ≤ {_MIX_WANTED} %. Killed: SIGKILL in the middle, and"
            " the server started again. Conditions: those of clause 3.3.2, all twelve.",
        ),
    )


def _drive(place: Place, users: int, seconds: float, *, killed: bool, protocol: str) -> Driven:
    say(f"tpcc: {users} users, {protocol}, {seconds:g} s" + (", killed" if killed else ""))
    killer = threading.Timer(2.0 + seconds / 2, _kill, [place.sandbox])
    if killed:
        killer.start()
    try:
        ran = run(
            [LOADSTONE, "run", "tpcc", "--target", place.url(), f"--{protocol}", "--json"]
            + ["--concurrency", str(users), "--duration", f"{seconds:g}s", "--warmup", "2s"]
            + ["--out", str(place.folder)],
            environment=loadstone.environment(place),
        )
    finally:
        killer.cancel()
    (step,) = json.loads(ran.stdout)["steps"]
    if not step["events"]:
        raise ProgramFailed(f"tpcc with {users} users did no transaction")
    shares = [100.0 * step["kinds"][kind]["count"] / step["events"] for kind in _KINDS]
    queries = step["qps"] / step["tps"]
    process = (step["server"] and step["host"]) or {}
    cores = [process.get("process_cpu_user"), process.get("process_cpu_sys")]
    busy = [each for each in cores if each is not None]
    checked = verdicts(place.sandbox.tcp, [condition.number for condition in CONDITIONS])
    return Driven(
        users=users,
        protocol=protocol,
        killed=killed,
        tps=step["tps"],
        tpmc=step["tpmc"],
        p90_ms=step["kinds"]["new_order"]["p90"],
        generator_us=step["generator"]["cpu_us_per_query"] * queries,
        server_us=1e6 * sum(busy) / step["tps"] if busy else None,
        off_mix=max(abs(share - wanted) for share, wanted in zip(shares, _MIX, strict=True)),
        restarts=step["restarts"],
        reconnects=step["reconnects"],
        broken=tuple(each.condition for each in checked if not each.holds),
    )


def _kill(sandbox: Sandbox) -> None:
    sandbox.kill()
    sandbox.start_again()


def steps_table(driven: Sequence[Driven]) -> str:
    """A row a step."""
    head = ["users", "statements", "tps", "tpmC", "New-Order p90 ms", "generator µs/transaction"]
    head += ["server µs/transaction", "off the mix %", "restarts", "reconnects", "conditions"]
    return table(head, [_row(one) for one in driven])


def _row(one: Driven) -> list[str]:
    return [
        f"{one.users}" + (", killed" if one.killed else ""),
        one.protocol,
        f"{one.tps:,.0f}",
        f"{one.tpmc:,.0f}",
        f"{one.p90_ms:,.1f}",
        f"{one.generator_us:,.0f}",
        "" if one.server_us is None else f"{one.server_us:,.0f}",
        f"{one.off_mix:.2f}",
        f"{one.restarts:,}",
        f"{one.reconnects:,}",
        "hold" if not one.broken else "broken: " + ", ".join(map(str, one.broken)),
    ]
