"""A row for each kind of event of a workload that has several: how many, and how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table

from loadstone.analyse.ladder import Level
from loadstone.model.result import StepResult
from loadstone.report.numbers import NOTHING, count, rate


def busiest(ladder: Sequence[Level]) -> StepResult | None:
    """The step with the highest rate of those with kinds; `None` where no step has any."""
    steps = [step for level in ladder for step in level.steps if step.kinds]
    return max(steps, key=lambda step: step.tps or 0.0, default=None)


def kinds_table(step: StepResult, names: Mapping[str, str]) -> Table:
    """How many of each, which share of all, and how long they took; `names`: what to call them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("transaction", vertical="bottom", no_wrap=True)
    for head in ("events", "share\n%", "mean\nms", "p90\nms", "p99\nms", "max\nms"):
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True, min_width=5)
    for name, shown in names.items():
        found = step.kinds.get(name)
        if found is None:
            continue
        share = f"{100.0 * found.count / step.events:.2f}" if step.events else NOTHING
        figures = (found.mean, found.p90, found.p99, found.max)
        table.add_row(shown, count(found.count), share, *(rate(figure) for figure in figures))
    return table
