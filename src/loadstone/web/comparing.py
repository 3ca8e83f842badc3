"""Two runs beside each other: what differs first, then each level that both have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loadstone.analyse.ladder import Level, is_below, levels
from loadstone.diagnose.frames import environment_of
from loadstone.model.result import Result
from loadstone.report.figures.live import ladders
from loadstone.store import folder

Data = dict[str, Any]

DURABILITY = (
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
)
"""What decides how much a commit is worth: where these differ, rates are not to be compared."""

_OF_ONE_SERVER = (
    "basedir binlog_gtid_pos datadir general_log_file gtid hostname identity insert_id log_error "
    "lc_messages_dir pid_file port pseudo rand_seed report_ server_id server_uid server_uuid "
    "slow_query_log_file socket ssl_ timestamp tmpdir log_bin_basename log_bin_index "
    "plugin_dir slave_load_tmpdir replica_load_tmpdir relay_log last_insert_id "
    "warning_count error_count innodb_version character_sets_dir secure_file_priv"
).split()
"""Beginnings of variables that are another value at each server, and change no rate."""


def compared(a: Path, b: Path) -> Data:
    """The second run against the first.

    Raises:
        StoreError: one of them cannot be read.
    """
    one, other = folder.load(a), folder.load(b)
    return {
        "a": a.name,
        "b": b.name,
        "differs": list(_differences(_surroundings(a, one), _surroundings(b, other))),
        "rows": list(_rows(one, other)),
        "ladder": ladders({"A": one.steps, "B": other.steps}),
    }


def _rows(one: Result, other: Result) -> Iterator[Data]:
    """Levels that both have, and those that only one has behind them."""
    known = {_place(level): level for level in levels(other.steps)}
    alone = []
    for level in levels(one.steps):
        match = known.pop(_place(level), None)
        line = _row(level, level, match)
        if match:
            yield line
        else:
            alone.append(line)
    yield from alone
    for level in known.values():
        yield _row(level, None, level)


def _place(level: Level) -> tuple[str, str, int, str]:
    return level.variant, level.workload, level.concurrency, str(level.rate or "")


def _row(place: Level, one: Level | None, other: Level | None) -> Data:
    variant, workload, users, rate = _place(place)
    return {
        "variant": variant,
        "workload": workload,
        "users": users,
        "rate": rate or None,
        "a": _figures(one),
        "b": _figures(other),
        "change": _change(one, other),
        "word": _word(one, other),
    }


def _figures(level: Level | None) -> Data | None:
    if level is None:
        return None
    step = sorted(level.steps, key=lambda each: each.tps or 0.0)[len(level.steps) // 2]
    return {
        "tps": level.tps.mean if level.tps else None,
        "half_width": level.tps.half_width if level.tps else None,
        "repeats": len(level.steps),
        "p95_ms": step.latency.response.p95,
        "p99_ms": step.latency.response.p99,
    }


def _change(one: Level | None, other: Level | None) -> float | None:
    if not (one and other and one.tps and other.tps and one.tps.mean):
        return None
    return other.tps.mean / one.tps.mean - 1


def _word(one: Level | None, other: Level | None) -> str | None:
    """What may be said of the rates; runs that were made apart differ in more than was meant."""
    if not (one and other and one.tps and other.tps):
        return None
    if is_below(one, other):
        return "faster"
    return "slower" if is_below(other, one) else "not told apart"


def _surroundings(run: Path, result: Result) -> dict[str, str]:
    """All that may make a rate another one, by a name for a person."""
    environment = environment_of(run)
    generator = environment.get("generator") or {}
    plan = result.run.plan or {}
    drive = plan.get("drive") or {}
    targets = environment.get("targets") or [{}]
    named = {
        "workload": plan.get("workload"),
        "target": [target.get("host") for target in plan.get("targets") or []],
        "duration, s": plan.get("duration_s"),
        "warm-up": plan.get("warmup"),
        "protocol": drive.get("protocol"),
        "connections": drive.get("session"),
        "loadstone": result.run.loadstone,
        "generator's host": generator.get("host"),
        "generator's kernel": (generator.get("kernel") or {}).get("release"),
        "generator's CPU": (generator.get("cpu") or {}).get("model"),
        "generator's cores": (generator.get("cpu") or {}).get("cores_allowed"),
        "server version": (targets[0].get("variables") or {}).get("version"),
    }
    variables = {
        f"@@{name.lower()}": str(value)
        for name, value in (targets[0].get("variables") or {}).items()
        if not name.lower().startswith(tuple(_OF_ONE_SERVER))
    }
    said = {name: _text(value) for name, value in named.items() if value is not None}
    return said | variables


def _differences(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Data]:
    """What makes it unfair on top."""
    unfair = [f"@@{name}" for name in DURABILITY]
    names = [*unfair, *(name for name in {**one, **other} if name not in unfair)]
    for name in names:
        a, b = one.get(name), other.get(name)
        if a != b:
            yield {"what": name, "a": a, "b": b, "unfair": name in unfair}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(each)}" for name, each in value.items() if each)
    if isinstance(value, list | tuple):
        return ", ".join(_text(each) for each in value)
    return str(value)
