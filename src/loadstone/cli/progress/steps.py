"""Progress on stderr while steps are driven: a live table, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import reduce

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from loadstone.cli.language import by_text, current, in_words
from loadstone.cli.progress.searching import Searching
from loadstone.cli.screen import width_of
from loadstone.lab.step.listener import Observer
from loadstone.model.asked_rate import asked
from loadstone.model.figure import Count, Rate, Seconds
from loadstone.model.message import Joined, Message, counted, plain, say, say_in, user_count
from loadstone.model.numbers import NOTHING, count, rate
from loadstone.model.plan import Open, Plan, Step
from loadstone.model.quantity import LONGEST_S
from loadstone.model.records import Sample
from loadstone.model.result import StepResult
from loadstone.report.step_table import FIGURES, due_cells, step_cells, step_columns
from loadstone.report.table import Table
from loadstone.runner.view import Silence

LINE_EVERY_S = 10.0
"""How often a plain line is printed during a step."""


@contextmanager
def watching(
    plan: Plan, steps: int | None, *, quiet: bool, searches: int = 1
) -> Iterator[Observer]:
    """The view that fits stderr: a live table in a terminal, lines elsewhere, or nothing."""
    if sys.stderr.isatty() and not quiet:
        view = LiveTable(plan, steps, searches=searches)
        # Drawn only on news, about once a second, because drawing disturbs the measurement.
        console = Console(stderr=True, width=width_of(sys.stderr))
        live = Live(view, console=console, auto_refresh=False, transient=True)
        with _drawn(live):
            view.redraw = _unless_gone(live.refresh)
            yield view
    elif quiet:
        yield Silence()
    else:
        yield TimeLeft(plan, steps, searches)


@contextmanager
def time_left(
    plan: Plan, steps: int | None, *, quiet: bool, searches: int = 1
) -> Iterator[Observer]:
    """An observer that prints lines, and now and then the time left: for experiments of hours."""
    yield Silence() if quiet else TimeLeft(plan, steps, searches)


@contextmanager
def _drawn(live: Live) -> Iterator[None]:
    """Start and stop the table on a terminal that may be closed at any time."""
    _unless_gone(live.start)()
    try:
        yield
    finally:
        _unless_gone(live.stop)()


def _unless_gone(draw: Callable[[], None]) -> Callable[[], None]:
    """Ignore errors of drawing: a closed terminal, which fails even before SIGHUP, ends no run."""

    def drawn() -> None:
        with suppress(OSError):
            draw()

    return drawn


class PlainLines(Silence):
    """Prints a line when a step starts, every ten seconds, and when it ends."""

    def __init__(self, plan: Plan, steps: int | None, searches: int = 1) -> None:
        self._plan = plan
        self._steps = steps
        self._begun = 0
        self._said_at_s = 0.0
        self._searching = Searching(plan, searches)

    def on_more_steps(self, number: int) -> None:
        """They belong to those that were planned from here on."""
        self._searching.more(number)
        if self._steps is not None:
            self._steps = max(self._steps, self._begun) + number

    def on_step_begin(self, step: Step) -> None:
        """Print the step and its number of users."""
        self._begun += 1
        self._said_at_s = 0.0
        _say(say("{step}: connecting", step=_place(step, self._steps)))

    def on_sample(self, step: Step, sample: Sample) -> None:
        """Print the progress, now and then."""
        if sample.to_s - self._said_at_s >= LINE_EVERY_S - 0.5:
            self._said_at_s = sample.to_s
            parts = [second_line(self._plan, sample), *member_lines(sample)]
            _say(_with(_place(step, self._steps), Joined(parts, "clauses")))

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """Print the result."""
        if result.tps is None:
            _say(_with(_place(step, self._steps), plain(by_text(result.state))))
            return
        response = result.latency.response
        said = say(
            "{state}, {tps} tps, {qps} qps, p95 {p95} ms, p99 {p99} ms, {errors}",
            state=by_text(result.state),
            tps=Rate(result.tps),
            qps=Rate(result.qps),
            p95=response.figure("p95"),
            p99=response.figure("p99"),
            errors=_errors(sum(result.errors.values())),
        )
        parts = [said, *self._searching.told(result)]
        _say(_with(_place(step, self._steps), Joined(parts, "clauses")))

    def on_note(self, text: str) -> None:
        """Print the note."""
        _say(say("note: {note}", note=text))


class TimeLeft(PlainLines):
    """Prints plain lines, and now and then the time left."""

    def __init__(
        self,
        plan: Plan,
        steps: int | None,
        searches: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(plan, steps, searches)
        self._clock = clock
        self._started: float | None = None
        self._said_last = clock()

    def on_step_begin(self, step: Step) -> None:
        """Print an estimate based on the steps so far and the time between them."""
        now = self._clock()
        started = self._started = now if self._started is None else self._started
        self._searching.begins(step)
        if self._begun and now - self._said_last >= LINE_EVERY_S:
            for said in self._left(now - started):
                self._said_last = now
                _say(said)
        super().on_step_begin(step)

    def _left(self, elapsed_s: float) -> Iterator[Message]:
        left = (self._steps or 0) - self._begun
        if left > 0:
            left_s = left * elapsed_s / self._begun
            yield say("about {time} left", time=Seconds(round(left_s)))
        elif self._steps is None:
            yield from self._searching.left(elapsed_s)


class LiveTable(Silence):
    """A table with one row per step, and the current second on top."""

    def __init__(
        self,
        plan: Plan,
        steps: int | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        searches: int = 1,
    ) -> None:
        self._clock = clock
        self._plan = plan
        self._steps = steps
        self._done: list[StepResult] = []
        self._searching = Searching(plan, searches)
        self._verdict: list[Message] = []
        self._of_search: list[Message] = []
        self._notes: list[str] = []
        self._step: Step | None = None
        self._sample: Sample | None = None
        self._started: float | None = None
        self._step_started = 0.0
        self.redraw: Callable[[], None] = _nowhere

    def on_step_begin(self, step: Step) -> None:
        """Add a row."""
        self._step, self._sample = step, None
        self._step_started = self._clock()
        if self._started is None:
            self._started = self._step_started
        self._searching.begins(step)
        self._of_search = list(self._searching.left(self._step_started - self._started))
        self.redraw()

    def on_sample(self, step: Step, sample: Sample) -> None:
        """Show the current second."""
        self._sample = sample
        self.redraw()

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """Put the final figures into the row."""
        self._step = None
        self._done.append(result)
        self._verdict = self._searching.told(result)
        self.redraw()

    def on_note(self, text: str) -> None:
        """Show the note below the table."""
        self._notes.append(text)
        self.redraw()

    def __rich__(self) -> RenderableType:
        """The view at this moment."""
        rates = is_open(self._plan)
        rows = [tuple(step_cells(result, rates=rates, words=current())) for result in self._done]
        if self._step:
            rows.append(tuple(self._running(self._step)))
        columns = step_columns(repeats=False, rates=rates, words=current())
        table = Table(columns, tuple(rows), styles={len(self._done): "dim"})
        notes = [Text(in_words(say("note  {note}", note=text)), "dim") for text in self._notes]
        lines = [*(member_lines(self._sample) if self._sample else ()), *self._so_far()]
        members = [Text(f"  {in_words(line)}") for line in lines]
        return Group(Text(in_words(self._top()), "bold"), *members, Text(), table, *notes)

    def _so_far(self) -> Iterator[Message]:
        if self._verdict:
            yield say("last step: {verdict}", verdict=Joined(self._verdict, "clauses"))
        yield from self._of_search

    def _top(self) -> Message:
        if self._step is None:
            return say("finishing") if len(self._done) == self._steps else say("next step")
        place = _place(self._step, self._steps)
        what = second_line(self._plan, self._sample) if self._sample else say("connecting")
        left_s = self._left_s()
        if left_s is None:
            return _with(place, what)
        left = say("about {time} left", time=Seconds(round(left_s)))
        return _with(place, _listed([what, left]))

    def _left_s(self) -> float | None:
        """The time left, if the steps go on taking as long as those so far; `None`: not known."""
        if not self._done or self._steps is None or self._started is None:
            return None
        of_a_step = (self._step_started - self._started) / len(self._done)
        done_s = self._sample.to_s if self._sample else 0.0
        here_s = max(self._plan.warmup_s + self._plan.duration_s - done_s, 0.0)
        return here_s + max(self._steps - len(self._done) - 1, 0) * of_a_step

    def _running(self, step: Step) -> list[str]:
        due = due_cells(step.rate, rates=is_open(self._plan), words=current())
        cells = [count(step.concurrency), *due]
        if self._sample is not None:
            cells += _cells_of_second(self._sample)
        return cells + [NOTHING] * (2 + len(due) + len(FIGURES) - len(cells))


def _nowhere() -> None:
    """Draw nothing: the table is not on a screen."""


def second_line(plan: Plan, sample: Sample) -> Message:
    """The current second: `window 12 of 30 s, 1,234 tps, p95 12.3 ms`."""
    tps, _, _, p95, *_ = _cells_of_second(sample)
    parts = [_place_in(plan, sample), _throughput(tps, p95)]
    if is_open(plan):
        parts.append(say("{number} waiting", number=Count(sample.tally.waiting)))
    if plan.drive.reconnect_after:
        by_second = sample.counts.connects / (sample.seconds or 1.0)
        parts.append(say("{rate} connects/s", rate=Rate(by_second)))
    if sample.idle and sample.idle.open < plan.drive.idle:
        idle = {"number": Count(sample.idle.open), "of": Count(plan.drive.idle)}
        parts.append(say("{number} of {of} idle", **idle))
    return _listed([*parts, *_any_errors(sample.errors)])


def _place_in(plan: Plan, sample: Sample) -> Message:
    """The position in the step: `window 12 of 30 s`, or `ramp 12 of 2 min, 16..256 users`."""
    start = 0.0
    for phase in plan.phases:
        if sample.to_s <= start + phase.seconds and sample.phase != "drain":
            place = _done_of(phase.name, sample.to_s - start, phase.seconds)
            load = say("{users} users", users=str(phase)) if phase.users else plain(str(phase))
            return _listed([place, load])
        start += phase.seconds
    lasts = plan.warmup_s if sample.phase == "warmup" else plan.duration_s
    done = sample.to_s - (0.0 if sample.phase == "warmup" else plan.warmup_s)
    if lasts >= LONGEST_S:
        return say("{phase} {time}", phase=by_text(sample.phase), time=Seconds(done))
    return _done_of(by_text(sample.phase), done, lasts)


def _done_of(phase: str, done_s: float, of_s: float) -> Message:
    return say("{phase} {done} of {time}", phase=phase, done=f"{done_s:.0f}", time=Seconds(of_s))


PHASES = (say("warmup"), say("window"), say("drain"))
STATES = (say("finished"), say("stopped"), say("failed"), say("interrupted"))
"""The engine's words for the states, as in result.json."""


def member_lines(sample: Sample) -> list[Message]:
    """A line for each workload of a mix: `shop 1,234 tps, p95 12.3 ms`."""
    lines = []
    for member in sample.members:
        p95 = member.latency_ns.response.p95
        events = rate(member.counts.events / (sample.seconds or 1.0))
        figures = _throughput(events, rate(None if p95 is None else p95 / 1e6))
        said = say("{workload} {figures}", workload=member.name, figures=figures)
        lines.append(_listed([said, *_any_errors(member.errors)]))
    return lines


def _throughput(tps: str, p95: str) -> Message:
    return say("{tps} tps, p95 {p95} ms", tps=tps, p95=p95)


def _any_errors(errors: Mapping[str, int]) -> list[Message]:
    return [_errors(sum(errors.values()))] if any(errors.values()) else []


def _errors(number: int) -> Message:
    return counted("1 error", "{number} errors", number)


def _listed(parts: Sequence[Message]) -> Message:
    return reduce(
        lambda one, other: say_in("progress", "{first}, {second}", first=one, second=other), parts
    )


def _with(place: Message, what: Message | Joined) -> Message:
    return say_in("joined", "{first}: {second}", first=place, second=what)


def is_open(plan: Plan) -> bool:
    """Whether events are due by a schedule (open loop)."""
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


def _place(step: Step, steps: int | None) -> Message:
    known = steps if steps and step.number <= steps else None
    parts = [_numbered(step, known), user_count(step.concurrency)]
    if step.rate:
        parts.append(say("{rate} events/s", rate=asked(step.rate)))
    return _listed(parts)


def _numbered(step: Step, steps: int | None) -> Message:
    said = (
        say("step {number} of {steps}", number=step.number, steps=steps)
        if steps
        else say("step {number}", number=step.number)
    )
    if step.variant == "default":
        return said
    return say(
        "{step} ({variant}, {workload})", step=said, variant=step.variant, workload=step.workload
    )


def _say(line: Message) -> None:
    with suppress(OSError):  # a full or broken stderr ends no run
        print(in_words(line), file=sys.stderr, flush=True)
