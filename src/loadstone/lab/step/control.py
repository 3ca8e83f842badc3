"""Applies requests from those who watch a step: stop, another rate, another number of users.

The requests are files in the run's folder (`runs.control_requests`), because another process shows
the run; this one looks into the folder once a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadstone.engine import PlanRefused, Steerable
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.control import AnyWish, Remark, SetRate, SetUsers, StopRun
from loadstone.model.message import Message, say
from loadstone.model.plan import Step
from loadstone.model.result import LevelChange
from loadstone.runs import control_requests

LOOK_EVERY_S = 1.0

Say = Callable[[Message], None]
Keep = Callable[[LevelChange], None]


class Wishes:
    """The requests in a run's folder, which is read at most once a second."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._looked_at = 0.0

    def look(self) -> list[AnyWish]:
        """The requests since the last look; none if that was less than a second ago."""
        now = time.monotonic()
        if now < self._looked_at + LOOK_EVERY_S:
            return []
        self._looked_at = now
        return control_requests.take(self._run)


@dataclass(frozen=True)
class Steering:
    """A step that can be controlled while it runs."""

    step: Step
    job: Steerable
    wishes: Wishes
    interrupts: Interrupts
    may_change: bool
    """Whether rate and users may be changed by hand: not where levels are compared, or a search
    chooses them."""

    def look(self, at_s: float, keep: Keep, announce: Say) -> None:
        """Apply the requests at this second of the load; `keep` receives each change.

        `announce` receives the reason when a request is refused.
        """
        for wish in self.wishes.look():
            self._apply(wish, at_s, keep, announce)

    def _apply(self, wish: AnyWish, at_s: float, keep: Keep, announce: Say) -> None:
        if isinstance(wish, StopRun):
            announce(say("stopped on request at {at} s", at=round(at_s)))
            self.interrupts.ask()
            return
        if isinstance(wish, Remark):
            announce(wish.text)
            return
        if why := self._refused(wish):
            announce(say("not changed at {at} s: {why}", at=round(at_s), why=why))
            return
        try:
            change = self._change(wish, at_s)
        except PlanRefused as refused:
            announce(say("not changed at {at} s: {why}", at=round(at_s), why=refused.message))
            return
        keep(change)

    def _change(self, wish: SetUsers | SetRate, at_s: float) -> LevelChange:
        """Pass the change to the engine.

        Raises:
            PlanRefused: the step cannot be driven like that.
        """
        if isinstance(wish, SetUsers):
            self.job.set_users(wish.users)
            return LevelChange(at_s=at_s, what="users", value=wish.users)
        self.job.set_rate(wish.rate)
        return LevelChange(at_s=at_s, what="rate", value=wish.rate)

    def _refused(self, wish: SetUsers | SetRate) -> Message | None:
        if not self.may_change:
            return say("a search or an experiment chooses its levels itself")
        if wish.step != self.step.number:
            return say("that was meant for step {step}", step=wish.step)
        return None
