"""The form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import NOTHING, Holds
from loadstone.model.finding import Finding
from loadstone.model.message import Message

Judge = Callable[[Case], Finding | None]
"""Looks at one step of a ladder.

Raises `Missing` if a figure without which nothing can be said was not evaluated.
"""

HoldsIn = Callable[[Case], Holds | None]
"""The users' time that a cause takes in a step with an account; `None`: as in any other."""


Reads = Literal["client", "server", "files"]
"""The farthest that a rule reads: the client's own figures, the counters and variables of a server
of the family, or those of its log and data files on a disk of its own."""


@dataclass(frozen=True)
class Rule:
    """A cause, and how to recognise it."""

    cause: str
    title: Message
    """Its title in a report."""
    judge: Judge
    last_only: bool = False
    """Whether it is about the whole ladder, and so is only applied to the last step."""
    also: Mapping[str, Message] = field(default_factory=dict)
    """Titles of the other causes that `judge` may return."""
    reads: Reads = "server"
    """Which compatible servers it can be applied to depends on it."""
    holds: Holds | Mapping[str, Holds] = NOTHING
    """The users' time that they take, where it differs by cause."""
    holds_in: HoldsIn | None = None
    """What they take in a step, if it has an account from which that follows."""

    @property
    def titles(self) -> Mapping[str, Message]:
        """The title of each cause that `judge` may return."""
        return {self.cause: self.title, **self.also}

    def holds_of(self, cause: str, case: Case) -> Holds:
        """The users' time that one of its causes takes in a step."""
        found = self.holds_in(case) if self.holds_in and case.step.account else None
        if found is not None:
            return found
        return self.holds if isinstance(self.holds, Holds) else self.holds.get(cause, NOTHING)
