"""What a journal says about one step, and which of its seconds count.

The samples stay in the journal and are read again when needed, so that a step of many hours takes
no more memory than one of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from loadstone.model.failover import LedgerVerdict
from loadstone.model.hot_spots import HotSpots
from loadstone.model.message import Message
from loadstone.model.observed import Observation, SourceState
from loadstone.model.plan import Step
from loadstone.model.records import (
    Connected,
    End,
    FirstError,
    GeneratorState,
    Outage,
    Sample,
    StepRecord,
    Tally,
)
from loadstone.model.result import HeldBack, LevelChange, StepState, Window
from loadstone.runs.journal import (
    Changed,
    EngineEntry,
    HoldBegin,
    HoldEnd,
    HotSpotsEntry,
    LedgerEntry,
    Note,
    SourceEntry,
    SourceFacts,
    StepBegin,
    StepEnd,
    StepEntry,
)

_COMING_BACK_S = 0.2
"""Time after the signal to continue until the engine's threads have seen it."""


@dataclass
class StepLog:
    """Everything except the samples; `samples` reads these from the journal on each call."""

    begin: StepBegin
    samples: Callable[[], Iterator[Sample]]
    observations: Callable[[], Iterator[Observation]]
    """What the sources observed; times count from the start of the run."""
    load_began_s: float = 0.0
    connected: Connected | None = None
    outages: list[Outage] = field(default_factory=list)
    first_errors: list[FirstError] = field(default_factory=list)
    generators: list[GeneratorState] = field(default_factory=list)
    """In the order in which they joined or were lost."""
    notes: list[Message] = field(default_factory=list)
    source_states: list[SourceState] = field(default_factory=list)
    hot_spots: HotSpots | None = None
    source_facts: dict[str, dict[str, str]] = field(default_factory=dict)
    ledger: tuple[LedgerVerdict, ...] = ()
    tally: Tally | None = None
    unbalanced: Tally | None = None
    """The first one that does not add up."""
    changes: list[LevelChange] = field(default_factory=list)
    """Changes by hand. Samples after the first one are not at the requested level."""
    held: list[HeldBack] = field(default_factory=list)
    measured_from_s: float | None = None
    measured_to_s: float = 0.0
    end: StepEnd | None = None

    @property
    def step(self) -> Step:
        """The step that was run."""
        return self.begin.step

    @property
    def state(self) -> StepState:
        """How it ended; a step without an end was interrupted."""
        return self.end.state if self.end else "interrupted"

    @property
    def window(self) -> Window | None:
        """The settled window where one was chosen, else the seconds after the fixed warm-up."""
        settled = self.end.settled if self.end else None
        if settled:
            return self._window(settled.from_s, settled.to_s, settled.method)
        if self.measured_from_s is None:
            return None
        return self._window(self.measured_from_s, self.measured_to_s, "fixed")

    def _window(self, from_s: float, to_s: float, method: str) -> Window:
        return Window(from_s=from_s, to_s=to_s, method=method, held=self.held_within(from_s, to_s))

    def held_within(self, from_s: float, to_s: float) -> tuple[tuple[float, float], ...]:
        """The parts of an interval of the load during which it was held back."""
        ends = ((each.from_s, to_s if each.to_s is None else each.to_s) for each in self.held)
        cut = ((max(begin, from_s), min(end + _COMING_BACK_S, to_s)) for begin, end in ends)
        return tuple((begin, end) for begin, end in cut if begin < end)

    def add(self, entry: StepEntry) -> None:
        """Add the journal's next line."""
        match entry:
            case EngineEntry():
                self._add_record(entry.record, entry.at_s)
            case StepEnd():
                self.end = entry
            case Changed():
                self.changes.append(entry.change)
            case HoldBegin() | HoldEnd():
                self._add_hold(entry)
            case Note():
                self.notes.append(entry.text)
            case SourceEntry():
                self.source_states.append(entry.state)
            case HotSpotsEntry():
                self.hot_spots = entry.hot_spots
            case SourceFacts():
                self.source_facts = entry.facts
            case LedgerEntry():
                self.ledger = entry.verdicts

    def _add_hold(self, entry: HoldBegin | HoldEnd) -> None:
        if isinstance(entry, HoldBegin):
            known = entry.model_dump(include={"from_s", "condition", "value"})
            self.held.append(HeldBack(to_s=None, **known))
        elif self.held:
            self.held[-1] = self.held[-1].model_copy(update={"to_s": entry.to_s})

    def _add_record(self, record: StepRecord, at_s: float) -> None:
        match record:
            case Connected():
                self.connected = record
                self.load_began_s = at_s
            case Sample():
                for member in record.members:
                    self._check(member.tally)
                self._add_tally(record.tally)
                self._add_interval(record)
            case Outage():
                self.outages.append(record)
            case FirstError():
                if all(record.code != error.code for error in self.first_errors):
                    self.first_errors.append(record)
            case GeneratorState():
                self.generators.append(record)
            case End():
                self._add_tally(record.tally)

    def is_changed(self, sample: Sample) -> bool:
        """Whether the load had been changed by hand before the sample."""
        return bool(self.changes) and sample.from_s >= self.measured_to_s

    def _add_tally(self, tally: Tally) -> None:
        self.tally = tally
        self._check(tally)

    def _check(self, tally: Tally) -> None:
        if self.unbalanced is None and not tally.balances():
            self.unbalanced = tally

    def _add_interval(self, sample: Sample) -> None:
        if sample.phase == "window" and not self.changes:
            if self.measured_from_s is None:
                self.measured_from_s = sample.from_s
            self.measured_to_s = sample.to_s


def in_window(sample: Sample, window: Window | None) -> bool:
    """Whether the sample counts: its middle lies in the window, and it was not held back."""
    if window is None or sample.phase == "drain":
        return False
    return window.has(sample.from_s, sample.to_s)
