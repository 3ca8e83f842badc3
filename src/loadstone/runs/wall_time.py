"""Adds up where a run's wall time went, from the clocks in its journal."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.plan import WATCHED
from loadstone.model.records import Connected, Sample
from loadstone.model.result import WallTime
from loadstone.runs.journal import EngineEntry, Entry, RunEnd, Settled, StepBegin, StepEnd


@dataclass
class _OpenStep:
    """A step whose end has not been read yet; times count from the start of the run."""

    from_s: float
    connected_s: float | None = None
    """When the load started; `None`: not yet."""
    warmed_up_s: float = 0.0
    """The end of the warm-up, in seconds since the load's start."""
    loaded_s: float = 0.0
    """The end of the window, likewise."""


@dataclass
class WallClock:
    """Reads a journal's lines in their order, also those of steps that were measured again.

    The time in which a run lay between a crash and its continuation is in none of its phases: each
    process reports how long it prepared.
    """

    preparing_s: float = 0.0
    connecting_s: float = 0.0
    warmup_s: float = 0.0
    window_s: float = 0.0
    closing_s: float = 0.0
    evaluating_s: float = 0.0
    _has_steps: bool = False
    _is_known: bool = True
    _step: _OpenStep | None = None
    _last_s: float = 0.0

    @property
    def wall_time(self) -> WallTime | None:
        """The phases so far; `None` if some are not known."""
        if not self._has_steps or not self._is_known:
            return None
        return WallTime(
            preparing_s=round(self.preparing_s, 3),
            connecting_s=round(self.connecting_s, 3),
            warmup_s=round(self.warmup_s, 3),
            window_s=round(self.window_s, 3),
            closing_s=round(self.closing_s, 3),
            evaluating_s=round(self.evaluating_s, 3),
        )

    def add(self, entry: Entry) -> None:
        """Add the next line."""
        match entry:
            case StepBegin():
                self._begin(entry)
            case EngineEntry(record=Connected() as record):
                self._connected(record, entry.at_s)
            case EngineEntry(record=Sample() as record):
                self._sampled(record)
            case StepEnd():
                self._end(entry.at_s, entry.settled)
            case RunEnd():
                self.evaluating_s += entry.evaluated_s
        self._last_s = entry.at_s

    def _begin(self, entry: StepBegin) -> None:
        self._end(self._last_s, None)  # the run was killed in the step before
        self._has_steps = True
        # Of a run that was only watched there are no phases.
        if entry.prepared_s is None or entry.step.workload == WATCHED:
            self._is_known = False
        self.preparing_s += entry.prepared_s or 0.0
        self.evaluating_s += entry.evaluated_s
        self._step = _OpenStep(entry.at_s)

    def _connected(self, record: Connected, at_s: float) -> None:
        step = self._step
        if step is None:
            return
        passed_s = max(at_s - step.from_s, 0.0)
        connecting_s = min(record.seconds, passed_s)
        self.connecting_s += connecting_s
        self.preparing_s += passed_s - connecting_s
        step.connected_s = at_s

    def _sampled(self, sample: Sample) -> None:
        if self._step is None:
            return
        if sample.phase == "warmup":
            self._step.warmed_up_s = max(self._step.warmed_up_s, sample.to_s)
        if sample.phase != "drain":
            self._step.loaded_s = max(self._step.loaded_s, sample.to_s)

    def _end(self, at_s: float, settled: Settled | None) -> None:
        step, self._step = self._step, None
        if step is None:
            return
        if step.connected_s is None:
            self.connecting_s += max(at_s - step.from_s, 0.0)
            return
        warmed_up_s = settled.from_s if settled else step.warmed_up_s
        self.warmup_s += min(warmed_up_s, step.loaded_s)
        self.window_s += max(step.loaded_s - warmed_up_s, 0.0)
        self.closing_s += max(at_s - step.connected_s - step.loaded_s, 0.0)
