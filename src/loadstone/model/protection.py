"""Conditions that end a load, or hold it back, before it does harm.

A condition is `NAME OP NUMBER`, with a unit if the figure has one, and `for TIME` if it must hold
for a while: `threads_running>200`, `p99>200ms`, `disk_free<5%`, `replica_lag>10s for 5s`. A name
that is not in `FIGURES` is a row of the server's SHOW GLOBAL STATUS, and only the server knows
whether it exists; `/s` makes it the growth of the row per second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.hints import write
from loadstone.model.message import Joined, say
from loadstone.model.nearest import nearest
from loadstone.model.target import Target

Relation = Literal["<", "<=", ">", ">="]
Kind = Literal["time", "share", "bytes", "rate", "count", "times"]
"""The kind of a limit: seconds, a share of 1, bytes, a number per second, a plain number, or a
factor."""

FIGURES: Mapping[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("p50", "p90", "p95", "p99", "p999", "mean", "max"), ("time",)),
    "errors": ("share",),
    "tps": ("rate",),
    "qps": ("rate",),
    "threads_running": ("count",),
    "threads_connected": ("count",),
    "others_latency": ("time",),
    "others_slowdown": ("times",),
    "replica_lag": ("time",),
    "replica_lag_growth": ("time",),
    "disk_free": ("bytes", "share"),
}
"""The figures that are not rows of the server's status, and the kinds of their limits.

Those in `OF_THE_LOAD` are the load's own, of each second; docs/protection.md defines them all.
"""

OF_THE_LOAD = frozenset(("p50", "p90", "p95", "p99", "p999", "mean", "max", "errors", "tps", "qps"))
OF_THE_OTHERS = frozenset(("others_latency", "others_slowdown"))
OF_REPLICAS = frozenset(("replica_lag", "replica_lag_growth"))

FORM = (
    r"\s*([A-Za-z][A-Za-z0-9_.]*)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ%/]*)"
    r"(?:\s+for\s+(\d+(?:\.\d+)?)\s*([a-z]*))?\s*"
)
_TIMES = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {
    f"{letter}{end}": 1024.0**power
    for power, letter in enumerate(("", "k", "m", "g", "t"))
    for end in ("", "b")
    if letter or end
}
_UNITS: dict[Kind, dict[str, float]] = {
    "time": _TIMES,
    "share": {"%": 0.01},
    "bytes": _BYTES,
    "rate": {"": 1.0, "/s": 1.0, "k": 1e3, "k/s": 1e3},
    "count": {"": 1.0, "k": 1e3, "m": 1e6},
    "times": {"": 1.0, "x": 1.0},
}
_GROWTH = {"/s": 1.0, "k/s": 1e3, "m/s": 1e6}
_EXAMPLES: dict[Kind, str] = {
    "time": "200ms", "share": "5%", "bytes": "10GB", "rate": "100", "count": "200", "times": "5",
}  # fmt: skip


class ConditionError(LoadstoneError):
    """A condition that cannot be parsed or evaluated; raised before any load."""

    exit_code = ExitCode.USAGE


class Condition(Frozen):
    """A figure, its limit, and how long the figure must be beyond it."""

    text: str
    """The condition as it was written."""
    figure: str
    """In lower case: one of `FIGURES`, or a row of the server's status."""
    relation: Relation
    limit: float
    """In seconds, bytes or events a second, or as a share of 1."""
    kind: Kind
    is_growth: bool = False
    """Whether it is the growth per second of a row of the status."""
    for_s: float = 0.0

    @property
    def is_status(self) -> bool:
        """Whether the figure is a row of the server's status."""
        return self.figure not in FIGURES

    def is_met_by(self, value: float) -> bool:
        """Whether the condition's relation holds between the value and the limit."""
        match self.relation:
            case "<":
                return value < self.limit
            case "<=":
                return value <= self.limit
            case ">":
                return value > self.limit
            case ">=":
                return value >= self.limit

    def shown(self, value: float) -> str:
        """Format a value of its figure for a person."""
        match self.kind:
            case "time":
                return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"
            case "share":
                return f"{100 * value:.3g} %"
            case "bytes":
                return f"{value / 1024**3:.3g} GiB"
            case "rate":
                return f"{value:,.0f}/s"
            case "count" | "times":
                return f"{value:,.6g}" + ("/s" if self.is_growth else "")


class Protection(Frozen):
    """The conditions that end a load, or hold it back."""

    abort_if: tuple[Condition, ...] = ()
    max_load: tuple[Condition, ...] = ()
    """While one of these is met, no event starts."""
    defaults: bool = True
    """Whether default conditions apply to servers that are not sandboxes."""
    replicas: tuple[Target, ...] = ()
    """Replicas whose lag is observed, since only they know it."""

    @property
    def asked(self) -> tuple[Condition, ...]:
        """All conditions that the user gave."""
        return (*self.abort_if, *self.max_load)

    def combined(self, other: Protection) -> Protection:
        """Both combined; the defaults apply only if both have them."""
        return Protection(
            abort_if=tuple(dict.fromkeys((*self.abort_if, *other.abort_if))),
            max_load=tuple(dict.fromkeys((*self.max_load, *other.max_load))),
            defaults=self.defaults and other.defaults,
            replicas=tuple(dict.fromkeys((*self.replicas, *other.replicas))),
        )


def condition(text: str) -> Condition:
    """Parse `threads_running>200`, `p99>200ms for 5s`, `Aborted_clients>10/s`.

    Raises:
        ConditionError: it is not a condition, or the unit does not fit the figure.
    """
    found = re.fullmatch(FORM, text)
    if found is None:
        said = say("'{text}' is not a condition", text=text)
        raise ConditionError(said, write("'threads_running>200 for 5s'"))
    name = found[1].lower().replace("p99.9", "p999")
    kind, factor, is_growth = _measure(text, name, found[4])
    limit = float(found[3]) * factor
    if math.isinf(limit):
        raise ConditionError(
            say("'{text}': no value is that large", text=text), write(_EXAMPLES[kind])
        )
    return Condition(
        text=" ".join(text.split()),
        figure=name,
        relation=found[2],  # type: ignore[arg-type]
        limit=limit,
        kind=kind,
        is_growth=is_growth,
        for_s=_seconds(text, found[5], found[6]),
    )


def max_load(text: str) -> Condition:
    """Parse a condition that holds a load back: it must be able to clear while the load rests.

    Raises:
        ConditionError: as for `condition`, or holding the load back cannot clear it.
    """
    found = condition(text)
    if found.figure in ("tps", "qps"):
        raise ConditionError(
            say(
                "'{text}': a load that is held back does nothing, so it would never continue",
                text=text,
            ),
            say("end it instead: --abort-if"),
        )
    return found


def _measure(text: str, name: str, unit: str) -> tuple[Kind, float, bool]:
    """The kind of the unit, its factor to our unit, and whether it is growth per second."""
    kinds = FIGURES.get(name, ("count",))
    for kind in kinds:
        if (factor := _UNITS[kind].get(unit.lower())) is not None:
            return kind, factor, False
    if name not in FIGURES and (factor := _GROWTH.get(unit.lower())) is not None:
        return "rate", factor, True
    if name not in FIGURES:
        hint = nearest(name, FIGURES) or say("write {name}>200, or {name}>10/s", name=name)
        raise ConditionError(
            say("'{text}': a status variable has no unit '{unit}'", text=text, unit=unit), hint
        )
    wrong = (
        say("'{text}': '{unit}' is not a unit of {name}", text=text, unit=unit, name=name)
        if unit
        else say("'{text}': {name} needs a unit", text=text, name=name)
    )
    known = [each for kind in kinds for each in _UNITS[kind] if each]
    examples = Joined((_EXAMPLES[kind] for kind in kinds), "choices")
    hint = (
        say("write {examples}; units: {units}", examples=examples, units=Joined(known))
        if known
        else write(_EXAMPLES[kinds[0]])
    )
    raise ConditionError(wrong, hint)


def _seconds(text: str, number: str | None, unit: str | None) -> float:
    if number is None:
        return 0.0
    factor = _TIMES.get(unit or "")
    if factor is None:
        raise ConditionError(
            say("'{text}': for how long?", text=text), say("write for 5s; units: ms, s, m, h")
        )
    return float(number) * factor


def unknown_row(
    asked: Condition, place: str, rows: Mapping[str, object], shows: str
) -> ConditionError:
    """The error for a name that is not a row of the server at `place`, with similar names.

    `shows` is the statement that lists all rows.
    """
    known = [*FIGURES, *rows]
    near = get_close_matches(asked.figure, known, n=3, cutoff=0.6)
    hint = (
        say("did you mean {word}?", word=Joined(near, "choices"))
        if near
        else say("{statement} has the names", statement=shows)
    )
    said = say(
        "'{text}': {place} has no status variable '{name}'",
        text=asked.text,
        place=place,
        name=asked.figure,
    )
    return ConditionError(said, hint)
