"""One step, from its first connection to its row in the result: driven, sampled, recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from loadstone import engine
from loadstone.engine import Steerable
from loadstone.lab.protection.protector import Protector
from loadstone.lab.protection.watch import Met, Watch
from loadstone.lab.step.control import Steering, Wishes
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.listener import Observer
from loadstone.lab.step.sampling import StepSampling
from loadstone.lab.step.suspend import Asleep
from loadstone.lab.tables.ledger_check import check_books
from loadstone.model.engine_plan import book_of, step_document
from loadstone.model.figure import General, Number, Short
from loadstone.model.message import Message, plain, say, user_count
from loadstone.model.observed import Observation, SourceName
from loadstone.model.plan import Plan, Step, WarmupAuto
from loadstone.model.records import (
    Complaint,
    Connected,
    End,
    EngineFailure,
    GeneratorState,
    Outage,
    Sample,
    StepRecord,
    Stuck,
)
from loadstone.model.result import Aborted, LevelChange, StepResult, StepState
from loadstone.model.target import Endpoint
from loadstone.observe.sampler import Sampling, Seen
from loadstone.runs.journal import Conditions, Settled, held_back, let_go_on
from loadstone.runs.ledger import read_books
from loadstone.runs.recorder import Recorder
from loadstone.servers.errors import TargetError

_FIRST_SERVER = SourceName(role="server")


class Truncated(Protocol):
    """How many leading seconds a rule drops, and whether the series ever settled."""

    @property
    def leave_out(self) -> int:
        """Leading seconds to drop."""

    @property
    def settled(self) -> bool | None:
        """Whether the series settled; `None` when not evaluated."""

    @property
    def rule(self) -> str:
        """The rule's name."""


Settle = Callable[[Sequence[float], Sequence[float] | None], Truncated]
"""The rule of `--warmup auto`, over the events per second and, where known, the pages read into the
first server's buffer pool in the same seconds; provided by a layer that knows rules."""


Start = Callable[[str], engine.Steerable]
"""Starts a step from its document for the engine."""


def _never(step: StepResult) -> bool:
    return False


@dataclass(frozen=True)
class Lab:
    """Everything that a run's steps share."""

    endpoints: tuple[Endpoint, ...]
    recorder: Recorder
    observer: Observer
    interrupts: Interrupts
    settle: Settle
    sampling: Sampling | None = None
    """Samples servers and hosts during the run; `None`: nothing is sampled."""

    conditions: Conditions | None = None
    """Conditions of the steps, where they differ from the run's."""

    may_change: bool = True
    """Whether rate and users of a running step may be changed by hand."""
    confirm: Callable[[], Sequence[Message]] | None = None
    """Checks right before each step that the targets are as they were when the run began; raises
    `LoadstoneError` if they are not. `None`: nothing that matters can change."""

    protector: Protector | None = None
    """Keeps the load from harming others; `None`: there is no protection."""

    start: Start = engine.start
    """Starts steps on the engine of this machine, or on several other machines."""

    drives_again: Callable[[StepResult], bool] = _never
    """Whether a failed step is driven again instead of ending the run."""

    def look(self, step: Step) -> StepSampling | None:
        """What is sampled along with a step."""
        if self.sampling is None:
            return None
        return StepSampling(step, self.recorder, self.sampling, self.endpoints[0])

    def close(self) -> None:
        """Release the samplers and the folder."""
        if self.sampling:
            self.sampling.close()
        self.recorder.close()

    def note(self, text: Message, step: Step | None = None) -> None:
        """Store a note, and show it."""
        self.recorder.note(text, step)
        self.observer.on_note(text)

    def more_steps(self, number: int, why: Message) -> None:
        """Announce steps beyond the plan; `why` may be empty."""
        if why:
            self.note(why)
        self.observer.on_more_steps(number)


def drive_step(plan: Plan, step: Step, lab: Lab) -> StepResult:
    """Drive one step, from its first connection to its row in the result."""
    settles = isinstance(plan.warmup, WarmupAuto)
    watched = _Watched(step, lab, looking=lab.look(step), settles=settles)
    lab.observer.on_step_begin(step)
    lab.recorder.begin_step(step, lab.conditions)
    asleep = Asleep()
    if watched.looking:
        watched.looking.begin()
    with watched.protected(plan.drive.idle):
        # A condition that is already met without our load keeps the step from starting.
        if not lab.interrupts.asked:
            _drive(plan, watched)
    watched.end_looking()
    if slept_s := asleep.seconds():
        suspended = say(
            "this machine was suspended for {seconds} s: do not compare this step",
            seconds=Short(round(slept_s, 1)),
        )
        lab.note(suspended, step)
    if book_of(plan, step):
        keep_verdicts(step, lab)
    settled = watched.settled(lab.settle) if settles else None
    result = lab.recorder.end_step(step, watched.state, watched.error, settled)
    lab.observer.on_step_end(step, result)
    return result


def _drive(plan: Plan, watched: _Watched) -> None:
    """Drive the step from its first connection to its last record."""
    step, lab = watched.step, watched.lab
    job = lab.start(step_document(plan, step, lab.endpoints))
    wishes = Wishes(lab.recorder.folder)
    watched.steering = Steering(step, job, wishes, lab.interrupts, lab.may_change)
    follow(job, watched.take, lab.interrupts, watched.keep_what_was_seen)


def keep_verdicts(step: Step, lab: Lab) -> None:
    """Compare the entries that a step's generator knows of with those that the targets have.

    A target that does not answer now may be asked later: that is noted, and ends nothing.
    """
    folder = lab.recorder.folder
    try:
        verdicts = check_books(read_books(folder)[step.number], lab.endpoints)
    except TargetError as error:
        lab.note(
            say(
                "the ledger was not compared: {why}; when the server is back: loadstone ledger "
                "check {folder} --target URL",
                why=error.message,
                folder=str(folder),
            ),
            step,
        )
        return
    lab.recorder.ledger(step, verdicts)


def _lost(generator: GeneratorState) -> Message:
    return say(
        "generator {number} on {node} was lost {at} s after the load started, and {users} with it: "
        "{why}",
        number=generator.number,
        node=generator.node,
        at=General(generator.at_s),
        users=user_count(generator.users),
        why=generator.reason,
    )


@dataclass
class _Watched:
    """Passes a step's records on to the folder and to the observer."""

    step: Step
    lab: Lab
    end: End | None = None
    cut_off: Outage | None = None
    settles: bool = False
    """Whether a rule decides when the load has settled: only that needs the seconds, and a step may
    have very many."""
    seconds: list[tuple[float, float, float]] = field(default_factory=list)
    looking: StepSampling | None = None
    steering: Steering | None = None
    watch: Watch | None = None
    is_held: bool = False
    """Whether new events are held back now."""
    was_held: bool = False
    """Whether events were held back at any moment since the end of the last second."""
    is_changed: bool = False
    """Whether the load differs from the requested one."""
    load_began_s: float = 0.0
    pool_reads: list[tuple[float, float]] = field(default_factory=list)
    """Pages per second that the first server read, each with the middle of its interval in seconds
    since the load began."""

    @contextmanager
    def protected(self, idle: int) -> Iterator[None]:
        """Watch that nobody is harmed, from before the load to its end.

        Raises:
            ConditionError, TargetError: a requested condition cannot be watched.
        """
        lab, protector = self.lab, self.lab.protector
        if protector:
            self.watch = protector.begin(
                lab.endpoints,
                self.step.concurrency + idle,
                lab.sampling,
                lab.recorder.began,
                lambda: lab.interrupts.asked,
            )
        try:
            while protector and protector.notes:
                self._say(protector.notes.pop(0))
            self.keep_what_was_seen()
            yield
        finally:
            if self.watch:
                self.watch.close()

    def keep_what_was_seen(self) -> None:
        """Store what the samplers and the watch have reported since."""
        self._take_seen(self.looking.keep() if self.looking else ())
        if self.end is not None:
            return
        if self.steering:
            self.steering.look(self._load_s, self._keep_change, self._say)
        if self.watch:
            self._spare(self.watch)

    def _spare(self, watch: Watch) -> None:
        """End the load, hold it back or let it continue, as the watched conditions require."""
        for line in watch.look():
            self._say(line)
        if self.lab.interrupts.asked:
            return
        now_s = time.monotonic() - self.lab.recorder.began
        if met := watch.to_abort(now_s):
            self._abort(met)
        elif self.steering and self.load_began_s:
            self._hold(self.steering.job, watch.to_hold(now_s))

    def _abort(self, met: Met) -> None:
        condition, at_s = met.condition, self._load_s
        said = met.aborts(at_s)
        aborted = Aborted(
            condition=condition.text,
            is_default=met.is_default,
            figure=condition.figure,
            place=met.place,
            value=met.value,
            limit=condition.limit,
            step=self.step.number,
            at_s=at_s,
            said=said,
        )
        self.lab.recorder.aborted(self.step, aborted)
        self._say(said)
        self.lab.interrupts.ask()

    def _hold(self, job: Steerable, met: Met | None) -> None:
        if (met is not None) == self.is_held:
            return
        at_s = self._load_s
        job.hold(met is not None)
        self.is_held = met is not None
        self.was_held = True
        if met is None:
            at_s = self._load_s
            self.lab.recorder.hold_ends(self.step, at_s)
            self.lab.observer.on_note(let_go_on(at_s))
            return
        self.lab.recorder.hold_begins(self.step, at_s, met.condition.text, met.value)
        self.lab.observer.on_note(held_back(at_s, met.condition.text))

    @property
    def _load_s(self) -> float:
        """Seconds since the start of the load; 0 before it."""
        if not self.load_began_s:
            return 0.0
        return round(time.monotonic() - self.lab.recorder.began - self.load_began_s, 3)

    def _keep_change(self, change: LevelChange) -> None:
        self.is_changed = True
        self.lab.recorder.changed(self.step, change)
        self.lab.observer.on_note(
            say(
                "users set to {value} by hand at {at} s",
                value=Number(change.value),
                at=round(change.at_s),
            )
            if change.what == "users"
            else say(
                "rate set to {value} by hand at {at} s",
                value=Number(change.value),
                at=round(change.at_s),
            )
        )

    def _say(self, text: Message) -> None:
        self.lab.note(text, self.step)

    def end_looking(self) -> None:
        """Store what the samplers report after all load is over."""
        if self.looking:
            self._take_seen(self.looking.end(hurried=lambda: self.lab.interrupts.asked_again))

    def _take_seen(self, told: Sequence[Seen]) -> None:
        if self.watch:
            self.watch.take_seen(told)
        for seen in told if self.settles else ():
            if isinstance(seen, Observation) and seen.source == _FIRST_SERVER:
                self._take_pool_reads(seen)

    def _take_pool_reads(self, seen: Observation) -> None:
        pages = seen.deltas.get("buffer_pool_reads")
        if pages is not None and seen.seconds > 0:
            middle = (seen.from_s + seen.to_s) / 2 - self.load_began_s
            self.pool_reads.append((middle, pages / seen.seconds))

    def take(self, record: StepRecord) -> bool:
        self.lab.recorder.record(self.step, record)
        self.keep_what_was_seen()
        match record:
            case Connected():
                self.load_began_s = time.monotonic() - self.lab.recorder.began
                if self.looking:
                    self.looking.align()
                self.lab.observer.on_connected(self.step, record)
            case Sample():
                self._take_sample(record)
            case Outage() if record.to_s is None and record.users >= self.step.concurrency:
                self.cut_off = record
            case Stuck():
                stuck = say(
                    "{place}: the script has run for {seconds} s without a statement",
                    place=record.place,
                    seconds=round(record.seconds),
                )
                self.lab.note(stuck, self.step)
            case Complaint():
                self.lab.note(plain(record.message), self.step)
            case GeneratorState() if record.state == "lost":
                self.lab.note(_lost(record), self.step)
            case GeneratorState() if record.state == "absent":
                absent = say(
                    "without the generator on {node}: {why}", node=record.node, why=record.reason
                )
                self.lab.note(absent, self.step)
            case End():
                self.end = record
                return True
        return False

    def _take_sample(self, sample: Sample) -> None:
        held, self.was_held = self.was_held, self.is_held
        if self.watch:
            self.watch.take_sample(sample, self.load_began_s + sample.to_s, is_held=held)
        counts = sample.phase == "window" and sample.seconds > 0 and not self.is_changed
        if self.settles and counts and not held:
            rate = sample.counts.events / sample.seconds
            self.seconds.append((sample.from_s, sample.to_s, rate))
        self.lab.observer.on_sample(self.step, sample)

    @property
    def state(self) -> StepState:
        """The step's state: stopped if nobody waited for its end, failed if its target is gone."""
        if self.end and self.end.reason == "finished" and self.cut_off:
            return "failed"
        return self.end.reason if self.end else "stopped"

    @property
    def error(self) -> EngineFailure | None:
        if self.end and self.end.error:
            return self.end.error
        if self.cut_off is None or self.state != "failed":
            return None
        gone = say("all connections were lost and none came back: {why}", why=self.cut_off.reason)
        return EngineFailure(kind="unreachable", message=gone)

    def settled(self, settle: Settle) -> Settled | None:
        if not self.seconds:
            return None
        # The last interval may be a fraction of a second and would count as a whole one.
        whole = [each for each in self.seconds if each[1] - each[0] > 0.5]
        found = settle([rate for _, _, rate in whole], self._reads_of(whole))
        return Settled(
            from_s=self.seconds[found.leave_out][0],
            to_s=self.seconds[-1][1],
            steady=found.settled,
            method=found.rule,
        )

    def _reads_of(self, seconds: Sequence[tuple[float, float, float]]) -> list[float] | None:
        """The pages read in each second; `None` if one of the seconds was not sampled."""
        found: list[float] = []
        for from_s, to_s, _ in seconds:
            inside = [rate for middle, rate in self.pool_reads if from_s <= middle < to_s]
            if not inside:
                return None
            found.append(sum(inside) / len(inside))
        return found
