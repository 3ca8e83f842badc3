"""The cost of a template compared with the built-in workload that it reproduces.

Two servers: the sandbox, which does real work, and the null server, which answers at once, so that
only the client is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benches import loadstone
from benches.figures import spread
from benches.place import LOADSTONE, Place
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.stepping import records_of
from benches.tables import counted, table, with_spread
from loadstone import engine
from loadstone.model.calibration import Protocol
from loadstone.model.engine_plan import step_document
from loadstone.model.null_server import NullServerSettings
from loadstone.model.plan import Drive, Plan, Step, WarmupSeconds, WorkloadSpec
from loadstone.model.records import Sample
from loadstone.model.target import Endpoint, Target, Tls
from loadstone.workloads.bundled import text_of_bundled
from loadstone.workloads.templates.file import parse_template

_NATIVE, _TEMPLATE = "oltp_read_write", "read_write"
_IN_TURN = (_NATIVE, _TEMPLATE, _TEMPLATE, _NATIVE)
_PROTOCOLS: tuple[Protocol, ...] = ("prepared", "text")
_USERS = (8, 64)
_SECONDS, _SECONDS_QUICK = 15.0, 2.0
_WARMUP_S = 2.0
_MOST = 1.1
_SERVER, _NULL = "server", "null server"
_TABLES, _TABLE_SIZE, _RANGE_ROWS = 10, 10_000, 100


@dataclass(frozen=True)
class Driven:
    """A step."""

    against: str
    workload: str
    protocol: str
    users: int
    pair: int
    tps: float
    cpu_us_per_query: float


@dataclass(frozen=True)
class _Way:
    """How a step is driven."""

    protocol: Protocol
    users: int
    seconds: float


_Driver = Callable[[str, _Way], tuple[float, float]]
"""Drives a workload; returns transactions per second, and the generator's CPU per query."""


def measure(place: Place) -> Report:
    """Measure each level both ways, native and template alternating: A B B A."""
    place.empty_schema()
    run(
        [LOADSTONE, "prepare", _NATIVE, "--target", place.url()],
        environment=loadstone.environment(place),
    )
    file = place.folder / f"{_TEMPLATE}.toml"
    file.write_text(text_of_bundled(_TEMPLATE))
    driven = _in_turn(place, _SERVER, lambda word, way: _drive(place, word, way))
    place.empty_schema()
    null = engine.null_server(NullServerSettings(range_rows=_RANGE_ROWS))
    try:
        driven += _in_turn(place, _NULL, lambda word, way: _drive_null(null.port, word, way))
    finally:
        null.stop()
    return Report(
        title="Templates compared with built-in workloads: oltp_read_write",
        tables=(cost_table(driven),),
        readings=[asdict(one) for one in driven],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} in the order A B B A; median (least–greatest)."
            " Generator's CPU a query; ratios are taken within each pair, and their median is"
            f" wanted at most {_MOST}.",
        ),
    )


def _in_turn(place: Place, against: str, drive: _Driver) -> list[Driven]:
    seconds = _SECONDS_QUICK if place.asked.quick else _SECONDS
    driven = []
    for users in place.asked.users or _USERS:
        for protocol in _PROTOCOLS:
            for pair in range(place.asked.pairs):
                for word in _IN_TURN:
                    announce(f"templates: {against}, {users} users, {protocol}, {word}")
                    tps, cost = drive(word, _Way(protocol, users, seconds))
                    driven.append(Driven(against, word, protocol, users, pair, tps, cost))
    return driven


def _drive(place: Place, word: str, way: _Way) -> tuple[float, float]:
    what = str(place.folder / f"{_TEMPLATE}.toml") if word == _TEMPLATE else word
    ran = run(
        [LOADSTONE, "run", what, "--target", place.url(), f"--{way.protocol}", "--json"]
        + ["--concurrency", str(way.users), "--duration", f"{way.seconds:g}s"]
        + ["--warmup", f"{_WARMUP_S:g}s", "--out", str(place.folder), "--no-observe"],
        environment=loadstone.environment(place),
    )
    (step,) = json.loads(ran.stdout)["steps"]
    return step["tps"], step["generator"]["cpu_us_per_query"]


def _drive_null(port: int, word: str, way: _Way) -> tuple[float, float]:
    spec = parse_template(text_of_bundled(_TEMPLATE), f"{_TEMPLATE}.toml").spec
    target = Target(
        host="127.0.0.1", port=port, user="bench", database="sbtest", tls=Tls(mode="disabled")
    )
    plan = Plan(
        name="templates",
        targets=(target,),
        workload=WorkloadSpec(
            name=word,
            tables=_TABLES,
            table_size=_TABLE_SIZE,
            template=spec if word == _TEMPLATE else None,
        ),
        ladder=(way.users,),
        duration_s=way.seconds,
        warmup=WarmupSeconds(warmup_s=_WARMUP_S),
        drive=Drive(protocol=way.protocol),
    )
    step = Step(number=1, workload=word, concurrency=way.users)
    records = records_of(engine.start(step_document(plan, step, [Endpoint(target=target)])))
    samples = [one for one in records if isinstance(one, Sample) and one.phase == "window"]
    queries = sum(sample.counts.queries for sample in samples)
    if not queries:
        raise ProgramFailed(f"{word} against the null server: nothing was answered")
    events = sum(sample.counts.events for sample in samples)
    cpu_us = sum(sample.generator.cpu_us for sample in samples)
    return events / sum(sample.seconds for sample in samples), cpu_us / queries


def ratios(driven: list[Driven]) -> list[float]:
    """For each pair, the template's cost divided by the built-in one's."""

    def cost(pair: int, workload: str) -> float:
        alike = [one for one in driven if (one.pair, one.workload) == (pair, workload)]
        return sum(one.cpu_us_per_query for one in alike)

    pairs = dict.fromkeys(one.pair for one in driven)
    return [cost(pair, _TEMPLATE) / cost(pair, _NATIVE) for pair in pairs]


def cost_table(driven: list[Driven]) -> str:
    """One row for each server, level and protocol: both costs, and their ratio."""
    head = ["against", "users", "statements", "built-in µs/query", "template µs/query", "ratio"]
    rows = []
    levels = dict.fromkeys((one.against, one.users, one.protocol) for one in driven)
    for against, users, protocol in levels:
        level = (against, users, protocol)
        alike = [one for one in driven if (one.against, one.users, one.protocol) == level]
        costs = [
            with_spread(spread([one.cpu_us_per_query for one in alike if one.workload == word]), 2)
            for word in (_NATIVE, _TEMPLATE)
        ]
        ratio = spread(ratios(alike))
        met = "met" if ratio.median <= _MOST else "missed"
        rows.append([against, f"{users}", protocol, *costs, with_spread(ratio, 3), met])
    return table([*head, f"≤ {_MOST}"], rows)
