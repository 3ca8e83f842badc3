"""The order of steps."""

from __future__ import annotations

from loadstone.lab.step.order import steps_of
from recorded import a_plan


def test_every_second_repeat_goes_backwards() -> None:
    steps = steps_of(a_plan(ladder=(1, 8, 64), repeats=4))
    assert [step.concurrency for step in steps] == [1, 8, 64, 64, 8, 1, 1, 8, 64, 64, 8, 1]
    assert [step.repeat for step in steps] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert [step.number for step in steps] == list(range(1, 13))
