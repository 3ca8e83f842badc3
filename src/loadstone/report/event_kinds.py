"""A row for each kind of event of a workload that has several: how many, and how long they took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadstone.analyse.ladder import Level
from loadstone.model.figure import Rate
from loadstone.model.language import Language
from loadstone.model.message import say, user_count
from loadstone.model.numbers import NOTHING, count, rate
from loadstone.model.result import StepResult
from loadstone.report.breakdowns import titled
from loadstone.report.table import Table

TPCC_NAMES: Mapping[str, str] = {
    "new_order": "New-Order",
    "new_order_rolled_back": say("  rolled back"),
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
}
"""The names of the transactions in the report."""


def event_kinds(ladder: Sequence[Level], words: Language) -> Iterator[Table]:
    """The number, share and latency of each kind of event; nothing where there is only one kind.

    For TPC-C the step with the most New-Orders a minute is shown, else that with the highest rate.
    """
    if orders := fastest_tpcc(ladder):
        title = words(
            say(
                "TPC-C-like, not audited: {rate} New-Order transactions a minute at {users}",
                rate=Rate(orders.tpmc or 0.0),
                users=user_count(orders.concurrency),
            )
        )
        yield _table(title, orders, words)
    elif mixed := _busiest(ladder):
        title = words(
            say("The transactions of the step with {users}", users=user_count(mixed.concurrency))
        )
        yield _table(title, mixed, words)


def _busiest(ladder: Sequence[Level]) -> StepResult | None:
    steps = [step for level in ladder for step in level.steps if step.kinds]
    return max(steps, key=lambda step: step.tps or 0.0, default=None)


def _table(title: str, step: StepResult, words: Language) -> Table:
    heads = (
        words(say("transaction")), words(say("events")), words(say("share, %")),
        words(say("mean, ms")), words(say("p90, ms")),
        words(say("p99, ms")), words(say("max, ms")),
    )  # fmt: skip
    names = TPCC_NAMES if step.tpmc else dict(zip(step.kinds, step.kinds, strict=True))
    rows = tuple(
        (
            words(shown),
            count(found.count),
            f"{100.0 * found.count / step.events:.2f}" if step.events else NOTHING,
            *(rate(figure) for figure in (found.mean, found.p90, found.p99, found.max)),
        )
        for name, shown in names.items()
        if (found := step.kinds.get(name))
    )
    return titled(title, heads, rows, text=1)


def fastest_tpcc(ladder: Sequence[Level]) -> StepResult | None:
    """The step with the most New-Orders a minute; `None` where no step has any."""
    steps = [step for level in ladder for step in level.steps if step.tpmc]
    return max(steps, key=lambda step: step.tpmc or 0.0, default=None)
