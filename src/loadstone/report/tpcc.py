"""What a run of TPC-C's transactions gave: the rate of New-Orders, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.analyse.ladder import Level
from loadstone.model.result import StepResult

NAMES = {
    "new_order": "New-Order",
    "new_order_rolled_back": "  rolled back",
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
}
"""What the report calls the transactions."""


def fastest(ladder: Sequence[Level]) -> StepResult | None:
    """The step with the most New-Orders a minute; `None` where no step has any."""
    steps = [step for level in ladder for step in level.steps if step.tpmc]
    return max(steps, key=lambda step: step.tpmc or 0.0, default=None)
