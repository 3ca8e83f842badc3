"""A run as its viewers see it, built from its journal line by line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loadstone.analyse.ladder import Level, levels
from loadstone.model.language import ENGLISH
from loadstone.model.message import Message, counted, plain, say
from loadstone.model.observed import read_of
from loadstone.model.quantity import LONGEST_S
from loadstone.model.records import Connected, Outage, Sample
from loadstone.model.result import StepResult
from loadstone.report.figures.account import account_figure
from loadstone.report.figures.figure import short
from loadstone.report.figures.live import (
    HEAT_ABOUT,
    HEAT_TITLE,
    TIMELINES,
    Point,
    heat,
    ladder,
    timeline,
)
from loadstone.report.notes import step_notes
from loadstone.runs.journal import (
    Changed,
    EngineEntry,
    Entry,
    HoldBegin,
    HoldEnd,
    Note,
    Observed,
    ObservedNames,
    RunBegin,
    RunEnd,
    SourceEntry,
    SourceFacts,
    StepBegin,
    StepEnd,
    held_back,
    let_go_on,
)
from loadstone.runs.rebuild import JOURNAL, LATENCIES, RunLog
from loadstone.runs.selection import workload_of
from loadstone.runs.steplog import StepLog
from loadstone.web.drawn_figures import HOST, DrawnFigures
from loadstone.web.latency_columns import LatencyColumns, row_labels
from loadstone.web.localize import translated_notes, translations

KEPT_S = 900
"""Seconds of each series that viewers get; the report has all."""

LONGEST_NOTE = 2000
"""Maximum number of characters shown of one note."""

KEPT_NOTES = 200
MOST_NOTES = 20
"""Maximum number of notes kept of a step."""

Data = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """Something to send to viewers."""

    name: str
    data: Data | None


RowOf = Callable[[StepLog], StepResult]
"""Returns the row of a step that has ended, from the run's folder."""


@dataclass
class LiveRun:
    """The state of a run according to its journal so far, as far as viewers see it."""

    folder: Path
    row_of: RowOf
    may_change: bool = True
    """Whether rate and users of a running step may be changed by hand."""
    by_rate: bool = False
    """Whether the run's levels differ by the requested rate."""
    rows: list[StepResult] = field(default_factory=list)
    notes: deque[Message] = field(default_factory=lambda: deque(maxlen=KEPT_NOTES))
    points: dict[str, deque[Point]] = field(default_factory=dict)
    second: Data = field(default_factory=dict)
    """The figures of the last second."""
    last: Sample | None = None

    _log: RunLog = field(init=False)
    _names: dict[int, ObservedNames] = field(default_factory=dict)
    _drawn: dict[int, DrawnFigures] = field(default_factory=dict)
    _latencies: LatencyColumns = field(init=False)

    def __post_init__(self) -> None:
        self._log = RunLog(self.folder / JOURNAL)
        self._latencies = LatencyColumns(self.folder / LATENCIES)

    def take(self, entry: Entry) -> Iterator[Event]:
        """Process the journal's next line; yields the events for viewers."""
        had_ended = self.has_ended
        self._log.add(entry)
        if had_ended and not isinstance(entry, RunEnd):
            yield Event("run", self.run())  # it was resumed
        match entry:
            case RunBegin() | RunEnd():
                yield Event("run", self.run())
            case StepBegin():
                self._names, self._drawn, self.last, self.second = {}, {}, None, {}
                yield Event("step", self.step())
            case EngineEntry():
                yield from self._take_record(entry)
            case SourceFacts() | ObservedNames() | Observed():
                yield from self._take_of_source(entry)
            case StepEnd():
                yield from self._end_step()
            case Changed():
                yield Event("step", self.step())
                yield self._note(_sentence(entry))
            case Note() | SourceEntry() | HoldBegin() | HoldEnd():
                yield self._note(_sentence(entry))

    @property
    def begin(self) -> RunBegin | None:
        """The run's first line, once it has been read."""
        return self._log.begin

    @property
    def has_ended(self) -> bool:
        """Whether the journal records the run's end."""
        return self._log.end is not None

    @property
    def steps_finished(self) -> int:
        """How many steps ran to their end."""
        return sum(step.state == "finished" for step in self._log.steps)

    @property
    def current(self) -> StepLog | None:
        """The running step."""
        steps = self._log.steps
        return steps[-1] if steps and steps[-1].end is None else None

    def run(self) -> Data:
        """The run's settings and progress."""
        begin, end = self.begin, self._log.end
        return {
            "name": self.folder.name,
            "title": begin.name if begin else self.folder.name,
            "workload": workload_of(begin.plan) if begin else None,
            "targets": list(begin.targets) if begin else [],
            "server_versions": list(begin.server_versions) if begin else [],
            "unix_s": begin.unix_s if begin else None,
            "loadstone": begin.loadstone if begin else None,
            "steps_planned": begin.steps_planned if begin else None,
            "by_rate": self.by_rate,
            "by_socket": self._by_socket(),
            **_times(begin.plan if begin else {}),
            "ended": end.state if end else None,
        }

    def step(self) -> Data | None:
        """The running step, and which changes may be requested of it."""
        log = self.current
        if log is None:
            return None
        step = log.step
        return {
            "number": step.number,
            "variant": step.variant,
            "workload": step.workload,
            "users": step.concurrency,
            "rate": step.rate.model_dump() if step.rate else None,
            "repeat": step.repeat,
            "by_socket": self._by_socket(),
            "connected": log.connected is not None,
            "users_now": _last_of(log, "users", step.concurrency),
            "may_change": self.may_change,
            "rate_now": _last_of(log, "rate", step.rate.rate if step.rate else None),
        }

    def _by_socket(self) -> bool:
        """Whether all load so far came through unix sockets, so that no network carried it."""
        begin = self.begin
        if begin is None:
            return False
        places = {
            url for log in self._log.steps for url in begin.under(log.begin.conditions).targets
        }
        return all(map(_is_socket, places or begin.targets)) and bool(places or begin.targets)

    def snapshot(self) -> Data:
        """The complete state, for a viewer that has nothing yet."""
        return {
            "run": self.run(),
            "step": self.step(),
            "second": self.second,
            "rows": [row(one) for one in self.rows],
            "notes": list(self.notes),
            "told": translations(self.notes) | translated_notes(self.rows),
            "ladder": self._ladder(),
            "account": self.account(),
            "timelines": {name: self._timeline(name) for name in TIMELINES},
            "heat": {
                "title": HEAT_TITLE,
                "about": HEAT_ABOUT,
                "option": heat(row_labels()),
                "columns": list(self._latencies.kept),
            },
        }

    def _ladder(self) -> Data:
        return ladder(self.rows, by_rate=self.by_rate)

    def account(self, running: StepResult | None = None) -> Data | None:
        """Where the users' time went in the latest ladder; `None` if that is not known.

        `running`: the step that runs, up to now.
        """
        rows = [*self.rows, *([running] if running else [])]
        last = rows[-1] if rows else None
        mine = [level for level in levels(rows) if last and _is_of_ladder(level, last)]
        figure = account_figure(mine, ENGLISH)
        if figure is None:
            return None
        narrow = asdict(figure.narrow) if figure.narrow else None
        return {
            "option": figure.option,
            "about": figure.about,
            "height_px": figure.height_px,
            "narrow": narrow,
        }

    def _timeline(self, name: str) -> Data:
        made = TIMELINES[name]
        points = {line.id: tuple(self.points.get(line.id, ())) for line in made.lines}
        return {
            "title": made.title,
            "about": made.about,
            "option": timeline(name, points),
        }

    def _take_record(self, entry: EngineEntry) -> Iterator[Event]:
        match entry.record:
            case Connected():
                yield Event("step", self.step())
            case Sample() as sample if sample.phase != "drain" and sample.seconds > 0:
                self.last = sample
                began = self._log.steps[-1].load_began_s
                self.second = _second(sample)
                at = round(began + sample.to_s, 2)
                points = self._add(at, self.second)
                columns = self._latencies.read_on()
                data = {"second": self.second, "points": points, "heat": columns}
                yield Event("second", data)
            case Outage() as outage:
                yield self._note(_cut_off(outage))

    def _take_of_source(self, entry: SourceFacts | ObservedNames | Observed) -> Iterator[Event]:
        match entry:
            case SourceFacts():
                self._drawn = {}
            case ObservedNames():
                self._names[entry.names] = entry
                self._drawn.pop(entry.names, None)
            case Observed():
                drawn = self._drawn_of(entry.names)
                figures = drawn.figures(entry) if drawn else {}
                if figures:
                    yield Event("seen", {"points": self._add(round(entry.to_s, 2), figures)})

    def _drawn_of(self, number: int) -> DrawnFigures | None:
        """The figures of lines that refer to these names; `None` if the journal lacks them."""
        if number not in self._drawn and number in self._names:
            facts = self._log.steps[-1].source_facts.get(str(HOST), {})
            self._drawn[number] = DrawnFigures.of(self._names[number], facts)
        return self._drawn.get(number)

    def _end_step(self) -> Iterator[Event]:
        ended = self._log.steps[-1]
        # A step that a resumed run repeats is listed once.
        self.rows = [each for each in self.rows if each.step != ended.step.number]
        self.rows.append(self.row_of(ended))
        self.second, self.last = {}, None
        telling = translated_notes(self.rows[-1:])
        now = {"ladder": self._ladder(), "account": self.account()}
        yield Event("row", {"row": row(self.rows[-1]), "told": telling, **now})

    def _add(self, at: float, figures: Data) -> Data:
        """Append the drawn figures to their series; returns what was appended."""
        added: Data = {}
        for name in figures.keys() & _DRAWN:
            point = (at, figures[name])
            self.points.setdefault(name, deque(maxlen=KEPT_S)).append(point)
            added[name] = point
        return added

    def _note(self, text: Message) -> Event:
        if len(text) > LONGEST_NOTE:
            text = plain(f"{text[:LONGEST_NOTE]}…")
        self.notes.append(text)
        return Event("note", {"text": text, "told": translations([text])})


_DRAWN = frozenset(line.id for figure in TIMELINES.values() for line in figure.lines)


def _is_of_ladder(level: Level, step: StepResult) -> bool:
    return (level.variant, level.workload) == (step.variant, step.workload)


def _is_socket(url: str) -> bool:
    return "socket" in parse_qs(urlsplit(url).query)


def _times(plan: Data) -> Data:
    """The planned seconds of a step, in plans of any version; `None`: unknown, or no limit."""
    warmup = plan.get("warmup")
    fixed = warmup if isinstance(warmup, dict) and warmup.get("kind") == "seconds" else {}
    return {
        "warmup_s": _number(fixed.get("warmup_s", 0.0)),
        "duration_s": _number(plan.get("duration_s")),
    }


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value >= LONGEST_S:
        return None
    return float(value)


def row(step: StepResult) -> Data:
    """A row of the table of steps."""
    response = step.latency.response
    return {
        "step": step.step,
        "variant": step.variant,
        "workload": step.workload,
        "users": step.concurrency,
        "rate": None if step.rate is None else str(step.rate),
        "repeat": step.repeat,
        "state": step.state,
        "steady": step.steady,
        "tps": step.tps,
        "qps": step.qps,
        "p50_ms": response.p50,
        "p95_ms": response.p95,
        "p99_ms": response.p99,
        "max_ms": response.max,
        "at_least": response.at_least,
        "errors": sum(step.errors.values()),
        "client_bound": step.generator.client_bound,
        "changed": bool(step.changes),
        "notes": list(islice(step_notes(step), MOST_NOTES)),
    }


def _second(sample: Sample) -> Data:
    response = sample.latency_ns.response
    return {
        "phase": sample.phase,
        "at_s": sample.to_s,
        "tps": short(sample.counts.events / sample.seconds),
        "qps": short(sample.counts.queries / sample.seconds),
        "p50": _ms(response.p50),
        "p95": _ms(response.p95),
        "p99": _ms(response.p99),
        "users": sample.users,
        "in_flight": sample.tally.in_flight,
        "waiting": sample.tally.waiting,
        "errors": sum(sample.errors.values()),
        "reconnects": sample.counts.reconnects,
    }


def _cut_off(outage: Outage) -> Message:
    return counted(
        "1 user was without connection: {reason}",
        "{number} users were without connection: {reason}",
        outage.users,
        reason=outage.reason,
    )


def _sentence(entry: Changed | Note | SourceEntry | HoldBegin | HoldEnd) -> Message:
    match entry:
        case HoldBegin():
            return plain(held_back(entry.from_s, entry.condition))
        case HoldEnd():
            return plain(let_go_on(entry.to_s))
        case Note():
            return plain(entry.text)
        case Changed(change=change):
            fields = {"value": f"{change.value:,g}", "at": f"{change.at_s:.0f}"}
            if change.what == "users":
                return say("users set to {value} by hand at {at} s", **fields)
            return say("rate set to {value} by hand at {at} s", **fields)
        case SourceEntry(state=state):
            what = read_of(state.source)
            if state.lost:
                return say("{what} cannot be read: {why}", what=what, why=state.why)
            return say("{what} can be read again", what=what)


def _last_of(log: StepLog, what: str, asked: float | None) -> float | None:
    """The last value set by hand, else the requested one."""
    set_by_hand = [change.value for change in log.changes if change.what == what]
    return set_by_hand[-1] if set_by_hand else asked


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else short(nanoseconds / 1e6)
