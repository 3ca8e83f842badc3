"""Another client that sets a server's variables between our statements, and the expected values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.between import Between
from engine.servers import execute, rows
from loadstone.mysql.own_statements import MARK
from loadstone.sandbox import Sandbox
from trust.stranger import begins_statement
from trust.tally import COUNTS

_OURS, _SETS = MARK.encode() + b" ", b"SET GLOBAL"


@dataclass
class Meddler:
    """Sets each variable to a new value each time, so that it is known who has set it.

    `right` has the values that each variable may have after our run: what it would be without us.
    """

    server: Sandbox
    names: Sequence[str]
    chance: random.Random
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1001))
    right: dict[str, list[int]] = field(default_factory=dict)
    before: dict[str, list[int]] = field(default_factory=dict)
    """All values that each variable should have had since we started."""
    deeds: list[str] = field(default_factory=list)
    is_ours_for_all_they_know: bool = False
    """A change of ours was interrupted: any difference is taken for its effect, and restored."""

    def begins(self) -> None:
        """Set all variables as the other client; nobody is at work."""
        for name in self.names:
            self._set(name, amid=False)

    def sets_some(self, *, amid: bool = False) -> str:
        """Set one; `amid`: from outside it is undecidable whether we or they did it."""
        COUNTS["deeds of a stranger"] += 1
        name = self.chance.choice(self.names)
        self._set(name, amid=amid)
        return name

    def may_be_as_before(self) -> None:
        """Allow each variable any value that it should have had since we started."""
        self.right = {name: list(values) for name, values in self.before.items()}

    def found(self) -> dict[str, int]:
        """The current value of each."""
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
        is_set = sent[5:].removeprefix(_OURS).startswith(_SETS)
        while self.meddles and self.seen >= self.meddles[0]:
            self.meddles.pop(0)
            self.meddler.sets_some(amid=is_set or self.was_set)
        self.was_set = is_set
        if self.seen == self.cut:
            self.meddler.deeds.append(f"cut before {sent[5:60]!r}")
            COUNTS["faults injected"] += 1
            self.between.shut = True
            self.between.cut()
