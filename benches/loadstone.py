"""Loadstone: the program as users run it, and its engine without Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benches.place import LOADSTONE, Place
from benches.processes import Memory, run
from benches.workload import Outcome, Step

# Resident memory during the load: what follows (polars, for the run's tables) does not depend on
# users.
_WHILE = "shard-0"
# On a machine shared with a server, thousands of logins take their time.
CONNECT_TIMEOUT_S = 60.0


def drive(
    place: Place,
    step: Step,
    look: Callable[[int], None] | None = None,
    terminal: int | None = None,
    *,
    observe: bool = True,
) -> Outcome:
    """Drive a step with `loadstone run`, including its run folder; on a terminal with its live
    table.
    """
    options = {
        "--target": place.url(tls=step.tls),
        "--concurrency": str(step.users),
        "--duration": f"{step.seconds:g}s",
        "--warmup": f"{step.warmup_s:g}s",
        "--distribution": "uniform",
        "--tables": str(step.tables),
        "--table-size": str(step.table_size),
        "--out": str(place.folder),
        "--connect-timeout": f"{CONNECT_TIMEOUT_S:g}s",
    }
    words = [word for option in options.items() for word in option]
    memory = Memory(_WHILE)
    ran = run(
        [LOADSTONE, "run", step.workload, *words, f"--{step.protocol}", "--json"]
        + ([] if observe else ["--no-observe"]),
        environment=environment(place),
        look=look or (memory.look if step.watch_memory else None),
        stderr=terminal,
    )
    return outcome_of_result(json.loads(ran.stdout), ran.cpu_s, memory.most_kb)


def outcome_of_result(result: dict[str, Any], cpu_s: float, memory_kb: int) -> Outcome:
    """Read `result.json` of a run of one step.

    The queries are those of the whole step, including those in flight at the window's end: the
    process paid for them.
    """
    (step,) = result["steps"]
    statements = sum(step[kind] for kind in ("reads", "writes", "other"))
    in_drain = step["tally"]["succeeded"] - step["events"]
    return Outcome(
        queries=statements + round(in_drain * statements / max(step["events"], 1)),
        queries_per_s=step["qps"],
        cpu_s=cpu_s,
        errors=_sum(step["errors"])
        + _sum(step["errors_outside"])
        + _sum(step["connect_failures"])
        + step["reconnects"],
        memory_kb=memory_kb,
        shards=step["generator"]["shards"],
        users=step["users"],
        own_cpu_us=step["generator"]["cpu_us_per_query"],
    )


def drive_engine(place: Place, step: Step) -> Outcome:
    """Drive a step with the engine alone: no Python, no run folder, no table."""
    memory = Memory(_WHILE)
    look = memory.look if step.watch_memory else None
    ran = run([place.engine], stdin=json.dumps(plan(place, step)), look=look)
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    return outcome_of_records(records, ran.cpu_s, memory.most_kb)


def drive_engine_with_one_shard(place: Place, step: Step) -> Outcome:
    """Drive a step with one event loop, as the floor has one thread."""
    return drive_engine(place, replace(step, shards=1))


def outcome_of_records(records: list[dict[str, Any]], cpu_s: float, memory_kb: int = 0) -> Outcome:
    """Read the engine's records of a step."""
    connected = next(record for record in records if record["kind"] == "connected")
    samples = [record for record in records if record["kind"] == "sample"]
    window = [sample for sample in samples if sample["phase"] == "window"]
    in_window = sum(map(_statements, window))
    cpu_us = sum(sample["generator"]["cpu_us"] for sample in window)
    return Outcome(
        queries=sum(map(_statements, samples)),
        queries_per_s=in_window / (window[-1]["to_s"] - window[0]["from_s"]),
        cpu_s=cpu_s,
        errors=sum(_sum(sample["errors"]) + sample["counts"]["reconnects"] for sample in samples)
        + _sum(connected["connect_failures"])
        + sum(_sum(sample["connect_failures"]) for sample in samples),
        memory_kb=memory_kb,
        shards=window[0]["generator"]["shards"],
        users=window[-1]["users"],
        own_cpu_us=cpu_us / max(in_window, 1),
    )


def plan(place: Place, step: Step) -> dict[str, Any]:
    """The same step as `drive`'s, as a plan for the engine."""
    return plan_on(place.engine_target(tls=step.tls), step, step.shards or place.cores)


def plan_on(target: dict[str, Any], step: Step, shards: int) -> dict[str, Any]:
    """The plan of a step on a target, with so many event loops."""
    workload = {
        "name": step.workload,
        "tables": step.tables,
        "table_size": step.table_size,
        "options": {},
        "distribution": {"kind": "uniform"},
    }
    return {
        "targets": [target],
        "workload": workload,
        "protocol": step.protocol,
        "users": step.users,
        "arrival": {"kind": "closed", "think_s": 0.0},
        "stop": {"kind": "time", "warmup_s": step.warmup_s, "duration_s": step.seconds},
        "connect": {"at_once": 64, "timeout_s": CONNECT_TIMEOUT_S, "retries": 5, "backoff_s": 0.1},
        "session": {"init_sql": [], "isolation": None, "charset": "utf8mb4"},
        "on_error": "restart",
        "shards": shards,
        "seed": 42,
        "tag": "bench",
    }


def environment(place: Place) -> dict[str, str]:
    """The environment of `loadstone`: never a password on the command line."""
    return {"LOADSTONE_PASSWORD": place.password}


def _statements(sample: dict[str, Any]) -> int:
    counts = sample["counts"]
    return int(counts["reads"] + counts["writes"] + counts["other"])


def _sum(counts: dict[str, int]) -> int:
    return sum(counts.values())
