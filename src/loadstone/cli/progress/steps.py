"""What a person sees on stderr while steps are driven: a live table, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from loadstone.lab.step.listener import Observer
from loadstone.model.numbers import NOTHING, asked, count, duration, number_of, rate
from loadstone.model.plan import Open, Plan, Step
from loadstone.model.quantity import LONGEST_S
from loadstone.model.records import Sample
from loadstone.model.result import StepResult
from loadstone.report.step_table import FIGURES, due_cells, step_cells, step_columns
from loadstone.report.table import Table
from loadstone.runner.view import Silence

LINE_EVERY_S = 10.0
"""How often a plain line says how a step goes."""


@contextmanager
def watching(plan: Plan, steps: int | None, *, quiet: bool) -> Iterator[Observer]:
    """The view that fits stderr: a live table in a terminal, lines elsewhere, or nothing."""
    if sys.stderr.isatty() and not quiet:
        view = LiveTable(plan, steps)
        # Drawn when there is something new, about once a second: it takes from what is measured.
        console = Console(stderr=True)
        live = Live(view, console=console, auto_refresh=False, transient=True)
        with _drawn(live):
            view.redraw = _unless_gone(live.refresh)
            yield view
    elif quiet:
        yield Silence()
    else:
        yield PlainLines(plan, steps)


@contextmanager
def time_left(plan: Plan, steps: int | None, *, quiet: bool) -> Iterator[Observer]:
    """Lines, and now and then how long the rest takes: for experiments, which may take hours."""
    yield Silence() if quiet else TimeLeft(plan, steps)


@contextmanager
def _drawn(live: Live) -> Iterator[None]:
    """Begun and ended on a terminal that may be closed at any time."""
    _unless_gone(live.start)()
    try:
        yield
    finally:
        _unless_gone(live.stop)()


def _unless_gone(draw: Callable[[], None]) -> Callable[[], None]:
    """A closed terminal fails whoever writes to it, before SIGHUP says so: it ends no run."""

    def drawn() -> None:
        with suppress(OSError):
            draw()

    return drawn


class PlainLines(Silence):
    """A line when a step begins, every ten seconds, and when it ends."""

    def __init__(self, plan: Plan, steps: int | None) -> None:
        self._plan = plan
        self._steps = steps
        self._said_at_s = 0.0

    def on_step_begin(self, step: Step) -> None:
        """Which one, and how many users."""
        self._said_at_s = 0.0
        _say(f"{_place(step, self._steps)}: connecting")

    def on_sample(self, step: Step, sample: Sample) -> None:
        """How it goes, now and then."""
        if sample.to_s - self._said_at_s >= LINE_EVERY_S - 0.5:
            self._said_at_s = sample.to_s
            parts = [second_line(self._plan, sample), *member_lines(sample)]
            _say(f"{_place(step, self._steps)}: {'; '.join(parts)}")

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """What came out."""
        response = result.latency.response
        _say(
            f"{_place(step, self._steps)}: {result.state}, {rate(result.tps)} tps, "
            f"{rate(result.qps)} qps, p95 {rate(response.p95)} ms, p99 {rate(response.p99)} ms, "
            f"{number_of(sum(result.errors.values()), 'error')}"
        )

    def on_note(self, text: str) -> None:
        """Worth a line."""
        _say(f"note: {text}")


class TimeLeft(PlainLines):
    """The same, and now and then how long the rest takes: for runs of hours."""

    def __init__(self, plan: Plan, steps: int | None) -> None:
        super().__init__(plan, steps)
        self._began: tuple[float, int] | None = None
        self._said_at = time.monotonic()

    def on_step_begin(self, step: Step) -> None:
        """By what the steps so far took, with all that is done between them."""
        now = time.monotonic()
        began, first = self._began = self._began or (now, step.number)
        left = (self._steps or 0) + 1 - step.number
        if step.number > first and left > 0 and now - self._said_at >= LINE_EVERY_S:
            self._said_at = now
            _say(f"about {duration(left * (now - began) / (step.number - first))} left")
        super().on_step_begin(step)


class LiveTable(Silence):
    """One row a step, the current second on top."""

    def __init__(self, plan: Plan, steps: int | None) -> None:
        self._plan = plan
        self._steps = steps
        self._done: list[StepResult] = []
        self._notes: list[str] = []
        self._step: Step | None = None
        self._sample: Sample | None = None
        self.redraw: Callable[[], None] = _nowhere

    def on_step_begin(self, step: Step) -> None:
        """A new last row."""
        self._step, self._sample = step, None
        self.redraw()

    def on_sample(self, step: Step, sample: Sample) -> None:
        """The current second."""
        self._sample = sample
        self.redraw()

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """The row gets its final figures."""
        self._step = None
        self._done.append(result)
        self.redraw()

    def on_note(self, text: str) -> None:
        """Below the table."""
        self._notes.append(text)
        self.redraw()

    def __rich__(self) -> RenderableType:
        """The view at this moment."""
        rates = is_open(self._plan)
        rows = [tuple(step_cells(result, rates=rates)) for result in self._done]
        if self._step:
            rows.append(tuple(self._running(self._step)))
        columns = step_columns(repeats=False, rates=rates)
        table = Table(columns, tuple(rows), styles={len(self._done): "dim"})
        notes = [Text(f"note  {text}", "dim") for text in self._notes]
        members = [
            Text(f"  {line}") for line in (member_lines(self._sample) if self._sample else ())
        ]
        return Group(Text(self._top(), "bold"), *members, Text(), table, *notes)

    def _top(self) -> str:
        if self._step is None:
            return "finishing" if len(self._done) == self._steps else "next step"
        place = _place(self._step, self._steps)
        if self._sample is None:
            return f"{place}: connecting"
        return f"{place}: {second_line(self._plan, self._sample)}"

    def _running(self, step: Step) -> list[str]:
        due = due_cells(step.rate, rates=is_open(self._plan))
        cells = [count(step.concurrency), *due]
        if self._sample is not None:
            cells += _cells_of_second(self._sample)
        return cells + [NOTHING] * (2 + len(due) + len(FIGURES) - len(cells))


def _nowhere() -> None:
    """A table that is on no screen has nowhere to be drawn."""


def second_line(plan: Plan, sample: Sample) -> str:
    """`window 12 s of 30 s, 1,234 tps, p95 12.3 ms, 64 users`."""
    tps, _, _, p95, *_ = _cells_of_second(sample)
    errors = sum(sample.errors.values())
    said = f"{_place_in(plan, sample)}, {tps} tps, p95 {p95} ms"
    if is_open(plan):
        said += f", {count(sample.tally.waiting)} waiting"
    if plan.drive.reconnect_after:
        said += f", {rate(sample.counts.connects / (sample.seconds or 1.0))} connects/s"
    if sample.idle and sample.idle.open < plan.drive.idle:
        said += f", {count(sample.idle.open)} of {count(plan.drive.idle)} idle"
    return said + (f", {number_of(errors, 'error')}" if errors else "")


def _place_in(plan: Plan, sample: Sample) -> str:
    """`window 12 of 30 s`, or `ramp 12 of 2 min, 16..256 users`."""
    begin = 0.0
    for phase in plan.phases:
        if sample.to_s <= begin + phase.seconds and sample.phase != "drain":
            unit = " users" if phase.users else ""
            done = sample.to_s - begin
            return f"{phase.name} {done:.0f} of {duration(phase.seconds)}, {phase}{unit}"
        begin += phase.seconds
    lasts = plan.warmup_s if sample.phase == "warmup" else plan.duration_s
    done = sample.to_s - (0.0 if sample.phase == "warmup" else plan.warmup_s)
    if lasts >= LONGEST_S:
        return f"{sample.phase} {duration(done)}"
    return f"{sample.phase} {done:.0f} of {duration(lasts)}"


def member_lines(sample: Sample) -> list[str]:
    """A line for each workload of a mix: `shop 1,234 tps, p95 12.3 ms`."""
    lines = []
    for member in sample.members:
        p95 = member.latency_ns.response.p95
        shown = rate(None if p95 is None else p95 / 1e6)
        events = rate(member.counts.events / (sample.seconds or 1.0))
        errors = sum(member.errors.values())
        said = f"{member.name} {events} tps, p95 {shown} ms"
        lines.append(said + (f", {number_of(errors, 'error')}" if errors else ""))
    return lines


def is_open(plan: Plan) -> bool:
    """Whether some step has a rate of its own."""
    return isinstance(plan.drive.arrival, Open)


def _cells_of_second(sample: Sample) -> list[str]:
    seconds = sample.seconds or 1.0
    latency = sample.latency_ns.response
    quantiles = (latency.p50, latency.p95, latency.p99, latency.max)
    queries = sample.counts.queries
    return [
        rate(sample.counts.events / seconds),
        rate(queries / seconds),
        *(rate(None if value is None else value / 1e6) for value in quantiles),
        rate(sum(sample.errors.values()) / seconds),
        count(sample.counts.reconnects),
        rate(sample.generator.cpu_us / queries if queries else None),
    ]


def _place(step: Step, steps: int | None) -> str:
    due = f", {asked(step.rate)} events/s" if step.rate else ""
    of_all = f" of {steps}" if steps and step.number <= steps else ""
    variant = "" if step.variant == "default" else f" ({step.variant}, {step.workload})"
    return f"step {step.number}{of_all}{variant}, {number_of(step.concurrency, 'user')}{due}"


def _say(line: str) -> None:
    with suppress(OSError):  # a full or broken stderr ends no run
        print(line, file=sys.stderr, flush=True)
