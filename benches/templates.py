"""What a template costs beside the built-in workload that it writes down anew."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from statistics import mean

from benches import loadstone
from benches.place import LOADSTONE, Place
from benches.processes import run
from benches.progress import say
from benches.report import Report
from benches.tables import table
from loadstone.lab.template_trial import text_of

_NATIVE, _TEMPLATE = "oltp_read_write", "read_write"
_USERS = (8, 64)
_SECONDS, _SECONDS_QUICK = 15.0, 2.0
_MOST = 1.1


@dataclass(frozen=True)
class Driven:
    """A step."""

    workload: str
    protocol: str
    users: int
    tps: float
    cpu_us_per_query: float


def measure(place: Place) -> Report:
    """Each level both ways, native and template in turn: A B B A."""
    place.empty_schema()
    run(
        [LOADSTONE, "prepare", _NATIVE, "--target", place.url()],
        environment=loadstone.environment(place),
    )
    file = place.folder / f"{_TEMPLATE}.toml"
    file.write_text(text_of(_TEMPLATE))
    seconds = _SECONDS_QUICK if place.asked.quick else _SECONDS
    driven = [
        _drive(place, word, protocol, users, seconds)
        for users in place.asked.users or _USERS
        for protocol in ("prepared", "text")
        for _ in range(place.asked.pairs)
        for word in (_NATIVE, str(file), str(file), _NATIVE)
    ]
    place.empty_schema()
    return Report(
        title="Templates beside built-in workloads: oltp_read_write",
        tables=(cost_table(driven),),
        readings=[asdict(one) for one in driven],
        notes=(f"Generator's CPU a query, wanted at most {_MOST} times the built-in one's.",),
    )


def _drive(place: Place, word: str, protocol: str, users: int, seconds: float) -> Driven:
    say(f"templates: {users} users, {protocol}, {word}")
    ran = run(
        [LOADSTONE, "run", word, "--target", place.url(), f"--{protocol}", "--json"]
        + ["--concurrency", str(users), "--duration", f"{seconds:g}s", "--warmup", "2s"]
        + ["--out", str(place.folder), "--no-observe"],
        environment=loadstone.environment(place),
    )
    (step,) = json.loads(ran.stdout)["steps"]
    cost = step["generator"]["cpu_us_per_query"]
    return Driven(step["workload"], protocol, users, step["tps"], cost)


def cost_table(driven: list[Driven]) -> str:
    """A row a level and protocol: both costs, and the one beside the other."""
    head = ["users", "statements", "built-in µs/query", "template µs/query", "ratio", "wanted"]
    rows = []
    for users, protocol in dict.fromkeys((one.users, one.protocol) for one in driven):
        alike = [one for one in driven if (one.users, one.protocol) == (users, protocol)]
        native, template = (
            mean(one.cpu_us_per_query for one in alike if one.workload == workload)
            for workload in (_NATIVE, _TEMPLATE)
        )
        ratio = template / native
        rows.append(
            [f"{users}", protocol, f"{native:.2f}", f"{template:.2f}", f"{ratio:.3f}"]
            + ["met" if ratio <= _MOST else "missed"]
        )
    return table(head, rows)
