"""Tests the findings of a run by experiment, each under the run's own load."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone import engine
from loadstone.analyse.repeat_until import more_wanted
from loadstone.analyse.steady import truncation
from loadstone.diagnosis.frames import RunSeconds
from loadstone.diagnosis.of_run import findings_of
from loadstone.diagnosis.trial_verdict import Tried, parts_of, proofs_of
from loadstone.experiments.runner import ExperimentContext, OfExperiment
from loadstone.experiments.schedule import schedule
from loadstone.experiments.servers import Servers
from loadstone.experiments.trials import (
    Deadline,
    Ground,
    Repeated,
    Timing,
    allotted,
    changed_since,
    experiment_of,
    least_seconds,
    throwaway_like,
    timing,
    why_not,
)
from loadstone.experiments.variants import step_plan
from loadstone.families import require
from loadstone.lab.protection.first_contact import look_before_load
from loadstone.lab.protection.protector import Protector
from loadstone.lab.step.listener import Observer
from loadstone.lab.step.loop import drive_steps
from loadstone.lab.step.runner import Lab
from loadstone.lab.tables.discover import Wanted
from loadstone.lab.tables.inspect import InspectedTarget, inspect_target
from loadstone.lab.variables.journal import LeftChanged
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment
from loadstone.model.figure import Seconds
from loadstone.model.finding import Diagnosis, Finding, NotTried, Trial
from loadstone.model.message import Joined, Message, plain, say
from loadstone.model.observe_request import Observing
from loadstone.model.plan import Plan
from loadstone.model.prove_request import Proving
from loadstone.model.result import Aborted, Result
from loadstone.runner.experiment import NoConsent, servers_with
from loadstone.runner.finished import left_is_told
from loadstone.runner.protection import Reach, protector_of
from loadstone.runner.recording import ExperimentAsked, Place, begin_run, looking
from loadstone.runner.view import PlannedTrial, Quiet, View
from loadstone.runs import run_folder, vouched
from loadstone.runs.errors import StoreError
from loadstone.runs.proofs import STEPS
from loadstone.runs.recorder import Asked
from loadstone.sandbox import sandbox_at
from loadstone.servers.guard import Consent


class NothingToProve(LoadstoneError):
    """The run's load cannot be driven again in alternation."""

    exit_code = ExitCode.PLAN


class TooShort(NothingToProve):
    """The time is not enough for a single trial."""


class TrialAborted(LoadstoneError):
    """A trial was stopped before it did harm, and no other is started."""

    exit_code = ExitCode.ABORTED

    def __init__(self, cause: str, found: Aborted) -> None:
        super().__init__(
            say(
                "proving {cause} was aborted: {place} met '{condition}'",
                cause=cause,
                place=found.place,
                condition=found.condition,
            ),
            say("what was proved before is kept"),
        )


@dataclass
class Proved:
    """The outcome of the proofs."""

    result: Result
    """The run's result, with the proofs."""
    not_tried: list[NotTried] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Server variables that were not restored, since another session has set them."""
    interrupted: bool = False


@dataclass(frozen=True)
class _Candidate:
    """A finding whose trial may be run."""

    finding: Finding
    trial: Trial
    of: Diagnosis
    users: int


@dataclass(frozen=True)
class _Planned:
    """A trial that will be driven: implements `PlannedTrial`."""

    candidate: _Candidate
    ground: Ground
    seconds: float

    @property
    def cause(self) -> str:
        return self.candidate.finding.cause

    @property
    def trial(self) -> Trial:
        return self.candidate.trial

    @property
    def users(self) -> int:
        return self.candidate.users

    @property
    def timing(self) -> Timing:
        return timing(self.trial, self.seconds)

    @property
    def own_servers(self) -> bool:
        return self.ground.restarts(self.trial)

    @property
    def by_sessions(self) -> bool:
        return self.ground.is_set_by_sessions(self.trial)

    @property
    def experiment(self) -> Experiment:
        return experiment_of(self.cause, self.trial, self.users, self.ground, self.timing)

    @property
    def steps(self) -> int:
        return len(schedule(self.experiment))


def prove(run: Path, proving: Proving, reach: Reach, view: View) -> Proved:
    """Test the findings of a run, the most significant first, as far as time and consent allow.

    Raises:
        NothingToProve: the run is no plain load on one target.
        TooShort: the time is not enough for a single trial.
        NoConsent: every possible trial needs `--yes`.
        TargetError: the run's server cannot be reached, or does not have its tables.
        StoreError: the run's folder cannot be read or written.
        LeftChanged: variables that a trial had set cannot be restored.
        NotOurs: another user started the run, and the user has not confirmed that it is meant.
        TrialAborted: a trial was stopped before it did harm.
    """
    chosen, planned, proved = _planned(run, proving, reach)
    if len(planned) < len(chosen):
        view.announce(_too_short(chosen, proving))
    if planned or not chosen:
        view.proving(planned, len(proved.not_tried))
    _try_all(run, planned, proved, reach, view)
    return proved


def trials_of(
    run: Path, proving: Proving, reach: Reach
) -> tuple[Sequence[PlannedTrial], Sequence[NotTried]]:
    """The trials that `prove` would drive, and the findings that it would not test.

    The run's server is asked, and nothing is changed there.

    Raises:
        LoadstoneError: as `prove`, before its first trial.
    """
    _, planned, proved = _planned(run, proving, reach, remembers=False)
    return planned, proved.not_tried


def _planned(
    run: Path, proving: Proving, reach: Reach, *, remembers: bool = True
) -> tuple[Sequence[_Candidate], Sequence[_Planned], Proved]:
    """The findings that can be tested, those for which there is time, and what is not tried."""
    ours = vouched.read(run, trusted=proving.trusted)
    _check(run, ours.asked)
    plan = _protected(ours.asked.plan, proving)
    for target in plan.targets:
        require(target, "trials")
    proved = Proved(run_folder.load(run))
    ground = _ground(plan, ours.environment, proving)
    found = _asked_for(run, findings_of(run, proved.result, ours.environment), proving.only)
    looked = _look(ground, reach, Consent(yes=proving.yes), remembers=remembers)
    chosen = _chosen(found, ground, looked, proved)
    planned = _timed(chosen, ground, proving, proved)
    if chosen and not planned:
        raise TooShort(_too_short(chosen, proving), say("nothing was driven or changed"))
    return chosen, planned, proved


def _try_all(
    run: Path, planned: Sequence[_Planned], proved: Proved, reach: Reach, view: View
) -> None:
    tried: list[Tried] = []
    for each in planned:
        observer = view.trial(each)
        with left_is_told(proved.left, view):
            done = _try(run, each, proved, _Means(reach, view.command_line, observer))
        if isinstance(done, NotTried):
            proved.not_tried.append(done)
            continue
        outcome, proved.interrupted = done
        proofs = proofs_of([*tried, outcome])
        if proved.interrupted and not proofs[-1].units:
            proved.not_tried.append(NotTried(cause=outcome.finding.cause, why=say("interrupted")))
            break
        tried.append(outcome)
        # Saved after each trial, so that a later kill loses none. All are corrected together.
        proved.result = run_folder.keep_proofs(run, proofs)
        if proved.interrupted:
            break


def _protected(plan: Plan, proving: Proving) -> Plan:
    """The run's plan, with the protection requested now added to that of the run."""
    both = plan.protection.combined(proving.protection)
    return plan.model_copy(update={"protection": both})


def _check(run: Path, asked: Asked) -> None:
    plan = asked.plan
    if asked.experiment is not None:
        said = say("{run} is an experiment, which has already compared its variants", run=run.name)
        raise NothingToProve(said, say("see loadstone runs show; prove findings of plain runs"))
    workload = plan.workload
    has_script = workload.script is not None or workload.pgbench is not None
    if has_script or workload.name not in engine.workloads():
        said = say("the load of {run} was none of Loadstone's workloads", run=run.name)
        raise NothingToProve(said, say("loadstone run drives one that can be driven again"))
    if plan.phases:
        said = say("the load of {run} had phases", run=run.name)
        raise NothingToProve(
            said, say("run it again at one level: loadstone run with --concurrency")
        )
    if len(plan.targets) > 1:
        places = ", ".join(target.place for target in plan.targets)
        said = say(
            "{run} spread its users over {number} targets ({places})",
            run=run.name,
            number=len(plan.targets),
            places=places,
        )
        raise NothingToProve(said, say("run again on one of them, and prove what holds it back"))
    if run_folder.is_running(run):
        raise StoreError(
            say("{folder} is still being written", folder=run), say("wait until it has ended")
        )


def _ground(plan: Plan, environment: dict[str, Any], proving: Proving) -> Ground:
    target = plan.targets[0]
    sandbox = sandbox_at(target)
    is_gone = sandbox is None and environment.get("sandbox") is not None
    return Ground(
        plan=plan,
        target=None if is_gone else target,
        sandbox=throwaway_like(environment),
        may_change=sandbox is not None or proving.yes,
        is_ours=sandbox is not None,
    )


def _asked_for(
    run: Path, found: Sequence[Diagnosis], only: Sequence[str]
) -> list[tuple[Diagnosis, Finding]]:
    """The named findings, or all of them, the most significant first.

    Raises:
        NothingToProve: a named one was not found.
    """
    pairs = [(diagnosis, finding) for diagnosis in found for finding in diagnosis.findings]
    known = [finding.cause for _, finding in pairs]
    for cause in only:
        if cause not in known:
            said = say("{cause} is not among the findings of {run}", cause=cause, run=run.name)
            hint = (
                say("its findings are {causes}", causes=", ".join(known))
                if known
                else say("it has no findings")
            )
            raise NothingToProve(said, hint)
    return [
        (diagnosis, finding) for diagnosis, finding in pairs if finding.cause in (only or known)
    ]


def _look(
    ground: Ground, reach: Reach, consent: Consent, *, remembers: bool
) -> InspectedTarget | None:
    """The server's present state, once its tables were found; `None` if the server is gone."""
    if ground.target is None:
        return None
    workload = ground.plan.workload
    known = engine.workloads()[workload.name]
    wanted = Wanted(
        workload=workload.name,
        layout=known.layout,
        tables=workload.tables,
        table_size=workload.table_size,
        warehouses=workload.warehouses or None,
        users=max(ground.plan.ladder),
        writes=known.writes,
        consent=consent,
    )
    endpoint = reach(ground.target)
    look_before_load([endpoint], yes=consent.yes, remembers=remembers)
    return inspect_target(endpoint, wanted, ground.plan.drive.connect.timeout_s)


def _chosen(
    found: Sequence[tuple[Diagnosis, Finding]],
    ground: Ground,
    looked: InspectedTarget | None,
    proved: Proved,
) -> list[_Candidate]:
    """The findings that can be tested here; a note says why for each of the others."""
    chosen: list[_Candidate] = []
    unasked: list[Message] = []
    for diagnosis, finding in found:
        if finding.trial is None or finding.users is None:
            if finding.group != "note":
                why = finding.untried or say("no step shows it")
                proved.not_tried.append(NotTried(cause=finding.cause, why=why))
            continue
        refused = why_not(finding.trial, ground, engine.workloads())
        said = refused.why if refused else None
        if refused and refused.wants_yes:
            unasked.append(say("{cause} is not tried: {why}", cause=finding.cause, why=refused.why))
        if refused is None and looked and not ground.restarts(finding.trial):
            said = changed_since(finding.trial, looked.facts.variables)
        if said is None:
            chosen.append(_Candidate(finding, finding.trial, diagnosis, finding.users))
        else:
            proved.not_tried.append(NotTried(cause=finding.cause, why=said))
    if unasked and not chosen:
        raise NoConsent(unasked[0], say("if you mean it: --yes"))
    return chosen


def _timed(
    chosen: Sequence[_Candidate], ground: Ground, proving: Proving, proved: Proved
) -> list[_Planned]:
    """The findings that the time allows, each with its share of it."""
    parts = allotted([each.trial for each in chosen], proving.time_s)
    needed = _needed(chosen)
    found: list[_Planned] = []
    for each, seconds in zip(chosen, parts, strict=True):
        if seconds is not None:
            found.append(_Planned(each, ground, seconds))
            continue
        why = say(
            "it takes {needs}, and --prove-time left no time for it: --prove-time {needed} is"
            " enough for all",
            needs=Seconds(least_seconds(each.trial)),
            needed=needed,
        )
        proved.not_tried.append(NotTried(cause=each.finding.cause, why=why))
    return found


def _needed(chosen: Sequence[_Candidate]) -> str:
    """The shortest `--prove-time` in which all of them can be tested."""
    return f"{math.ceil(sum(least_seconds(each.trial) for each in chosen))}s"


def _too_short(chosen: Sequence[_Candidate], proving: Proving) -> Message:
    """How long each trial takes, and all of them, where the time is not enough."""
    each = [
        say("{cause} {time}", cause=one.finding.cause, time=Seconds(least_seconds(one.trial)))
        for one in chosen
    ]
    return say(
        "--prove-time is {given}, and the trials take at least {each}: --prove-time {needed} is"
        " enough for all",
        given=Seconds(proving.time_s),
        each=Joined(each),
        needed=_needed(chosen),
    )


@dataclass(frozen=True)
class _Means:
    """What trials are driven with."""

    reach: Reach
    command_line: tuple[str, ...]
    observer: Observer


def _try(
    run: Path, planned: _Planned, proved: Proved, means: _Means
) -> tuple[Tried, bool] | NotTried:
    """Run a trial; returns it, and whether a signal ended it."""
    cause, trial, ground = planned.cause, planned.trial, planned.ground
    experiment, spent = planned.experiment, planned.timing
    at, began = datetime.now(UTC), time.monotonic()
    try:
        quiet = Quiet(means.command_line)
        start = servers_with(experiment, means.reach, quiet, yes=ground.may_change)
        with Servers(experiment, start) as servers, _noting_left(servers, proved):
            looked, _ = servers.prepare()
            load = Repeated(ground.plan.drive, trial)
            endpoints = [one.endpoint for one in looked]
            protector = protector_of(ground.plan.protection, endpoints, means.reach)
            ready = _Ready(experiment, servers, looked, load, protector)
            bench, path, interrupts = _bench(run, ready, spent, means)
            with interrupts:
                source = OfExperiment(bench, more_wanted(experiment))
                carried = drive_steps(source, bench.lab)
        if isinstance(carried.error, LeftChanged):
            raise carried.error
        if found := carried.result.run.aborted:
            raise TrialAborted(cause, found)
    except (StoreError, LeftChanged, TrialAborted):
        raise
    except LoadstoneError as error:
        why = Joined((error.message, error.hint) if error.hint else (error.message,), "clauses")
        return NotTried(cause=cause, why=say("{why}", why=why))
    if carried.error and not any(step.state == "finished" for step in carried.result.steps):
        return NotTried(cause=cause, why=plain(carried.error.message))
    candidate = planned.candidate
    tried = Tried(
        finding=candidate.finding,
        trial=trial,
        ladder=(candidate.of.variant, candidate.of.workload),
        users=planned.users,
        experiment=experiment,
        steps=carried.result.steps,
        at=at.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 1),
        folder=str(path.relative_to(run)),
        before=_in_the_run(run, proved.result, candidate, spent.units),
        planned=planned.steps,
    )
    return tried, interrupts.is_signalled


@contextlib.contextmanager
def _noting_left(servers: Servers, proved: Proved) -> Iterator[None]:
    """Record which variables are left changed, however a trial ends."""
    try:
        yield
    finally:
        proved.left += servers.told.left


def _in_the_run(run: Path, result: Result, candidate: _Candidate, parts: int) -> tuple[float, ...]:
    """Rates in the step that shows the finding, in parts; empty unless its load is repeated."""
    if candidate.trial.kind != "again":
        return ()
    step = next(
        step
        for step in result.steps
        if step.step in candidate.finding.steps and step.concurrency == candidate.users
    )
    seconds = RunSeconds(run).series("load", step.step, "tps") or ()
    window = step.window
    inside = [tps for at, tps in seconds if window and window.from_s < at <= window.to_s + 0.5]
    return parts_of(inside, parts)


@dataclass(frozen=True)
class _Ready:
    """A trial whose servers are running."""

    experiment: Experiment
    servers: Servers
    looked: Sequence[InspectedTarget]
    load: Repeated
    protector: Protector


def _bench(
    run: Path, ready: _Ready, spent: Timing, means: _Means
) -> tuple[ExperimentContext, Path, Deadline]:
    """All that a trial's steps need. They are kept as a run of their own inside the run's folder.

    The trial's time limit counts from here.
    """
    experiment, servers, load = ready.experiment, ready.servers, ready.load
    workload = servers.workload(experiment.workloads[0].name)
    drive = load.drive(experiment, experiment.variants[0], beside=None)
    plan = step_plan(experiment, workload, [one.endpoint.target for one in ready.looked], drive)
    steps = tuple(planned.step for planned in schedule(experiment))
    if (run / STEPS).is_symlink():
        raise StoreError(say("cannot write into {path}: it is a link", path=run / STEPS))
    of = ExperimentAsked(experiment, steps, servers.mark)
    recorder = begin_run(plan, ready.looked, Place(run / STEPS, means.command_line), of=of)
    interrupts = Deadline(time.monotonic() + spent.most_s)
    lab = Lab((), recorder, means.observer, interrupts, truncation, protector=ready.protector)
    look = looking(Observing(), lab.note)
    return ExperimentContext(experiment, servers, lab, look, load), recorder.folder, interrupts
