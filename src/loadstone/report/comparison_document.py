"""A comparison as data: docs/comparing.md names the fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.analyse.change_points import ChangePoint
from loadstone.analyse.differences import Difference, Differences
from loadstone.analyse.effects import Effect
from loadstone.analyse.gates import Check
from loadstone.analyse.intervals import Interval
from loadstone.analyse.matrix import Against, Matrix, MatrixCell, SideResult
from loadstone.analyse.metrics import METRICS

VERSION = 1

_OF_CHANGES = ("tps", "qps", "p95", "p99")
"""The figures whose ratios are in the document; a gate may use any other."""


def comparison_document(
    found: Matrix, differing: Differences, checks: Sequence[Check]
) -> dict[str, Any]:
    """All content of the text, and the figures of each side in full."""
    return {
        "version": VERSION,
        "sides": [
            {
                "name": side.name,
                "runs": list(dict.fromkeys(part.run.result.run.id for part in side.all_parts)),
            }
            for side in found.sides
        ],
        "differences": [_difference(row, differing) for row in differing.rows],
        "not_evaluated": {label: dict(reasons) for label, reasons in differing.not_evaluated},
        "settings_on_one_side": {
            name: dict(zip(differing.sides, values, strict=True))
            for name, values in differing.on_one_side.items()
        },
        "interleaved": found.interleaved,
        "comparisons": found.comparisons,
        "levels": [_level(cell) for cell in found.cells],
        "gates": [check_document(check) for check in checks],
    }


def _difference(row: Difference, differing: Differences) -> dict[str, Any]:
    return {
        "group": row.group,
        "name": row.name,
        "weight": row.weight,
        "values": dict(zip(differing.sides, row.values, strict=True)),
        "performance": row.meaning.performance if row.meaning else None,
        "durability": row.meaning.durability if row.meaning else None,
        "with_it": {
            name: dict(zip(differing.sides, values, strict=True)) for name, values in row.followers
        },
    }


def _level(cell: MatrixCell) -> dict[str, Any]:
    workload, users, rate = cell.place.cell
    return {
        "context": cell.place.context,
        "workload": workload,
        "concurrency": users,
        "rate": rate.model_dump(mode="json") if rate else None,
        "sides": [_side_result(side_result) for side_result in cell.side_results],
        "against_first": [_against(each) for each in cell.against],
    }


def _side_result(side_result: SideResult) -> dict[str, Any]:
    swings = side_result.swings
    return {
        "side": side_result.side,
        "steps": [step.step for step in side_result.steps],
        "tps": side_result.tps.value if side_result.tps else None,
        "tps_interval": _interval(side_result.tps.interval if side_result.tps else None),
        "units": side_result.tps.count if side_result.tps else 0,
        "figures": {name: side_result.figure(metric) for name, metric in METRICS.items()},
        "swings": {
            "cv_within": swings.variation.within,
            "cv_between": swings.variation.between,
            "dips": swings.dips,
            "lowest": swings.lowest,
        },
    }


def _against(each: Against) -> dict[str, Any]:
    verdict = each.verdict
    return {
        "side": each.side,
        "word": verdict.word,
        "said": str(verdict),
        "margin": verdict.margin,
        "p_difference": verdict.p_difference,
        "p_same": verdict.p_same,
        "more_units": verdict.more,
        "more_s": verdict.more_s,
        "provisional": verdict.provisional,
        "left_out": dict(verdict.left_out),
        "changes": {name: _effect(each.effect(METRICS[name])) for name in _OF_CHANGES},
    }


def _effect(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    return {
        "relative": effect.relative,
        "interval": _interval(effect.interval),
        "units": effect.units,
        "method": effect.method,
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def check_document(check: Check) -> dict[str, Any]:
    """One gate in one place."""
    return {
        "gate": check.gate,
        "metric": check.metric.name,
        "where": check.where,
        "state": check.state,
        "change" if check.is_change else "value": finite(check.value),
        "interval": _interval(check.interval),
        "why": check.why,
    }


def change_document(point: ChangePoint, runs: Sequence[str]) -> Mapping[str, Any]:
    """A change point, with the first run after it."""
    return {
        "at": point.at,
        "run": runs[point.at],
        "before": point.before,
        "after": point.after,
        "relative": finite(point.relative),
        "p_value": point.p_value,
    }


def finite(value: float | None) -> float | None:
    """The value, or `None` where it is infinite or no number: JSON has neither."""
    return value if value is not None and math.isfinite(value) else None
