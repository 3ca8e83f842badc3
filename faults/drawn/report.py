"""Drawn faults, for people and for programs. Pure: what was judged in, words out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from benches.tables import table
from faults.drawn.drawn import FAMILIES
from faults.drawn.judge import Judged, places_of
from faults.drawn.measure import Ran

COLUMNS = (
    "family",
    "draws",
    "counted",
    "right first",
    "rank median",
    "share error median",
    "predicted inside / of",
    "unexplained, place known / of",
    "accused / healthy",
)
_NONE = "-"


def by_family(all_judged: Sequence[Judged]) -> str:
    """A row for each family, and one for all."""
    rows = []
    for family in FAMILIES:
        of_it = [one for one in all_judged if one.measured.drawn.family == family]
        if of_it:
            rows.append(_row(family, of_it))
    return table(COLUMNS, [*rows, _row("all", all_judged)])


def _row(name: str, judged: Sequence[Judged]) -> list[str]:
    figures = figures_of(judged)
    return [
        name,
        str(figures["draws"]),
        str(figures["counted"]),
        str(figures["right_first"]),
        _number(figures["rank_median"], "{:.1f}"),
        _number(figures["share_error_median"], "{:.0%}"),
        f"{figures['predicted_inside']} / {figures['predicted']}",
        f"{figures['unexplained_place_known']} / {figures['unexplained']}",
        f"{figures['accused']} / {figures['healthy']}",
    ]


def figures_of(judged: Sequence[Judged]) -> dict[str, float | None]:
    """The figures of a family's draws, or of all."""
    counted = [one for one in judged if one.counts]
    healthy = [one for one in judged if not one.counts]
    errors = [abs(one.share_error) for one in counted if one.share_error is not None]
    ranks = [math.inf if one.rank is None else float(one.rank) for one in counted]
    forecasts = [one.forecast for one in counted if one.forecast]
    unexplained = [one for one in counted if one.is_unexplained]
    rank = statistics.median(ranks) if ranks else None
    return {
        "draws": len(judged),
        "counted": len(counted),
        "right_first": sum(one.rank == 1 for one in counted),
        "rank_median": None if rank is None or math.isinf(rank) else rank,
        "share_error_median": statistics.median(errors) if errors else None,
        "predicted": len(forecasts),
        "predicted_inside": sum(one.is_inside for one in forecasts),
        "unexplained": len(unexplained),
        "unexplained_place_known": sum(bool(one.largest_is_known) for one in unexplained),
        "accused": sum(bool(one.accused) for one in healthy),
        "healthy": len(healthy),
    }


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else form.format(value)


def line(judged: Judged) -> str:
    """One fault, for the terminal."""
    measured, drawn = judged.measured, judged.measured.drawn
    cost = measured.cost
    between = "" if cost.low is None else f" (95 %: {cost.low:.0%} to {cost.high:.0%})"
    head = f"{_mark(judged)} {drawn.family}: {drawn.kind} ({drawn.release}): {drawn.fault.size}"
    said = [head, f"      costs {cost.loss:.0%}{between} of {cost.without:,.0f} tps"]
    said.append(f"      named {_named(judged)}")
    if judged.counts:
        said.append(f"      {_right(judged)}")
    if judged.accused:
        said.append(f"      not true: {', '.join(judged.accused)}")
    proof = measured.judged.driven.effect.words
    if proof:
        said.append(f"      proof: {proof}")
    return "\n".join([*said, f"      {len(measured.runs)} runs, {measured.took_s:.0f} s"])


def _mark(judged: Judged) -> str:
    if not judged.counts:
        return "FALSE" if judged.accused else "none "
    return "ok   " if judged.rank == 1 else "WRONG"


def _right(judged: Judged) -> str:
    said = ["no finding is right" if judged.rank is None else f"right at rank {judged.rank}"]
    if judged.claimed is not None:
        said.append(f"the first claims {judged.claimed:.0%}")
    if judged.largest is not None:
        known = "known" if judged.largest_is_known else "not known"
        said.append(f"most time at: {judged.largest} ({known})")
    forecast = judged.forecast
    if forecast:
        said.append(forecast.words)
    return "; ".join(said)


def _named(judged: Judged) -> str:
    shown = [
        f"{one['cause']}{'' if one['group'] != 'note' else ' (note)'}"
        for one in judged.measured.findings
    ]
    return ", ".join(shown[:5]) or "nothing"


def as_record(judged: Judged) -> dict[str, Any]:
    """All that is kept of one fault."""
    measured, drawn = judged.measured, judged.measured.drawn
    truth, cost, forecast = drawn.truth, measured.cost, judged.forecast
    return {
        "number": drawn.number,
        "family": drawn.family,
        "kind": drawn.kind,
        "server": drawn.release,
        "size": drawn.fault.size,
        "workload": drawn.fault.load.workload,
        "users": drawn.fault.load.ladder[-1],
        "settings": dict(drawn.fault.settings),
        "settings_with_fault": dict(drawn.start),
        "right_causes": sorted(truth.causes),
        "also_true": sorted(truth.also),
        "known_places": sorted(truth.places),
        "variable": truth.variable,
        "runs": [_as_run(run) for run in measured.runs],
        "loss": cost.loss,
        "loss_low": cost.low,
        "loss_high": cost.high,
        "tps_without": cost.without,
        "counted": judged.counts,
        "first": judged.first,
        "rank": judged.rank,
        "claimed": judged.claimed,
        "share_error": judged.share_error,
        "largest_place": judged.largest,
        "largest_place_known": judged.largest_is_known,
        "known_places_grew": judged.grew,
        "unexplained": judged.is_unexplained,
        "predicted": forecast and forecast.record,
        "accused": judged.accused,
        "findings": measured.findings,
        "took_s": round(measured.took_s, 1),
    }


def _as_run(run: Ran) -> dict[str, Any]:
    driven = run.driven
    return {
        "with_fault": run.with_fault,
        "tps": run.tps,
        "run": driven.run,
        "proof": driven.effect.words,
        "used": vars(driven.used) if driven.used else None,
        "places": places_of(driven.result),
    }
