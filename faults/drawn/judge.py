"""How the diagnosis of a drawn fault is judged against what was measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faults.drawn.cost import COUNTS
from faults.drawn.drawn import Truth
from faults.drawn.measure import Measured
from faults.drawn.starved import names_variable
from faults.forecast import Forecast, forecast_of
from faults.verdict import neighbours, seen_by_proc

Finding = Mapping[str, Any]

_UNEXPLAINED = ("unexplained", "not-observed")


@dataclass(frozen=True)
class Judged:
    """The figures of one drawn fault."""

    measured: Measured
    counts: bool
    first: str
    """The first finding's cause, after neighbours that /proc shows as well."""
    rank: int | None
    """Place of the first right finding among them, from 1; `None`: none is right."""
    claimed: float | None
    """The first finding's share of the users' time."""
    largest: str | None
    """The account's largest place, with the fault."""
    largest_is_known: bool | None
    """Whether that is one on which the fault is known to act; `None`: there is no account."""
    grew: float | None
    """By how much of the users' time the places grew on which the fault is known to act."""
    forecast: Forecast | None
    accused: tuple[str, ...]
    """Of a fault that does not count: findings above note level that are not true."""

    @property
    def share_error(self) -> float | None:
        """The claimed share less the measured loss, where the first finding is right."""
        if not self.counts or self.rank != 1 or self.claimed is None:
            return None
        return self.claimed - self.measured.cost.loss

    @property
    def is_unexplained(self) -> bool:
        """Whether the diagnosis names no cause."""
        return self.first in _UNEXPLAINED


def judge(measured: Measured) -> Judged:
    """Compare its findings with what is known and what was measured."""
    truth, cost = measured.drawn.truth, measured.cost
    run = measured.judged.driven
    aside = neighbours(run.used)
    findings = [one for one in measured.findings if one["cause"] not in aside]
    right = [place for place, one in enumerate(findings) if is_right(one, truth)]
    places, before = (
        places_of(run.result),
        places_of(measured.without.driven.result),
    )
    largest = max(places, key=lambda place: places[place], default=None)
    found = findings[right[0]].get("foretold") if right and cost.counts else None
    true = (*seen_by_proc(run.used), *truth.also)
    return Judged(
        measured=measured,
        counts=cost.counts,
        first=str(findings[0]["cause"]) if findings else "nothing",
        rank=right[0] + 1 if right else None,
        claimed=claimed_share(findings[0]) if findings else None,
        largest=largest,
        largest_is_known=None if largest is None else largest in truth.places,
        grew=_at(places, truth) - _at(before, truth) if places and before else None,
        forecast=forecast_of(found, cost.without),
        accused=() if cost.counts else _accused(findings, truth, true, cost.loss),
    )


def _at(places: Mapping[str, float], truth: Truth) -> float:
    return sum(share for place, share in places.items() if place in truth.places)


def is_right(finding: Finding, truth: Truth) -> bool:
    """Whether it names a cause that is right, or the variable that is set badly."""
    if finding["cause"] in truth.causes:
        return True
    return truth.variable is not None and names_variable(_text(finding), truth.variable)


def _text(finding: Finding) -> str:
    trial = finding.get("trial") or {"settings": []}
    names = [setting["name"] for setting in trial["settings"]]
    said = [finding.get(part) or "" for part in ("sentence", "remedy", "untried")]
    return "\n".join([*said, *names])


def claimed_share(finding: Finding) -> float | None:
    """Of the users' time: the claims on places of the account; without those, its share."""
    claims = finding.get("claims") or []
    if claims:
        return float(sum(claim["share"] for claim in claims))
    share = finding.get("share")
    return None if share is None else float(share)


def _accused(
    findings: Sequence[Finding], truth: Truth, true: Sequence[str], loss: float
) -> tuple[str, ...]:
    """The fault is there, though it costs little: it may be named, but not be given a great share.

    Of what costs less than half of what counts nothing may claim as much as counts.
    """
    above = [one for one in findings if one["group"] != "note" and one["cause"] not in true]
    return tuple(str(one["cause"]) for one in above if not _is_true(one, truth, loss))


def _is_true(finding: Finding, truth: Truth, loss: float) -> bool:
    too_much = (claimed_share(finding) or 0.0) >= COUNTS and loss < COUNTS / 2
    return is_right(finding, truth) and not too_much


def places_of(result: Mapping[str, Any]) -> dict[str, float]:
    """The account of a run's one step: shares of the users' time, by place."""
    (step,) = result["steps"]
    account = step.get("account") or {"entries": []}
    return {entry["place"]: float(entry["share"]) for entry in account["entries"]}
