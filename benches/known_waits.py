"""Whether the account finds waits whose share is known, of loads that consist of one kind of wait.

The truth is none of the account's sources: how long a SLEEP was asked to last, InnoDB's own count
of the time in row locks (with PostgreSQL, which has none, the client's time in updates of the row
that another user holds), the client's time in COMMITs that the server delays. But a group that is
woken waits for cores as well, which is no place of a commit: what the kernel counts of these waits,
beyond the time that all other statements took, is taken off the truth. The account has it from
there as well, so the table shows how much it is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.place import LOADSTONE, Asked, allow_descriptors
from benches.processes import run
from benches.progress import announce
from benches.report import Report
from benches.tables import table
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox

DRAWS, LEVELS = 20, (8, 512, 4000)
WANTED_POINTS, WANTED_DRAWS, WANTED_COST = 5.0, 0.9, 1.0
_TABLE = """
[table.{name}]
rows = {rows}
[table.{name}.columns]
id = {{ type = "INT NOT NULL", sequence = true }}
n = {{ type = "INT NOT NULL", constant = 0 }}
"""
_COMMIT_DELAY = {
    "mysql": lambda us: {"binlog_group_commit_sync_delay": str(us)},
    "mariadb": lambda us: {
        "binlog_commit_wait_usec": str(us), "binlog_commit_wait_count": "1000",
    },
    "postgresql": lambda us: {"commit_delay": str(us), "commit_siblings": "0"},
}  # fmt: skip
_MYSQLS, _POSTGRESQL = ("mariadb", "mysql"), ("postgresql",)


@dataclass(frozen=True)
class Draw:
    """A load whose waits are known."""

    kind: str
    server: str
    users: int
    wait_ms: float
    places: tuple[str, ...]
    """Where the account should find them."""
    template: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Reading:
    """One draw: shares of the users' time, in percent."""

    kind: str
    server: str
    users: int
    wait_ms: float
    truth: float
    taken_off: float
    """What was taken off the truth, as users waited for a core."""
    found: float
    unnamed: float
    beyond: float

    @property
    def off(self) -> float:
        """By how many points the account is off."""
        return self.found - self.truth


@dataclass(frozen=True)
class Cost:
    """What the looks took at a level, in percent of a core."""

    server: str
    users: int
    looking: float | None
    """`None`: no look fell into the window."""
    looks: float
    seconds: float


def measure(asked: Asked, folder: Path) -> Report:
    """Draw loads with a new seed each time, and compare; then the looks' own cost."""
    return _measure(asked, folder, _MYSQLS)


def measure_postgresql(asked: Asked, folder: Path) -> Report:
    """The same on PostgreSQL."""
    return _measure(asked, folder, _POSTGRESQL)


def _measure(asked: Asked, folder: Path, servers: Sequence[str]) -> Report:
    allow_descriptors()
    seed = random.randrange(2**32)
    drawn = random.Random(seed)
    count = max(2, round(DRAWS * asked.part))
    readings = []
    for number in range(count):
        draw = _drawn(drawn, servers)
        announce(f"known waits: {number + 1} of {count}, {draw.kind} on {draw.server}")
        with _server(draw.server, draw.settings, 100) as sandbox:
            readings.append(_compared(draw, sandbox, folder))
    costs = [*_costs(asked, folder, servers)]
    within = sum(abs(one.off) <= WANTED_POINTS for one in readings)
    return Report(
        title="The account of users' time, against waits that are known",
        tables=(_waits_table(readings), _cost_table(costs)),
        readings=[*map(asdict, readings), *map(asdict, costs)],
        notes=(f"Seed {seed}: {within} of {count} draws within ± {WANTED_POINTS:g} points.",),
        broken=tuple(_broken(readings, costs)),
    )


def _drawn(drawn: random.Random, servers: Sequence[str]) -> Draw:
    server = drawn.choice(servers)
    users, wait_ms = drawn.randint(2, 24), drawn.uniform(2.0, 50.0)
    kind = drawn.choice(("row", "sleep", "commit delay"))
    sleep = f'"SELECT {"pg_sleep" if server in _POSTGRESQL else "SLEEP"}({wait_ms / 1000:.4f})"'
    update = '"UPDATE one SET n = n + 1 WHERE id = 1"'
    if kind == "row":
        text = _TABLE.format(name="one", rows=1)
        text += f"[transaction.hold]\nstatements = [{update}, {sleep}]\n"
        return Draw(kind, server, users, wait_ms, ("row lock",), text, {})
    if kind == "sleep":
        text = _TABLE.format(name="one", rows=1)
        text += f"[transaction.asleep]\nautocommit = true\nstatements = [{sleep}]\n"
        return Draw(kind, server, users, wait_ms, ("paused",), text, {})
    text = _TABLE.format(name="many", rows=1000)
    text += (
        '[transaction.writes]\nparameters.id = { row = "many" }\n'
        'statements = ["UPDATE many SET n = n + 1 WHERE id = :id"]\n'
    )
    # All that a COMMIT waits for, as a delay lets others join the group.
    places = ("commit", "commit delay", "log sync", "binlog sync")
    settings = _COMMIT_DELAY[server](round(1000 * wait_ms))
    return Draw(kind, server, users, wait_ms, places, text, settings)


_TIMED = {"sleep": "read", "row": "write", "commit delay": "other"}
"""The class of the statements that wait, by the kind of the wait."""


@contextmanager
def _server(kind: str, settings: Mapping[str, str], connections: int) -> Iterator[Sandbox]:
    spec = SandboxSpec(server=kind, settings=dict(settings), max_connections=connections)
    with start_sandbox(spec) as sandbox:
        yield sandbox


def _compared(draw: Draw, sandbox: Sandbox, folder: Path) -> Reading:
    template = folder / "known.toml"
    template.write_text(draw.template)
    step = _driven(sandbox, folder, str(template), draw.users, 10)
    account = step["account"]
    found = sum(one["share"] for one in account["entries"] if one["place"] in draw.places)
    taken_off = _without_a_core(step) if draw.kind == "commit delay" else 0.0
    return Reading(
        kind=draw.kind,
        server=draw.server,
        users=draw.users,
        wait_ms=draw.wait_ms,
        truth=100 * (_users_that_wait(draw, step) - taken_off) / step["concurrency"],
        taken_off=100 * taken_off / step["concurrency"],
        found=100 * found,
        unnamed=100 * account["unnamed"],
        beyond=100 * account["beyond"],
    )


def _users_that_wait(draw: Draw, step: Mapping[str, Any]) -> float:
    """The mean number of users that wait, without the account."""
    if draw.kind == "row" and draw.server not in _POSTGRESQL:
        return float(step["server"]["row_lock_waiting"])
    statements = step["statements"][_TIMED[draw.kind]]
    lasts_ms = draw.wait_ms if draw.kind == "sleep" else statements["mean"]
    return float(statements["count"] * lasts_ms / 1000 / step["seconds"])


def _without_a_core(step: Mapping[str, Any]) -> float:
    """The mean number of users that wait for a core in a COMMIT: at least so many."""
    ready = [
        one["share"] for one in step["account"]["entries"] if one["place"] == "waiting for a core"
    ]
    updates = step["statements"]["write"]
    updating = updates["count"] * updates["mean"] / 1000 / step["seconds"]
    return float(max(sum(ready) * step["concurrency"] - updating, 0.0))


def _driven(
    sandbox: Sandbox, folder: Path, workload: str, users: int, seconds: float
) -> dict[str, Any]:
    """The result of a run's only step."""
    password = sandbox.tcp.credentials.reveal()
    target = ["--target", sandbox.tcp.target.url]
    environment = {"LOADSTONE_PASSWORD": password}
    size = [] if workload.endswith(".toml") else ["--tables", "1", "--table-size", "10k"]
    run([LOADSTONE, "prepare", workload, *target, *size], environment=environment)
    ran = run(
        [
            LOADSTONE, "run", workload, *target, *size, "--concurrency", str(users),
            "--duration", f"{seconds:g}s", "--warmup", "2s", "--connect-timeout", "60s",
            "--out", str(folder), "--json",
        ],
        environment=environment,
    )  # fmt: skip
    (step,) = json.loads(ran.stdout)["steps"]
    return dict(step)


def _costs(asked: Asked, folder: Path, servers: Sequence[str]) -> Iterator[Cost]:
    levels = asked.users or ((8, 512) if asked.quick else LEVELS)
    for server in servers:
        with _server(server, {}, max(levels) + 100) as sandbox:
            for users in levels:
                announce(f"looks: {users} users on {server}")
                step = _driven(sandbox, folder, "oltp_point_select", users, asked.seconds[1])
                account = step["account"]
                looking = 100 * account["looking"] if account else None
                looks = account["looks"] if account else 0.0
                yield Cost(server, users, looking, looks, step["seconds"])


def _waits_table(readings: Sequence[Reading]) -> str:
    rows = [
        [
            one.kind, one.server, str(one.users), f"{one.wait_ms:.1f}", f"{one.truth:.1f}",
            f"{one.taken_off:.1f}", f"{one.found:.1f}", f"{one.off:+.1f}", f"{one.unnamed:.1f}",
            f"{one.beyond:.1f}",
        ]
        for one in readings
    ]  # fmt: skip
    heads = [
        "wait", "server", "users", "ms", "true %", "taken off %", "found %", "off by",
        "unnamed %", "beyond %",
    ]  # fmt: skip
    return table(heads, rows)


def _cost_table(costs: Sequence[Cost]) -> str:
    rows = [
        [
            one.server, str(one.users), "-" if one.looking is None else f"{one.looking:.2f}",
            f"{one.looks:.0f}", f"{one.seconds:.0f}",
        ]
        for one in costs
    ]  # fmt: skip
    return table(["server", "users", "looking, % of a core", "looks", "seconds"], rows)


def _broken(readings: Sequence[Reading], costs: Sequence[Cost]) -> Iterator[str]:
    within = sum(abs(one.off) <= WANTED_POINTS for one in readings)
    if within < WANTED_DRAWS * len(readings):
        yield f"only {within} of {len(readings)} known waits were found"
    for one in costs:
        if one.looking is None:
            yield f"no look at {one.users} users on {one.server} in {one.seconds:.0f} s"
        elif one.looking > 1.5 * WANTED_COST:
            yield f"looks at {one.users} users on {one.server} took {one.looking:.2f} % of a core"
