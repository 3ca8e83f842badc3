"""What a run of TPC-C's transactions gave: the rate of New-Orders, and a row a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from loadstone.analyse.ladder import Level
from loadstone.model.result import StepResult
from loadstone.report.numbers import NOTHING, count, digits, number_of, rate

_NAMES = {
    "new_order": "New-Order",
    "new_order_rolled_back": "  rolled back",
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
}


def fastest(ladder: Sequence[Level]) -> StepResult | None:
    """The step with the most New-Orders a minute; `None` where no step has any."""
    steps = [step for level in ladder for step in level.steps if step.tpmc]
    return max(steps, key=lambda step: step.tpmc or 0.0, default=None)


def tpmc_sentence(step: StepResult) -> str:
    """As `TPC-C-like, not audited: 1,234 New-Orders a minute (tpmC) at 16 users.`."""
    return (
        f"TPC-C-like, not audited: {digits(step.tpmc or 0.0)} New-Orders a minute (tpmC) at "
        f"{number_of(step.concurrency, 'user')}."
    )


def kinds_table(step: StepResult) -> Table:
    """A row a transaction: how many, which share of all, and how long they took."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("transaction", vertical="bottom", no_wrap=True)
    for head in ("events", "share\n%", "mean\nms", "p90\nms", "p99\nms", "max\nms"):
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True, min_width=5)
    for name, shown in _NAMES.items():
        found = step.kinds.get(name)
        if found is None:
            continue
        share = f"{100.0 * found.count / step.events:.2f}" if step.events else NOTHING
        figures = (found.mean, found.p90, found.p99, found.max)
        table.add_row(shown, count(found.count), share, *(rate(figure) for figure in figures))
    return table
