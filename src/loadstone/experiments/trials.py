"""Trials of findings as experiments: the run's own load, alternating as it was and with a change.

A trial whose change needs no restart is measured on the run's own server, where that is still
there; else, and where a start-up variable is changed, on a throwaway server that is started and
filled as the run's was. Variables are set and put back by `lab.variables`, as for experiments.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.engine import WorkloadInfo
from loadstone.experiments.variants import client_of
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.experiment import (
    ClientOptions,
    Experiment,
    Factor,
    Level,
    SandboxChoice,
    Variant,
)
from loadstone.model.finding import Setting, Trial
from loadstone.model.message import Message, say
from loadstone.model.plan import Closed, Drive, Plan, WarmupSeconds
from loadstone.model.target import Target, TlsMode, compression, family_in, tls_mode
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.spec import UNKNOWN_TO_SERVER

FACTOR = "trial"
BEFORE = "before"
CHANGED = "changed"

SHORTEST_S = 2.0
"""[P] of a window: below it what begins and ends a step is much of what is measured."""

LONGEST_S = 10.0
"""[P] of a window: more units say more than longer ones."""

BESIDE_S = 1.0
"""[P] a step takes beside its load: connecting, setting (measured half a second with the putting
back, on a busy machine), reading the counters once more."""

RESTART_S = 4.0
"""[P] a throwaway server ends and starts again, with its data as it is."""

PLANNED = 0.8
"""Part of the time that is planned for; the rest is for what takes longer than it should, and for
units that noise disturbed."""

FEWEST_ROUNDS = 3
"""Whose spread is known with two degrees of freedom: fewer make no interval worth its name."""

FEWEST_WINDOWS = 4
"""Of a load that is driven once more, without turns: three degrees of freedom."""

FEWEST_BLOCKS = 4
"""The same, with one more degree spent on what the order of blocks adds."""

MOST_UNITS = 8
"""[P] more of them narrow an interval less than longer windows do."""

_ON_A_SANDBOX = "loadstone run --server NAME --set VARIABLE=VALUE --prove"
"""What to do where a server that others use is too good for a trial."""

_CLIENT = ("tls", "prepared", "connect", "compression")
_DRIVE = ("shards", "isolation")


@dataclass(frozen=True)
class Ground:
    """Where the trials of a run can be run."""

    plan: Plan
    """The run's."""
    target: Target | None
    """Its server, where that is still there."""
    sandbox: SandboxChoice | None
    """A throwaway server as the run's was; `None`: that was no sandbox."""
    may_change: bool
    """Whether the target may be changed for all its users: a sandbox, or somebody said so."""
    is_ours: bool = False
    """Whether it is a throwaway server, and the data on it nobody's."""

    def restarts(self, trial: Trial) -> bool:
        """Whether a server of the trial's own is started."""
        return trial.kind == "start" or self.target is None


@dataclass(frozen=True)
class Timing:
    """How a trial's time is spent."""

    units: int
    """Rounds, or blocks of each side."""
    window_s: float
    warmup_s: float
    planned_s: float
    """All steps, with what is between them; starting and loading a server of its own is not in."""

    most_s: float
    """When it is ended, whatever there is."""


@dataclass(frozen=True)
class Repeated:
    """The load of a run, driven again: as it was, and in the changed variant with the change."""

    before: Drive
    trial: Trial

    def drive(self, experiment: Experiment, variant: Variant, *, beside: bool) -> Drive:
        """Of a variant; users wait for answers, as a rate that is kept shows no difference."""
        drive = self.before
        if drive.arrival.kind == "open":
            drive = drive.model_copy(update={"arrival": Closed()})
        prepared = client_of(variant).prepared
        if prepared is not None:
            drive = drive.model_copy(update={"protocol": "prepared" if prepared else "text"})
        if variant.levels and variant.levels[0][1].name == CHANGED:
            for setting in self.trial.settings if self.trial.kind == "client" else ():
                drive = _with(drive, setting)
        return drive


def _with(drive: Drive, setting: Setting) -> Drive:
    match setting.name:
        case "shards":
            return drive.model_copy(update={"shards": int(setting.value), "users_a_shard": 1})
        case "isolation":
            session = drive.session.model_copy(update={"isolation": setting.value})
            return drive.model_copy(update={"session": session})
    return drive


class Deadline(Interrupts):
    """Signals, and the time at which a trial is ended without one."""

    def __init__(self, until: float) -> None:
        """`until`: on the monotonic clock."""
        super().__init__()
        self._until = until

    @property
    def asked(self) -> bool:
        """Whether a signal came, or the time is up."""
        return self.is_signalled or time.monotonic() >= self._until

    @property
    def is_signalled(self) -> bool:
        """Whether a person or a program wants it to end."""
        return self.count > 0


@dataclass(frozen=True)
class Refused:
    """Why a trial is not run."""

    why: Message
    """With what to do about it."""
    wants_yes: bool = False
    """Whether somebody's consent would do."""


def why_not(trial: Trial, ground: Ground, known: Mapping[str, WorkloadInfo]) -> Refused | None:
    """What speaks against carrying a trial out here; `None`: nothing.

    A server that other people use is not changed for them unasked, and what is said to it from
    another machine is not sent in the clear.
    """
    first = trial.settings[0].name
    if known[ground.plan.workload.name].layout == "bulk":
        return Refused(say("the workload refills its tables, and no two of its steps are alike"))
    if trial.kind == "client" and first not in (*_CLIENT, *_DRIVE):
        return Refused(say("it changes what is measured: run again with --{option}", option=first))
    if trial.kind == "again" and ground.target is None:
        return Refused(say("the run's server is gone, and another one has another buffer pool"))
    if trial.kind == "start" and ground.sandbox is None:
        return Refused(
            say(
                "it takes a restart, and only throwaway servers without a replica are restarted: "
                "{command} tries it on one",
                command=_ON_A_SANDBOX,
            )
        )
    if ground.restarts(trial):
        plain = client_options(ground.plan.targets[0]) == ClientOptions()
        # Another number of users has no level that could say how they speak to another server.
        fits = ground.sandbox and (plain or trial.kind != "users")
        return None if fits else Refused(say("the run's server is gone"))
    if ground.target is None or ground.is_ours:
        return None
    place = ground.target.place
    if trial.kind == "dynamic":
        names = [setting.name for setting in trial.settings]
        risky = trial.risks_commits
        return why_not_set(names, place, risks_commits=risky, yes=ground.may_change)
    if first == "tls" and not (ground.may_change or ground.target.is_local):
        said = say("it would speak to {place} without encryption: --yes", place=place)
        return Refused(said, wants_yes=True)
    return None


def why_not_set(
    names: Sequence[str], place: str, *, risks_commits: bool, yes: bool
) -> Refused | None:
    """What speaks against setting global variables, for a while, where there is no sandbox.

    `risks_commits`: whether one of them decides what a crash leaves of the commits, which are those
    of all who use the server. `yes`: somebody agreed.
    """
    if risks_commits:
        return Refused(
            say(
                "commits made meanwhile might be lost: {command} tries it on a throwaway server",
                command=_ON_A_SANDBOX,
            )
        )
    if not yes:
        said = say(
            "it would set {names} for all on {place}, which is no sandbox: --yes",
            names=", ".join(names),
            place=place,
        )
        return Refused(said, wants_yes=True)
    return None


def changed_since(trial: Trial, now: Mapping[str, str]) -> Message | None:
    """A variable that is not what it was in the run: the load would not be driven as it was."""
    for setting in trial.settings if trial.kind == "dynamic" else ():
        value = now.get(setting.name)
        if setting.before is not None and value is not None and value != setting.before:
            return say(
                "{name} is {value} now, and was {before} in the run",
                name=setting.name,
                value=value,
                before=setting.before,
            )
    return None


def throwaway_like(environment: Mapping[str, Any]) -> SandboxChoice | None:
    """A sandbox as the run's server was, by its environment.json; `None`: that was none.

    One that had a replica to wait for cannot be had again by its settings alone.
    """
    facts = environment.get("sandbox")
    targets = environment.get("targets")
    if not facts or not targets:
        return None
    known = {name: value for name, value in facts["settings"].items() if value != UNKNOWN_TO_SERVER}
    settings = PROGRAMS[family_in(targets[0].get("target", ""))].settings_again(known)
    if settings is None:
        return None
    return SandboxChoice(server=targets[0]["flavour"], settings=settings)


@dataclass(frozen=True)
class _Shape:
    """What a trial's unit consists of."""

    steps: int
    beside_s: float
    """Of a step, its window left out."""
    fewest: int

    @property
    def least_s(self) -> float:
        """A unit of the shortest windows."""
        return self.steps * (self.beside_s + SHORTEST_S)


def _shape(trial: Trial) -> _Shape:
    beside = trial.settles_s + BESIDE_S
    if trial.kind == "again":
        return _Shape(1, beside, FEWEST_WINDOWS)
    if trial.kind == "start":
        # A block of each side, as many in each order: two of four degrees of freedom are left.
        return _Shape(2, beside + RESTART_S, FEWEST_BLOCKS)
    # A round has two steps of each side.
    return _Shape(4, beside, FEWEST_ROUNDS)


def least_seconds(trial: Trial) -> float:
    """The shortest time that is worth a trial."""
    shape = _shape(trial)
    return shape.fewest * shape.least_s / PLANNED


def allotted(trials: Sequence[Trial], seconds: float) -> list[float | None]:
    """Seconds of each, those first that come first; `None`: none are left for it.

    What is more than all of them need at the least is shared evenly.
    """
    left, found = seconds, list[float | None]()
    for trial in trials:
        least = least_seconds(trial)
        found.append(least if least <= left else None)
        left -= found[-1] or 0.0
    more = left / max(sum(each is not None for each in found), 1)
    return [None if each is None else each + more for each in found]


def timing(trial: Trial, seconds: float) -> Timing:
    """How to spend so many seconds on a trial, which are at least as many as it needs."""
    shape = _shape(trial)
    room = PLANNED * seconds
    units = max(min(int(room / shape.least_s), MOST_UNITS), shape.fewest)
    if trial.kind == "start":
        units -= units % 2
    window_s = min(room / (shape.steps * units) - shape.beside_s, LONGEST_S)
    window_s = max(round(window_s, 1), SHORTEST_S)
    planned_s = shape.steps * units * (shape.beside_s + window_s)
    return Timing(units, window_s, trial.settles_s, planned_s, seconds)


def experiment_of(
    cause: str, trial: Trial, users: int, ground: Ground, spent: Timing
) -> Experiment:
    """The trial, as an experiment with one factor.

    Another number of users is none, but a level; and the load once more is no comparison at all.
    """
    own = ground.restarts(trial)
    levels = _levels(trial, client_options(ground.plan.targets[0]) if own else None)
    more = (int(trial.settings[0].value),) if trial.kind == "users" else ()
    factors = () if trial.kind in ("users", "again") else (Factor(name=FACTOR, levels=levels),)
    return Experiment(
        name=cause,
        target=None if own else ground.target,
        sandbox=ground.sandbox if own else None,
        workloads=(ground.plan.workload,),
        factors=factors,
        ladder=(users, *more),
        duration_s=spent.window_s,
        warmup=WarmupSeconds(warmup_s=spent.warmup_s),
        # A block is a repeat and so is a window, a round is two of them.
        repeats=spent.units if trial.kind in ("start", "again") else 2 * spent.units,
        # What the load changes, both sides find equally changed.
        restore="none",
        seed=ground.plan.drive.seed,
    )


def _levels(trial: Trial, common: ClientOptions | None) -> tuple[Level, Level]:
    """The load as it was, and with the change; `common`: how a server of its own is spoken to."""
    before = Level(name=BEFORE, client=common)
    values = {setting.name: setting.value for setting in trial.settings}
    match trial.kind:
        case "dynamic":
            return before, Level(name=CHANGED, client=common, dynamic=values)
        case "start":
            return before, Level(name=CHANGED, client=common, startup=values)
    given = common.model_dump(exclude_defaults=True) if common else {}
    changed = ClientOptions.model_validate(given | _as_options(values))
    return before, Level(name=CHANGED, client=changed)


def _as_options(values: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in values.items():
        match name:
            case "tls":
                found[name] = tls_mode(value)
            case "compression":
                found[name] = compression(value)
            case "prepared":
                found[name] = value == "on"
            case "connect":
                found[name] = value
    return found


def client_options(target: Target) -> ClientOptions:
    """How a run spoke to its throwaway server, for another one as that was.

    Another server has certificates of its own, which nobody was told to trust.
    """
    mode: TlsMode = target.tls.mode
    if mode in ("verify-ca", "verify-identity"):
        mode = "required"
    return ClientOptions(
        tls=None if mode == "preferred" else mode,
        connect="socket" if target.socket else None,
        compression=target.compression or None,
    )
