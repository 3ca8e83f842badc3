"""Users that wait for rows: how many, for whom, and what helps, for any family of servers."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.trials import client
from loadstone.model.figure import Count, Number, Percent
from loadstone.model.finding import Trial
from loadstone.model.message import Message, say

HELD_S = 5.0
"""[P] Age of the oldest transaction from which it is the one that holds the rows."""

TIMES_MEDIAN = 20.0
"""[P] The same age divided by the median event: a waiting user has an old transaction as well."""

_DRAWN = ("oltp_", "select_random_")
"""What the names of workloads begin with whose keys follow --distribution."""


def lock_share(case: Case) -> float | None:
    """Share of the users that wait for a row at any moment; the largest of three measures.

    Time is counted when a wait ends, so that long waits show late; the number of waiting users is
    read once a second; looks are taken at random moments.
    """
    counted = (case.rate("row_lock_time_s"), case.mean("row_lock_current_waits"))
    known = [value / case.users for value in counted if value is not None and case.users]
    looks, account = case.time_at("row lock"), case.step.account
    if looks is not None and account is not None:
        # Waits that began before the window are counted in it when they end.
        most = looks + account.unnamed + (case.time_at("in the server") or 0.0)
        known = [looks, *(min(value, most) for value in known)]
    return min(max(known), 1.0) if known else None


def waiting(case: Case, share: float) -> Message:
    """A sentence for `lock_share`."""
    return say(
        "Users spend {share} of their time waiting for locked rows: at any moment "
        "{waiting} of {users} wait.",
        share=Percent(share),
        waiting=Number(share * case.users),
        users=Count(case.users),
    )


def holder_s(case: Case) -> float | None:
    """Age of a transaction that is far older than the load's own ones; `None`: there is none.

    Where the server tells it, of those that do not wait for a row themselves.
    """
    holding = case.highest("oldest_holding_transaction_s")
    oldest = case.highest("oldest_transaction_s") if holding is None else holding
    return oldest if oldest is not None and is_old(case, oldest) else None


def is_old(case: Case, age_s: float) -> bool:
    """Whether a transaction of that age is none of the usual ones."""
    return age_s >= max(HELD_S, TIMES_MEDIAN * (case.step.latency.service.p50 or 0.0) / 1000)


def advice(case: Case) -> Message:
    """What helps where the load's own transactions hold the rows."""
    if case.step.workload == "tpcc":
        return say(
            "Load more warehouses (--warehouses): users of the same warehouse change the same row. "
            "Fewer users wait less and do as much."
        )
    return say(
        "Spread the changes over more rows (a counter in several rows, another key distribution), "
        "change the hot row last in the transaction, and keep transactions short. Fewer users wait "
        "less and do as much."
    )


def other_rows(case: Case) -> Trial | None:
    """A trial with keys of which none is hot; `None`: the workload has no such option."""
    if not case.step.workload.startswith(_DRAWN):
        return None
    return client("distribution", "uniform", None, say("changing the same rows"))
