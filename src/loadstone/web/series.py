"""The metrics of a run: what is scraped, and what is pushed, has these names and values.

Counters cover all steps of a run; rates are left to the query. Figures of a level are those of its
latest step that has ended. Names are those of OpenMetrics 1.0.0,
prometheus.io/docs/specs/om/open_metrics_spec/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from loadstone.model.finding import Diagnosis, Finding
from loadstone.model.records import Sample
from loadstone.model.result import StepResult
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Changed, EngineEntry, Entry, RunBegin, StepBegin, StepEnd
from loadstone.runs.rebuild import JOURNAL, RunLog, step_result
from loadstone.runs.selection import workload_of

_QUANTILES = {"0.5": "p50", "0.9": "p90", "0.95": "p95", "0.99": "p99", "0.999": "p999"}
UNNAMED = "unnamed"
"""The label of the share of an account that no place holds."""

_COUNTED = ("_total", "_count", "_sum")
_PHASES = ("connecting", "warmup", "window", "drain", "between")

Labels = Mapping[str, str]
Line = tuple[str, Labels, float]
"""Suffix of the family's name, labels, value."""
Lines = Callable[["RunCounts"], Iterable[Line]]


class Point(NamedTuple):
    """One value of one series."""

    name: str
    labels: Labels
    value: float
    is_counter: bool


@dataclass
class RunCounts:
    """The figures of one run according to its journal so far."""

    folder: Path
    workload: str = ""
    loadstone: str = ""
    target: str = ""
    steps_planned: int | None = None
    step: int = 0
    users_asked: float = 0
    rate_asked: float | None = None
    phase: str = "between"
    last: Sample | None = None
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    response_s: float = 0.0
    generator_s: float = 0.0
    ended: list[StepResult] = field(default_factory=list)
    """The latest step of each level, in the order in which they ended."""
    steps_ended: int = 0
    found: tuple[Diagnosis, ...] = ()
    """The diagnosis of the steps that have ended, as far as it has been made."""
    _log: RunLog = field(init=False)

    def __post_init__(self) -> None:
        self._log = RunLog(self.folder / JOURNAL)

    @property
    def run(self) -> str:
        """The run's name."""
        return self.folder.name

    def take(self, entry: Entry) -> None:
        """Process the journal's next line."""
        self._log.add(entry)
        match entry:
            case RunBegin():
                self.workload = workload_of(entry.plan) or ""
                self.loadstone, self.steps_planned = entry.loadstone, entry.steps_planned
                self.target = entry.targets[0] if entry.targets else ""
            case StepBegin(step=step):
                self.step, self.phase, self.last = step.number, "connecting", None
                self.users_asked = step.concurrency
                self.rate_asked = step.rate.rate if step.rate else None
            case StepEnd():
                self.phase, self.last = "between", None
                self._end_step()
            case Changed(change=change) if change.what == "users":
                self.users_asked = change.value
            case Changed(change=change):
                self.rate_asked = change.value
            case EngineEntry(record=Sample() as sample):
                self._add(sample)

    def _end_step(self) -> None:
        begin = self._log.begin
        assert begin is not None, "a step ends in a run that has begun"
        self.steps_ended += 1
        try:
            step = step_result(self.folder, self._log.steps[-1], begin)
        except StoreError:
            return  # a damaged step has no figures; the page and the result say why
        level = _level(step)
        self.ended = [one for one in self.ended if _level(one) != level]
        self.ended.append(step)

    def _add(self, sample: Sample) -> None:
        self.phase, self.last = sample.phase, sample
        self.counts.update(sample.counts.model_dump())
        self.errors.update(sample.errors)
        response = sample.latency_ns.response
        self.answered += response.count
        self.response_s += response.count * (response.mean or 0.0) / 1e9
        self.generator_s += sample.generator.cpu_us / 1e6


@dataclass(frozen=True)
class Family:
    """A metric: its name, its description, and its lines for a run."""

    name: str
    kind: str
    about: str
    lines: Lines
    unit: str = ""


def _plain(value: Callable[[RunCounts], float | None]) -> Lines:
    def lines(run: RunCounts) -> Iterator[Line]:
        found = value(run)
        if found is not None:
            yield "", {}, found

    return lines


def _count(name: str) -> Lines:
    return lambda run: [("_total", {}, float(run.counts[name]))]


def _of_last(value: Callable[[Sample], float]) -> Lines:
    return _plain(lambda run: value(run.last) if run.last else None)


def _info(run: RunCounts) -> Iterable[Line]:
    labels = {"workload": run.workload, "target": run.target, "loadstone": run.loadstone}
    return [("_info", labels, 1.0)]


def _statements(run: RunCounts) -> Iterable[Line]:
    classes = {"read": "reads", "write": "writes", "other": "other"}
    return [("_total", {"class": name}, float(run.counts[of])) for name, of in classes.items()]


def _errors(run: RunCounts) -> Iterable[Line]:
    return [
        ("_total", {"errno": errno}, float(count)) for errno, count in sorted(run.errors.items())
    ]


def _response(run: RunCounts) -> Iterable[Line]:
    """Response times: quantiles of the last second, sum and count of all."""
    last = run.last.latency_ns.response if run.last else None
    for quantile, name in _QUANTILES.items():
        value = getattr(last, name) if last else None
        if value is not None:
            yield "", {"quantile": quantile}, value / 1e9
    yield "_count", {}, float(run.answered)
    yield "_sum", {}, run.response_s


def _phase(run: RunCounts) -> Iterable[Line]:
    return [("", {"loadstone_phase": name}, float(name == run.phase)) for name in _PHASES]


def _level(step: StepResult) -> dict[str, str]:
    """What tells the level of a step from others."""
    return {
        "variant": step.variant,
        "workload": step.workload,
        "users": str(step.concurrency),
        "rate": "" if step.rate is None else str(step.rate),
    }


def _of_levels(
    value: Callable[[StepResult], float | None],
) -> Lines:
    def lines(run: RunCounts) -> Iterator[Line]:
        for step in run.ended:
            found = value(step)
            if found is not None:
                yield "", _level(step), found

    return lines


def _level_response(run: RunCounts) -> Iterable[Line]:
    for step in run.ended:
        for quantile, name in _QUANTILES.items():
            value = getattr(step.latency.response, name)
            if value is not None:
                yield "", {**_level(step), "quantile": quantile}, value / 1e3


def _account(run: RunCounts) -> Iterable[Line]:
    for step in run.ended:
        if step.account is not None:
            for entry in step.account.entries:
                yield "", {**_level(step), "place": entry.place}, entry.share
            yield "", {**_level(step), "place": UNNAMED}, step.account.unnamed


def _findings(value: Callable[[Finding], float | None]) -> Lines:
    def lines(run: RunCounts) -> Iterator[Line]:
        for diagnosis in run.found:
            for finding in diagnosis.findings:
                of = {"variant": diagnosis.variant, "workload": diagnosis.workload}
                share = value(finding)
                if share is not None:
                    yield "", {**of, "cause": finding.cause, "group": finding.group}, share

    return lines


FAMILIES: tuple[Family, ...] = (
    Family("loadstone_run", "info", "A run that goes on.", _info),
    Family("loadstone_phase", "stateset", "Where the step is.", _phase),
    Family("loadstone_step", "gauge", "Number of the step.", _plain(lambda run: run.step)),
    Family(
        "loadstone_steps_planned",
        "gauge",
        "Steps of the plan; missing for a search.",
        _plain(lambda run: run.steps_planned),
    ),
    Family(
        "loadstone_users_asked",
        "gauge",
        "Virtual users that the step asks for.",
        _plain(lambda run: run.users_asked),
    ),
    Family(
        "loadstone_rate_asked",
        "gauge",
        "Events a second that are due; missing in a closed loop.",
        _plain(lambda run: run.rate_asked),
    ),
    Family("loadstone_users", "gauge", "Virtual users connected.", _of_last(lambda one: one.users)),
    Family(
        "loadstone_in_flight",
        "gauge",
        "Events under way.",
        _of_last(lambda one: one.tally.in_flight),
    ),
    Family(
        "loadstone_waiting",
        "gauge",
        "Events that are due and have not begun.",
        _of_last(lambda one: one.tally.waiting),
    ),
    Family("loadstone_events", "counter", "Events that succeeded.", _count("events")),
    Family("loadstone_events_failed", "counter", "Events given up.", _count("failed")),
    Family("loadstone_restarts", "counter", "Events started again.", _count("restarts")),
    Family("loadstone_skipped", "counter", "Due events never begun.", _count("skipped")),
    Family("loadstone_reconnects", "counter", "Connections opened again.", _count("reconnects")),
    Family("loadstone_statements", "counter", "Statements answered.", _statements),
    Family("loadstone_errors", "counter", "Error packets.", _errors),
    Family(
        "loadstone_response_seconds",
        "summary",
        "Response time of good events; quantiles of the last second.",
        _response,
        unit="seconds",
    ),
    Family(
        "loadstone_generator_cpu_seconds",
        "counter",
        "CPU time of the generator's event loops.",
        lambda run: [("_total", {}, run.generator_s)],
        unit="seconds",
    ),
    Family(
        "loadstone_level_tps",
        "gauge",
        "Events a second of the level's latest step that has ended.",
        _of_levels(lambda step: step.tps),
    ),
    Family(
        "loadstone_level_qps",
        "gauge",
        "Statements a second of that step.",
        _of_levels(lambda step: step.qps),
    ),
    Family(
        "loadstone_level_response_seconds",
        "gauge",
        "Quantiles of the response times of that step.",
        _level_response,
        unit="seconds",
    ),
    Family(
        "loadstone_account_share",
        "gauge",
        "Share of the users' time in a place, of that step.",
        _account,
    ),
    Family(
        "loadstone_finding_share",
        "gauge",
        "Share of the users' time that a finding holds; missing where it has none.",
        _findings(lambda finding: finding.share),
    ),
    Family(
        "loadstone_finding_confidence",
        "gauge",
        "How certain a finding is, 0 to 1.",
        _findings(lambda finding: finding.confidence),
    ),
)


def points(run: RunCounts) -> Iterator[Point]:
    """All values of a run at this moment."""
    for family in FAMILIES:
        for suffix, labels, value in family.lines(run):
            is_counter = suffix in _COUNTED
            yield Point(f"{family.name}{suffix}", {"run": run.run, **labels}, value, is_counter)
