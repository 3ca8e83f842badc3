"""Gates for CI: limits that a run must keep (`p99<20ms`), and forbidden changes (`tps<-5%`).

Their rules for thin evidence are part of the contract, see docs/gates.md:

- A threshold applies to the figure that the report quotes: the mean of a level's repeats, for
  latencies the middle repeat's. It needs no interval, as it says nothing of a difference. For a
  search it applies at the level that was found.
- A change applies to the interval: it fails a build if the whole interval lies beyond the limit, at
  95 % over all cells together (Bonferroni). If the interval leaves it open, that is reported and
  passes: a gate that fails on noise gets switched off. If each side has a single step there is no
  interval, and the figure itself decides.
- What cannot be judged at all (a step that failed or never settled, a missing figure, a percentile
  below its limit of which only a lower bound is known, a level that the other side does not have)
  fails: a gate that sees nothing must not pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from loadstone.analyse.intervals import Interval
from loadstone.analyse.ladder import Level, levels, middle_step, rated
from loadstone.analyse.metrics import METRICS, Kind, Metric
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, counted, plain, say
from loadstone.model.nearest import nearest
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult
from loadstone.model.search import SearchOutcome

State = Literal["held", "broken", "not decided", "no evidence"]

FAILING: frozenset[State] = frozenset({"broken", "no evidence"})
"""The states that end the program with exit code 99."""

_FORM = re.compile(r"\s*([a-z0-9_.]+)\s*(<=|>=|<|>)\s*([+-]?\d+(?:\.\d+)?)\s*([a-z%µ/]*)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}
_UNITS: dict[Kind, dict[str, float]] = {
    "time": {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0, "m": 60e3, "min": 60e3, "h": 3600e3},
    "rate": {"": 1.0, "k": 1e3, "m": 1e6, "/s": 1.0, "k/s": 1e3, "m/s": 1e6},
    "share": {"%": 0.01},
    "count": {"": 1.0, "k": 1e3, "m": 1e6},
    "bytes": {"": 1.0, "b": 1.0, "k": 1024.0, "m": 1024.0**2, "g": 1024.0**3},
}
_EXAMPLES: dict[Kind, str] = {
    "time": "20ms", "rate": "1000", "share": "1%", "count": "2", "bytes": "64K",
}  # fmt: skip


class GateError(LoadstoneError):
    """A gate that cannot be parsed: a usage error, raised before anything is started."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Gate:
    """A metric, and a limit for it or for its change."""

    text: str
    """The gate as it was written."""
    metric: Metric
    relation: str
    """`<`, `<=`, `>` or `>=`."""
    limit: float
    """In the metric's unit; for a change, a share: -0.05."""

    def is_so(self, value: float) -> bool:
        """Whether the gate's relation holds between the value and the limit."""
        return _COMPARE[self.relation](value, self.limit)


@dataclass(frozen=True)
class Check:
    """The outcome of one gate at one place."""

    gate: str
    metric: Metric
    where: Message
    """The level, for a person."""
    state: State
    value: float | None = None
    """The figure, or the change as a share."""
    interval: Interval | None = None
    why: Message | None = None
    """The reason, where the state alone does not say it."""
    is_change: bool = False
    seconds: float | None = None
    """How long the judged steps took; `None`: unknown."""

    @property
    def fails(self) -> bool:
        """Whether it ends the program with exit code 99."""
        return self.state in FAILING


def threshold(text: str) -> Gate:
    """Parse a condition that must hold: `p99<20ms`, `tps>=1000`, `errors<0.1%`.

    Raises:
        GateError: there is no such figure, or the unit is not one of that figure.
    """
    metric, relation, number, unit = _parts(text, "p99<20ms")
    units, example, name = _UNITS[metric.kind], _EXAMPLES[metric.kind], metric.name
    if unit not in units:
        known = ", ".join(each for each in units if each)
        wrong = (
            say("'{text}': '{unit}' is not a unit of {metric}", text=text, unit=unit, metric=name)
            if unit
            else say("'{text}': {metric} needs a unit", text=text, metric=name)
        )
        raise GateError(wrong, say("write {example}; units: {units}", example=example, units=known))
    if number.startswith("-"):
        raise GateError(
            say("'{text}': {metric} is never below zero", text=text, metric=name),
            say("a change is given with --fail-on, as '{text}' in percent", text=text.strip()),
        )
    limit = float(number) * units[unit]
    if math.isinf(limit):
        raise GateError(
            say("'{text}': no figure is that large", text=text),
            say("write {example}", example=example),
        )
    return Gate(text.strip(), metric, relation, limit)


def change(text: str) -> Gate:
    """Parse a change that must not happen, against the first side: `tps<-5%`, `p99>+10%`.

    Raises:
        GateError: there is no such figure, or it is not a percentage.
    """
    metric, relation, number, unit = _parts(text, "tps<-5%")
    hint = say("write {example}", example=f"{metric.name}<-5%")
    if unit != "%":
        raise GateError(say("'{text}': a change is given in percent", text=text), hint)
    limit = float(number) / 100
    if math.isinf(limit) or limit < -1 or (limit == -1 and relation == "<"):
        raise GateError(
            say("'{text}' can never be true: nothing falls by more than 100 %", text=text), hint
        )
    return Gate(text.strip(), metric, relation, limit)


def _parts(text: str, example: str) -> tuple[Metric, str, str, str]:
    found = _FORM.fullmatch(text.lower())
    if found is None:
        raise GateError(
            say("'{text}' is not a limit", text=text), say("write '{example}'", example=example)
        )
    name = found[1].replace(".", "")
    if name not in METRICS:
        near = nearest(name, METRICS) or say("tps, p99, errors and others: docs/gates.md")
        raise GateError(
            say("'{text}': there is no figure '{name}'", text=text, name=found[1]), near
        )
    return METRICS[name], found[2], found[3], found[4]


def judge_thresholds(
    gates: Sequence[Gate], steps: Sequence[StepResult], missing: Sequence[str] = ()
) -> list[Check]:
    """Check each gate at each level.

    `missing` names the levels that were planned and never run, for a person.
    """
    found = levels(steps)
    checks = []
    for gate in gates:
        checks += [replace(_judge(gate, level), seconds=seconds_of(level.steps)) for level in found]
        checks += [
            Check(gate.text, gate.metric, plain(place), "no evidence", why=say("it was not run"))
            for place in missing
        ]
        if not found and not missing:
            why = say("the run has no step")
            checks.append(Check(gate.text, gate.metric, say("the run"), "no evidence", why=why))
    return checks


def judge_search(
    gates: Sequence[Gate], found: SearchOutcome | None, steps: Sequence[StepResult]
) -> list[Check]:
    """Check each gate at the level that a search found, over all of its steps there.

    The levels that it tries beyond its answer are too high on purpose, and say nothing of a limit.
    `found` is `None` if the search was interrupted.
    """
    why = _why_unfound(found)
    if found is None or why:
        return [
            Check(gate.text, gate.metric, say("the search"), "no evidence", why=why)
            for gate in gates
        ]
    return judge_thresholds(gates, [step for step in steps if _is_answer(found, step)])


def _why_unfound(found: SearchOutcome | None) -> Message | None:
    if found is None or not found.complete:
        return say("it did not finish")
    if found.objective and found.rate is None:
        return say("no rate held {objective}", objective=str(found.objective))
    if not found.objective and found.concurrency is None:
        return say("no number of users reached the peak")
    return None


def _is_answer(found: SearchOutcome, step: StepResult) -> bool:
    """Whether the step is at the rate that held the objective, or else at the users of the peak."""
    users, rate = found.concurrency, found.rate
    if users is not None and step.concurrency != users.value:
        return False
    if found.objective is None:
        return step.rate is None
    return rate is not None and step.rate is not None and step.rate.rate == rate.value


def seconds_of(steps: Iterable[StepResult]) -> float:
    """How long steps took, from the load's start to the window's end."""
    return sum(step.window.to_s if step.window else step.seconds for step in steps)


def _judge(gate: Gate, level: Level) -> Check:
    place = place_of(level.workload, level.concurrency, level.rate, level.variant)
    fit = [step for step in level.steps if unfit(step) is None]
    if not fit:
        why = unfit(level.steps[0])
        return Check(gate.text, gate.metric, place, "no evidence", why=why)
    value = quoted(gate.metric, fit)
    if value is None:
        why = say("the run has no {metric}", metric=gate.metric.name)
        return Check(gate.text, gate.metric, place, "no evidence", why=why)
    held = gate.is_so(value)
    is_bound = any(map(gate.metric.is_lower_bound, fit))
    if held and is_bound and gate.relation in ("<", "<="):
        why = say("it is at least so high: events had not ended when the window did")
        return Check(gate.text, gate.metric, place, "no evidence", value, why=why)
    bound = any(step.generator.client_bound for step in fit)
    why = say("the generator was the limit, so the server may be better")
    why = why if bound and not held else None
    return Check(gate.text, gate.metric, place, "held" if held else "broken", value, why=why)


def quoted(metric: Metric, steps: Iterable[StepResult]) -> float | None:
    """The quoted figure of repeats: their mean, or for times the middle repeat's."""
    known = [step for step in steps if metric.of(step) is not None]
    if not known:
        return None
    if metric.kind == "time":
        return metric.of(middle_step(known))
    if metric.kind == "rate":
        known = rated(known) or known
    return fmean(value for step in known if (value := metric.of(step)) is not None)


def unfit(step: StepResult) -> Message | None:
    """Why a step cannot be judged; `None` if it ended, is steady and was never held back."""
    match step.state:
        case "failed":
            return say("step {number} failed", number=step.step)
        case "stopped":
            return say("step {number} stopped", number=step.step)
        case "interrupted":
            return say("step {number} interrupted", number=step.step)
    if step.steady is False:
        return say("step {number} never settled", number=step.step)
    if step.held:
        return say("step {number} was held back by --max-load", number=step.step)
    return None


def place_of(workload: str, users: int, rate: Rate | None, context: str) -> Message:
    """The place as text: `oltp_read_write, 64 users`, with the variant where there are several.

    Programs know the place by this text too (--json, JUnit), so its numbers have no commas.
    """
    place = counted(
        "{workload}, 1 user", "{workload}, {users} users", users, workload=workload, users=users
    )
    if rate:
        place = say("{place}, {rate} events/s due", place=place, rate=str(rate))
    if context not in ("", "default"):
        place = say("{place}, {context}", place=place, context=context)
    return place


@dataclass(frozen=True)
class Change:
    """A change of one metric at one place, as far as it is known."""

    where: Message
    relative: float | None
    """`None`: it is unknown."""
    interval: Interval | None
    """`None`: a side has a single step, or the change is unknown."""
    why: Message | None = None


def judge_changes(gate: Gate, changes: Iterable[Change]) -> Iterator[Check]:
    """Check the gate at each place; `relation` and `limit` describe the forbidden change."""
    for each in changes:
        state, why = _state(gate, each)
        yield Check(
            gate.text, gate.metric, each.where, state, each.relative, each.interval, why, True
        )


def _state(gate: Gate, each: Change) -> tuple[State, Message | None]:
    if each.relative is None:
        return "no evidence", each.why
    if each.interval is None:
        state: State = "broken" if gate.is_so(each.relative) else "held"
        return state, each.why or say("a single step on each side: there is no interval")
    ends = [gate.is_so(end) for end in (each.interval.low, each.interval.high)]
    if all(ends):
        return "broken", each.why
    if any(ends):
        return "not decided", say("the interval contains the limit: more repeats would decide")
    return "held", each.why
