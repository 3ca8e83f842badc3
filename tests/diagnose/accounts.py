"""Accounts made by hand, and the diagnosis of a step that has one."""

from __future__ import annotations

from diagnose.healthy import Made, a_case
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.model.account import Account, AccountEntry, View
from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.result import LatencyMs


def an_entry(place: str, share: float) -> AccountEntry:
    bounds = {"known": "counted", "low": None, "high": None}
    return AccountEntry.model_validate(
        {"place": place, "users": 16 * share, "share": share, **bounds}
    )


def an_account(view: View = "threads", unnamed: float | None = None, **shares: float) -> Account:
    """`row_lock=0.3` for `row lock`."""
    entries = tuple(an_entry(name.replace("_", " "), share) for name, share in shares.items())
    rest = max(1.0 - sum(shares.values()), 0.0) if unnamed is None else unnamed
    return Account(
        users=16, seconds=10.0, view=view, looks=150.0, entries=entries, unnamed=rest, beyond=0.0
    )


def diagnosed(made: Made, account: Account, **more: object) -> Diagnosis:
    return diagnosis_of(a_case(made.but(step={"account": account}), **more))  # type: ignore[arg-type]


def first(found: Diagnosis, number: int = 1) -> list[str]:
    return [one.cause for one in found.findings][:number]


def named(found: Diagnosis, cause: str) -> Finding:
    return next(one for one in found.findings if one.cause == cause)


def by_place(finding: Finding) -> dict[str, float]:
    """Its claims; each place once."""
    return {one.place: one.share for one in finding.claims}


def statements(**mean_ms_and_count: tuple[float, int]) -> dict[str, LatencyMs]:
    """By class: `write=(12.0, 300)`."""
    nothing = dict.fromkeys(LatencyMs.model_fields) | {"above_range": 0, "at_least": ()}
    return {
        name: LatencyMs.model_validate(nothing | {"mean": mean, "count": count})
        for name, (mean, count) in mean_ms_and_count.items()
    }
