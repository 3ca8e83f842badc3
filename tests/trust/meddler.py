"""Somebody else who sets variables of a server between our statements, and what each is to be."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.between import Between
from engine.servers import execute, rows
from loadstone.sandbox import Sandbox
from trust.stranger import begins_statement
from trust.tally import COUNTS

_SETS = b"SET GLOBAL"


@dataclass
class Meddler:
    """Each value that anybody sets is another one, so that it is known whose it is.

    `right` has what each variable may be once all of ours is over: what it would be without us.
    """

    server: Sandbox
    names: Sequence[str]
    chance: random.Random
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1001))
    right: dict[str, list[int]] = field(default_factory=dict)
    before: dict[str, list[int]] = field(default_factory=dict)
    """All that each was to be since we began."""
    deeds: list[str] = field(default_factory=list)
    is_ours_for_all_they_know: bool = False
    """A change of ours was cut short: whatever differs is taken for its doing, and put back."""

    def begins(self) -> None:
        """All variables are somebody's, and nobody is at work."""
        for name in self.names:
            self._set(name, amid=False)

    def sets_some(self, *, amid: bool = False) -> str:
        """Sets one; `amid`: where nobody could tell from outside whether we or they did."""
        COUNTS["deeds of a stranger"] += 1
        name = self.chance.choice(self.names)
        self._set(name, amid=amid)
        return name

    def may_be_as_before(self) -> None:
        """Each may be anything that it was to be since we began."""
        self.right = {name: list(values) for name, values in self.before.items()}

    def found(self) -> dict[str, int]:
        """What each is now."""
        asked = ", ".join(f"@@GLOBAL.{name}" for name in self.names)
        (row,) = rows(self.server, f"SELECT {asked}")
        return dict(zip(self.names, row, strict=True))

    def _set(self, name: str, *, amid: bool) -> None:
        value = next(self.numbers)
        execute(self.server, f"SET GLOBAL {name} = {value}")
        self.before.setdefault(name, []).append(value)
        self.right[name] = [*self.right[name], value] if amid else [value]
        if self.is_ours_for_all_they_know:
            self.may_be_as_before()
        self.deeds.append(f"{name} = {value}{' (amid)' if amid else ''}")


@dataclass
class Moments:
    """Acts between our statements and the server: a variable is set, or the connection is cut.

    No server sets a variable on condition of what it is. So a change by somebody else between our
    look at it and our SET, or between the SET and the look at its result, cannot be distinguished
    from ours: that alone is `amid`.
    """

    between: Between
    meddler: Meddler
    meddles: list[int]
    cut: int | None
    seen: int = 0
    was_set: bool = False

    def __call__(self, sent: bytes) -> None:
        if not begins_statement(sent) or self.between.shut:
            return
        self.seen += 1
        is_set = sent[5:].startswith(_SETS)
        while self.meddles and self.seen >= self.meddles[0]:
            self.meddles.pop(0)
            self.meddler.sets_some(amid=is_set or self.was_set)
        self.was_set = is_set
        if self.seen == self.cut:
            self.meddler.deeds.append(f"cut before {sent[5:60]!r}")
            COUNTS["faults injected"] += 1
            self.between.shut = True
            self.between.cut()
