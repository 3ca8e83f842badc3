"""Metrics of running runs in the OpenMetrics format, for Prometheus to scrape.

Counters cover all steps of a run; rates are left to the query. The specification is "OpenMetrics
1.0.0", prometheus.io/docs/specs/om/open_metrics_spec/.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from loadstone.model.records import Sample
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Changed, EngineEntry, Entry, RunBegin, StepBegin, StepEnd
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.tail import Tail
from loadstone.web.live_run import workload_of

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_QUANTILES = {"0.5": "p50", "0.9": "p90", "0.95": "p95", "0.99": "p99", "0.999": "p999"}
_PHASES = ("connecting", "warmup", "window", "drain", "between")

Labels = Mapping[str, str]
Line = tuple[str, Labels, float]
"""Suffix of the family's name, labels, value."""


@dataclass
class RunCounts:
    """The counts of one run according to its journal so far."""

    run: str
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

    def take(self, entry: Entry) -> None:
        """Process the journal's next line."""
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
            case Changed(change=change) if change.what == "users":
                self.users_asked = change.value
            case Changed(change=change):
                self.rate_asked = change.value
            case EngineEntry(record=Sample() as sample):
                self._add(sample)

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
    lines: Callable[[RunCounts], Iterable[Line]]
    unit: str = ""


def _plain(value: Callable[[RunCounts], float | None]) -> Callable[[RunCounts], Iterable[Line]]:
    def lines(run: RunCounts) -> Iterator[Line]:
        found = value(run)
        if found is not None:
            yield "", {}, found

    return lines


def _count(name: str) -> Callable[[RunCounts], Iterable[Line]]:
    return lambda run: [("_total", {}, float(run.counts[name]))]


def _of_last(value: Callable[[Sample], float]) -> Callable[[RunCounts], Iterable[Line]]:
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
)


def exposition(runs: Iterable[RunCounts]) -> str:
    """The metric families of all runs, in the text format."""
    runs = list(runs)
    lines: list[str] = []
    for family in FAMILIES:
        lines.append(f"# TYPE {family.name} {family.kind}")
        if family.unit:
            lines.append(f"# UNIT {family.name} {family.unit}")
        lines.append(f"# HELP {family.name} {_escaped(family.about)}")
        lines += [
            f"{family.name}{suffix}{_labels({'run': run.run, **labels})} {_number(value)}"
            for run in runs
            for suffix, labels, value in family.lines(run)
        ]
    return "\n".join([*lines, "# EOF", ""])


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


class Metrics:
    """Answers scrapes; each continues to read a journal where the last one stopped."""

    def __init__(self, runs: Callable[[], Iterable[Path]]) -> None:
        """`runs` returns the folders of the runs to report."""
        self._runs = runs
        self._known: dict[Path, tuple[Tail, RunCounts]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def response(self, request: Request) -> Response:
        """The exposition at this moment."""
        async with self._one_at_a_time:
            text = await asyncio.to_thread(self._text)
        return Response(text, media_type=MEDIA_TYPE)

    def _text(self) -> str:
        runs = list(self._runs())
        self._known = {run: self._known.get(run) or _begun(run) for run in runs}
        return exposition(self._read_on(run) for run in runs)

    def _read_on(self, run: Path) -> RunCounts:
        tail, counts = self._known[run]
        try:
            while lines := tail.read():
                for line in lines:
                    counts.take(line.entry)
        except StoreError:
            # What was read so far still holds; the page reports what is wrong with the file.
            pass
        return counts


def _begun(run: Path) -> tuple[Tail, RunCounts]:
    return Tail(run / JOURNAL), RunCounts(run.name)
