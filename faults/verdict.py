"""Which cause came first, case by case and all together. Pure: cases in, words out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from benches.tables import table
from faults.drive import Carried
from faults.forecast import Forecast, forecast_of_case
from faults.scene import Used

RIGHT_WANTED = 0.9
"""Part of the cases with a fault in which its cause comes first."""

DISTURBED = 0.2
"""Share of the cores that others used, by /proc: then a neighbour is a cause, injected or not."""

STOLEN = 0.05
"""The same of what the hypervisor gave away."""

FULL = 0.85
"""Share of the cores in use at the highest level, by /proc, from which they are what a healthy
server ends at."""

COUNTS = 0.1
"""Share of the rate that a fault must cost to count, where the load was driven without it as well:
the same threshold as for drawn faults, from one run each."""

Outcome = Literal["right", "wrong", "void"]


def first_named(carried: Carried) -> str:
    """The cause of the first finding."""
    return str(carried.findings[0]["cause"]) if carried.findings else "nothing"


def outcome(carried: Carried) -> Outcome:
    """`void` where the fault did not take effect, or cost the load next to nothing.

    Then there was nothing to be found.
    """
    loss = cost(carried)
    if not carried.effect.bites or (loss is not None and loss < COUNTS):
        return "void"
    if not carried.fault.causes:
        return "wrong" if false_findings(carried) else "right"
    return (
        "right"
        if first_named(carried) in (*carried.fault.causes, *neighbours(carried.used))
        else "wrong"
    )


def cost(carried: Carried) -> float | None:
    """The greatest share of its rate that a level loses; `None`: it was not driven without."""
    rates = zip(carried.tps, carried.tps_without, strict=False)
    return max((1 - (tps or 0.0) / without for tps, without in rates if without), default=None)


def false_findings(carried: Carried) -> list[str]:
    """What stands above note level in a healthy run, and is not what /proc says as well."""
    true = seen_by_proc(carried.used)
    above = [one["cause"] for one in carried.findings if one["group"] != "note"]
    return [cause for cause in above if cause not in true]


def right_share(all_carried: Sequence[Carried]) -> float | None:
    """Of the faults that count, those that were named first; `None`: there were none."""
    judged = [outcome(one) for one in all_carried if one.fault.causes]
    counted = [one for one in judged if one != "void"]
    return counted.count("right") / len(counted) if counted else None


def by_others(all_carried: Sequence[Carried]) -> int:
    """How many of the right ones are so because others were named that were really there."""
    right = [one for one in all_carried if one.fault.causes and outcome(one) == "right"]
    return sum(first_named(one) not in one.fault.causes for one in right)


def forecasts(all_carried: Sequence[Carried]) -> list[Forecast]:
    """Of faults that took effect and were found, however little they cost."""
    found = [forecast_of_case(one) for one in all_carried if one.effect.bites]
    return [one for one in found if one]


def is_good(all_carried: Sequence[Carried]) -> bool:
    """Whether enough were right, and no healthy server was accused."""
    share = right_share(all_carried)
    accused = any(outcome(one) == "wrong" for one in all_carried if not one.fault.causes)
    return not accused and (share is None or share >= RIGHT_WANTED)


def confusion(all_carried: Sequence[Carried]) -> dict[str, dict[str, int]]:
    """By injected cause, how often each cause was named first, of the faults that count."""
    found: dict[str, Counter[str]] = {}
    for one in all_carried:
        if outcome(one) != "void":
            injected = " + ".join(one.fault.causes[:1]) or "nothing wrong"
            if one.case.kind == "pair":
                injected = one.case.name
            found.setdefault(injected, Counter())[_column(one)] += 1
    return {injected: dict(named) for injected, named in found.items()}


def matrix(all_carried: Sequence[Carried]) -> str:
    """The confusion matrix; a column for each cause that was named where it was not injected."""
    counts = confusion(all_carried)
    strays = sorted({named for row in counts.values() for named in row} - {_RIGHT})
    rows = [
        [injected, str(row.get(_RIGHT, 0)), *(str(row.get(name, "")) for name in strays)]
        for injected, row in counts.items()
    ]
    return table(["injected", "named first", *strays], rows)


def line(carried: Carried) -> str:
    """One case, for the terminal."""
    judged = outcome(carried)
    mark = {"right": "ok   ", "wrong": "WRONG", "void": "void "}[judged]
    said = [f"{mark} {carried.case.name} ({carried.server}): {carried.fault.size}"]
    said[0] += f"; tps {_rates(carried.tps)}"
    said.append(f"      named {_named(carried)}")
    if carried.tps_without:
        forecast = forecast_of_case(carried)
        loss = cost(carried)
        costs = "" if loss is None else f" (it costs {loss:.0%})"
        without = f"      without it: tps {_rates(carried.tps_without)}{costs}"
        said.append(f"{without}; {forecast.words}" if forecast else without)
    if carried.effect.words:
        said.append(f"      proof: {carried.effect.words}")
    used = carried.used
    if used:
        words = f"      cores {used.busy:.0%} busy, others {used.others:.0%}"
        said.append(f"{words}; {carried.took_s:.0f} s; {carried.run}")
    return "\n".join(said)


def _rates(rates: Sequence[float | None]) -> str:
    return " ".join("-" if rate is None else f"{rate:,.0f}" for rate in rates)


def as_record(carried: Carried) -> dict[str, Any]:
    """All that is kept of one case."""
    forecast = forecast_of_case(carried)
    return {
        "case": carried.case.name,
        "kind": carried.case.kind,
        "server": carried.server,
        "causes": carried.fault.causes,
        "size": carried.fault.size,
        "workload": carried.fault.load.workload,
        "ladder": carried.fault.load.ladder,
        "settings": dict(carried.fault.settings),
        "proof": carried.effect.words,
        "took_effect": carried.effect.bites,
        "used": vars(carried.used) if carried.used else None,
        "tps": carried.tps,
        "tps_without": carried.tps_without,
        "predicted": forecast and forecast.record,
        "outcome": outcome(carried),
        "named_first": first_named(carried),
        "findings": carried.findings,
        "run": carried.run,
        "took_s": round(carried.took_s, 1),
    }


_RIGHT = "right"


def _column(carried: Carried) -> str:
    if outcome(carried) == "right":
        return _RIGHT
    return first_named(carried) if carried.fault.causes else false_findings(carried)[0]


def seen_by_proc(used: Used | None) -> tuple[str, ...]:
    """Causes above note level that are true of a healthy server, as /proc shows as well."""
    full = used is not None and used.busiest >= FULL
    return (*neighbours(used), *(["cpu-bound"] if full else []))


def neighbours(used: Used | None) -> tuple[str, ...]:
    """Causes that nobody injected and that /proc shows as well."""
    if used is None:
        return ()
    found = ["noisy-neighbour"] if used.others >= DISTURBED else []
    return (*found, *(["steal"] if used.stolen >= STOLEN else []))


def _named(carried: Carried) -> str:
    shown = [
        f"{one['cause']}{'' if one['group'] != 'note' else ' (note)'}" for one in carried.findings
    ]
    return ", ".join(shown[:5]) or "nothing"
