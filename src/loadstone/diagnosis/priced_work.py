"""Rules about work on a core that is counted in pieces, each with the CPU that it was measured to.

Such a cause holds that part of the users' time on a core, and as large a part of their wait for
one.
"""

from __future__ import annotations

from collections.abc import Callable

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Judge, Rule
from loadstone.diagnosis.users_time import time_of
from loadstone.model.message import Message

Cores = Callable[[Case], float | None]
"""Cores that such work takes at a step; `None`: its pieces are not counted."""


def share_of(case: Case, cores: float) -> float | None:
    """The share of the users' time that so many cores' work is; `None`: there is no account."""
    return time_of(case, parts_of_work(case, cores))


def rule_of(cause: str, title: Message, judge: Judge, cores: Cores) -> Rule:
    """The rule that `judge` finds the cause by, which holds what the work of `cores` takes."""

    def holds(case: Case) -> Holds | None:
        parts = parts_of_work(case, cores(case) or 0.0)
        return priced(parts) if any(parts.values()) else None

    return Rule(cause, title, judge, holds=part_of(*CORES, is_priced=True), holds_in=holds)
