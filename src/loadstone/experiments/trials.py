"""Trials of findings as experiments: the run's own load, alternating with and without a change.

A trial whose change needs no restart is measured on the run's own server, if that still exists;
otherwise, and if a start-up variable is changed, on a throwaway server that is started and filled
as the run's was. Variables are set and restored by `lab.variables`, as for experiments. On a server
that others use, the load's sessions set them for themselves where each session may: that reaches
nobody else and takes no rights, and consent only where commits of the load might be lost.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.engine import WorkloadInfo
from loadstone.experiments.variants import client_of, protocol_of, with_own_variables
from loadstone.families import family_of
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.experiment import (
    ClientOptions,
    Experiment,
    Factor,
    Level,
    SandboxChoice,
    Variant,
)
from loadstone.model.finding import POOLER, Setting, Trial, TrialKind
from loadstone.model.message import Message, say
from loadstone.model.plan import Closed, Drive, Plan, WarmupSeconds
from loadstone.model.target import Target, TlsMode
from loadstone.model.target_url import compression, family_in, tls_mode
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.spec import UNKNOWN_TO_SERVER

FACTOR = "trial"
BEFORE = "before"
CHANGED = "changed"

SHORTEST_S = 2.0
"""[P] of a window: in a shorter one the start and end of a step are much of what is measured."""

LONGEST_S = 10.0
"""[P] of a window: more units say more than longer ones."""

BESIDE_S = 1.0
"""[P] overhead of a step: connecting, setting and restoring variables (measured half a second on a
busy machine), reading the counters once more.
"""

RESTART_S = 4.0
"""[P] for a throwaway server to stop and start again with its data."""

PLANNED = 0.8
"""Fraction of the time that is planned; the rest is a reserve for what takes longer, and for units
that noise disturbed.
"""

FEWEST_ROUNDS = 3
"""Gives the spread two degrees of freedom; with fewer, the interval is too wide to be useful."""

FEWEST_WINDOWS = 4
"""For a load that is driven again without alternating: three degrees of freedom."""

FEWEST_BLOCKS = 4
"""As `FEWEST_ROUNDS`, with one more degree of freedom spent on the effect of the blocks' order."""

MOST_UNITS = 8
"""[P] more units narrow an interval less than longer windows do."""

_CLIENTS_BESIDE_USERS = 50
"""Of a pooler: the connections that observe, and logins of users that have not quite gone."""

_ON_A_SANDBOX = "loadstone run --server NAME --set VARIABLE=VALUE --prove"
"""The advice if the server is used by others and must not be changed for a trial."""

_NEEDS_A_SANDBOX: Mapping[TrialKind, Message] = {
    "start": say(
        "it takes a restart, and only throwaway servers without a replica are restarted: "
        "{command} tries it on one",
        command=_ON_A_SANDBOX,
    ),
    "pooler": say(
        "it changes a pooler, and only those of throwaway servers are changed: loadstone sandbox "
        "start --server postgresql --pooler pgbouncer starts one"
    ),
}
"""By kind of trial: why it is not run where the run's server was no sandbox."""

_CLIENT = ("tls", "prepared", "connect", "compression")
_DRIVE = ("shards", "isolation", "reconnect")


@dataclass(frozen=True)
class Ground:
    """The servers on which the trials of a run may run."""

    plan: Plan
    """The run's plan."""
    target: Target | None
    """The run's server, if it still exists."""
    sandbox: SandboxChoice | None
    """A throwaway server like the run's; `None` if that was not a sandbox."""
    may_change: bool
    """Whether the target may be changed for all its users: it is a sandbox, or the user agreed."""
    is_ours: bool = False
    """Whether it is a throwaway server, with no data of others."""

    def is_set_by_sessions(self, trial: Trial) -> bool:
        """Whether the load's own sessions set what the trial changes, and nobody else has it."""
        if trial.kind != "dynamic" or self.target is None or self.is_ours:
            return False
        own = family_of(self.target).own_variables
        return all(setting.name in own for setting in trial.settings)

    def restarts(self, trial: Trial) -> bool:
        """Whether the trial starts a server of its own."""
        new = trial.kind in ("start", "pooler")
        return new or self.target is None or bool(self.given_at_start(trial))

    @property
    def client(self) -> ClientOptions:
        """The options with which a throwaway server like the run's is reached as that was."""
        options = client_options(self.plan.targets[0])
        if self.sandbox is None or self.sandbox.pooler is None:
            return options
        return options.model_copy(update={"connect": "pooler"})

    def given_at_start(self, trial: Trial) -> dict[str, str]:
        """Settings of the throwaway server that the trial could not change while it runs.

        They are on its command line, which wins in some families.
        """
        wins = family_of(self.plan.targets[0]).command_line_wins
        if self.sandbox is None or trial.kind != "dynamic" or not wins:
            return {}
        names = [setting.name for setting in trial.settings]
        return {
            name: self.sandbox.settings[name] for name in names if name in self.sandbox.settings
        }


@dataclass(frozen=True)
class Timing:
    """How a trial's time is spent."""

    units: int
    """Rounds, or blocks of each side."""
    window_s: float
    warmup_s: float
    planned_s: float
    """All steps and the time between them, without starting and loading a server of its own."""

    most_s: float
    """When the trial is stopped in any case."""


@dataclass(frozen=True)
class Repeated:
    """The load of a run, driven again: unchanged, and with the change in the changed variant."""

    before: Drive
    trial: Trial

    def drive(self, experiment: Experiment, variant: Variant, *, beside: str | None) -> Drive:
        """The load settings of a variant: closed loop, as a fixed rate hides differences."""
        drive = self.before
        if drive.arrival.kind == "open":
            drive = drive.model_copy(update={"arrival": Closed()})
        protocol = protocol_of(client_of(variant))
        if protocol is not None:
            drive = drive.model_copy(update={"protocol": protocol})
        if variant.levels and variant.levels[0][1].name == CHANGED:
            for setting in self.trial.settings if self.trial.kind == "client" else ():
                drive = _with(drive, setting)
        return with_own_variables(drive, variant)


def _with(drive: Drive, setting: Setting) -> Drive:
    match setting.name:
        case "shards":
            return drive.model_copy(update={"shards": int(setting.value), "users_a_shard": 1})
        case "isolation":
            session = drive.session.model_copy(update={"isolation": setting.value})
            return drive.model_copy(update={"session": session})
        case "reconnect":
            return drive.model_copy(update={"reconnect_after": None})
    return drive


class Deadline(Interrupts):
    """Signals, and the time at which a trial ends without one."""

    def __init__(self, until: float) -> None:
        """`until` is a time of the monotonic clock."""
        super().__init__()
        self._until = until

    @property
    def asked(self) -> bool:
        """Whether a signal came, or the time is up."""
        return self.is_signalled or time.monotonic() >= self._until

    @property
    def is_signalled(self) -> bool:
        """Whether a signal came."""
        return self.count > 0


@dataclass(frozen=True)
class Refused:
    """Why a trial is not run."""

    why: Message
    """The reason, and what to do about it."""
    wants_yes: bool = False
    """Whether the user's consent would be enough."""


def why_not(trial: Trial, ground: Ground, known: Mapping[str, WorkloadInfo]) -> Refused | None:
    """Why the trial cannot be run here; `None` if it can.

    A server that others use is not changed without consent, and nothing is sent to it from another
    machine unencrypted.
    """
    first = trial.settings[0].name
    if known[ground.plan.workload.name].layout == "bulk":
        return Refused(say("the workload refills its tables, and no two of its steps are alike"))
    if refused := _why_not_this_kind(trial, ground):
        return refused
    if ground.restarts(trial):
        plain = ground.client == ClientOptions()
        # A trial with another number of users has no level to hold the client options for another
        # server.
        fits = ground.sandbox and (plain or trial.kind != "users")
        return None if fits else Refused(say("the run's server is gone"))
    if ground.target is None or ground.is_ours:
        return None
    place = ground.target.place
    if ground.is_set_by_sessions(trial):
        return _why_not_by_sessions(trial, place, yes=ground.may_change)
    if trial.kind == "dynamic":
        names = [setting.name for setting in trial.settings]
        risky = trial.risks_commits
        return why_not_set(names, place, risks_commits=risky, yes=ground.may_change)
    if first == "tls" and not (ground.may_change or ground.target.is_local):
        said = say("it would speak to {place} without encryption: --yes", place=place)
        return Refused(said, wants_yes=True)
    return None


def _why_not_this_kind(trial: Trial, ground: Ground) -> Refused | None:
    """What the trial needs and the ground has not."""
    first = trial.settings[0].name
    if trial.kind == "client" and first not in (*_CLIENT, *_DRIVE):
        return Refused(say("it changes what is measured: run again with --{option}", option=first))
    if trial.kind == "again" and ground.target is None:
        return Refused(say("the run's server is gone, and another one has another buffer pool"))
    if trial.kind in _NEEDS_A_SANDBOX and ground.sandbox is None:
        return Refused(_NEEDS_A_SANDBOX[trial.kind])
    return _why_not_pooled(trial, ground) if trial.kind == "pooler" else None


def _why_not_pooled(trial: Trial, ground: Ground) -> Refused | None:
    """Why a pooler is neither put before the run's throwaway server nor set otherwise."""
    if not _sets_up(trial):
        is_known = ground.sandbox is not None and ground.sandbox.pooler is not None
        return None if is_known else Refused(say("it is not known how the run's pooler was set"))
    session = ground.plan.drive.session
    if session.isolation or session.init_sql:
        return Refused(
            say(
                "the load's sessions have settings of their own (--isolation, --init-sql), and a "
                "pooler lends them others"
            )
        )
    return None


def _why_not_by_sessions(trial: Trial, place: str, *, yes: bool) -> Refused | None:
    """Why the load's sessions must not set it for themselves: rows of its own may be lost."""
    if not trial.risks_commits or yes:
        return None
    said = say("a crash of {place} might lose commits that the load makes: --yes", place=place)
    return Refused(said, wants_yes=True)


def why_not_set(
    names: Sequence[str], place: str, *, risks_commits: bool, yes: bool
) -> Refused | None:
    """Why global variables must not be set for a while on a server that is not a sandbox.

    `risks_commits`: whether one of them decides if commits, including those of other users, survive
    a crash. `yes`: the user agreed.
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
    """Names a variable that changed since the run, so that the load would not be the same."""
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
    """A sandbox like the run's server, from its environment.json; `None` if that was not a sandbox.

    A server that waited for a replica cannot be recreated from its settings alone.
    """
    facts = environment.get("sandbox")
    targets = environment.get("targets")
    if not facts or not targets:
        return None
    known = {name: value for name, value in facts["settings"].items() if value != UNKNOWN_TO_SERVER}
    settings = PROGRAMS[family_in(targets[0].get("target", ""))].settings_again(known)
    if settings is None:
        return None
    # Earlier versions kept neither a pooler nor its settings.
    pooler = facts.get("pooler") or {}
    is_known = pooler.get("settings") is not None
    return SandboxChoice(
        server=targets[0]["flavour"],
        settings=settings,
        pooler=pooler["name"] if is_known else None,
        pooler_settings=pooler["settings"] if is_known else {},
    )


@dataclass(frozen=True)
class _Shape:
    """The composition of a trial's unit."""

    steps: int
    beside_s: float
    """Of a step, without its window."""
    fewest: int

    @property
    def least_s(self) -> float:
        """The time of a unit with the shortest windows."""
        return self.steps * (self.beside_s + SHORTEST_S)


def _shape(trial: Trial) -> _Shape:
    beside = trial.settles_s + BESIDE_S
    if trial.kind == "again":
        return _Shape(1, beside, FEWEST_WINDOWS)
    if _in_blocks(trial):
        # A block of each side, equally many in each order: two of four degrees of freedom are left.
        return _Shape(2, beside + RESTART_S, FEWEST_BLOCKS)
    # A round has two steps of each side.
    return _Shape(4, beside, FEWEST_ROUNDS)


def _in_blocks(trial: Trial) -> bool:
    """Whether its two sides have servers of their own."""
    return trial.kind == "start" or (trial.kind == "pooler" and not _sets_up(trial))


def _sets_up(trial: Trial) -> bool:
    """Whether it puts a pooler where there was none."""
    return trial.settings[0].name == POOLER


def least_seconds(trial: Trial) -> float:
    """The shortest time in which a trial is useful."""
    shape = _shape(trial)
    return shape.fewest * shape.least_s / PLANNED


def allotted(trials: Sequence[Trial], seconds: float) -> list[float | None]:
    """Seconds for each trial, served in order; `None` if none are left for it.

    Time beyond the minimum of all of them is shared evenly.
    """
    left, found = seconds, list[float | None]()
    for trial in trials:
        least = least_seconds(trial)
        found.append(least if least <= left else None)
        left -= found[-1] or 0.0
    more = left / max(sum(each is not None for each in found), 1)
    return [None if each is None else each + more for each in found]


def timing(trial: Trial, seconds: float) -> Timing:
    """How to spend the seconds on a trial; they must be at least its minimum."""
    shape = _shape(trial)
    room = PLANNED * seconds
    units = max(min(int(room / shape.least_s), MOST_UNITS), shape.fewest)
    if _in_blocks(trial):
        units -= units % 2
    window_s = min(room / (shape.steps * units) - shape.beside_s, LONGEST_S)
    window_s = max(round(window_s, 1), SHORTEST_S)
    planned_s = shape.steps * units * (shape.beside_s + window_s)
    return Timing(units, window_s, trial.settles_s, planned_s, seconds)


def experiment_of(
    cause: str, trial: Trial, users: int, ground: Ground, spent: Timing
) -> Experiment:
    """The trial, as an experiment with one factor.

    Another number of users is a level of concurrency, not a factor; the repeated load compares
    nothing.
    """
    own = ground.restarts(trial)
    common = ground.client if own else None
    given = ground.given_at_start(trial) if own else {}
    if trial.kind == "pooler":
        levels = _pooled_levels(trial, ground)
    else:
        by_sessions = ground.is_set_by_sessions(trial)
        levels = _levels(trial, common, given, by_sessions=by_sessions)
    more = (int(trial.settings[0].value),) if trial.kind == "users" else ()
    factors = () if trial.kind in ("users", "again") else (Factor(name=FACTOR, levels=levels),)
    return Experiment(
        name=cause,
        target=None if own else ground.target,
        sandbox=_throwaway(trial, ground, users, given) if own else None,
        workloads=(ground.plan.workload,),
        factors=factors,
        ladder=(users, *more),
        duration_s=spent.window_s,
        warmup=WarmupSeconds(warmup_s=spent.warmup_s),
        # A block is one repeat and so is a window; a round is two.
        repeats=spent.units if _in_blocks(trial) or trial.kind == "again" else 2 * spent.units,
        # Both sides find the changes made by the load equally.
        restore="none",
        seed=ground.plan.drive.seed,
    )


def _throwaway(
    trial: Trial, ground: Ground, users: int, given: Mapping[str, str]
) -> SandboxChoice | None:
    """The server, with the pooler that the trial puts before it."""
    sandbox = ground.sandbox
    if sandbox is None or trial.kind != "pooler" or not _sets_up(trial):
        return _without(sandbox, given)
    of_pooler = {setting.name: setting.value for setting in trial.settings}
    name = of_pooler.pop(POOLER)
    clients = users + ground.plan.drive.idle + _CLIENTS_BESIDE_USERS
    lends = {"pool_mode": "transaction", "max_client_conn": str(clients)}
    return sandbox.model_copy(update={"pooler": name, "pooler_settings": lends | of_pooler})


def _pooled_levels(trial: Trial, ground: Ground) -> tuple[Level, Level]:
    """The load without the pooler and through it, or through one with other settings.

    A session that is lent for a transaction knows no statement that another has prepared: then both
    sides send them with their values, and differ by the pooler alone.
    """
    options, drive = ground.client, ground.plan.drive
    if _sets_up(trial) and drive.protocol != "text":
        options = options.model_copy(update={"protocol": "extended"})
    direct = options.model_copy(update={"connect": "tcp"}) if _sets_up(trial) else options
    before = Level(name=BEFORE, client=direct)
    changed = Level(name=CHANGED, client=options.model_copy(update={"connect": "pooler"}))
    if _sets_up(trial) or ground.sandbox is None:
        return before, changed
    values = {setting.name: setting.value for setting in trial.settings}
    larger = {"pooler_settings": ground.sandbox.pooler_settings | values}
    return before, changed.model_copy(update={"sandbox": ground.sandbox.model_copy(update=larger)})


def _without(sandbox: SandboxChoice | None, given: Mapping[str, str]) -> SandboxChoice | None:
    """The server with less on its command line."""
    if sandbox is None:
        return None
    settings = {name: value for name, value in sandbox.settings.items() if name not in given}
    return sandbox.model_copy(update={"settings": settings})


def _levels(
    trial: Trial, common: ClientOptions | None, given: Mapping[str, str], *, by_sessions: bool
) -> tuple[Level, Level]:
    """The unchanged and the changed load; `common`: the client options for a server of its own.

    `given`: what was on the run's command line, and is set in each step of the unchanged load.
    """
    before = Level(name=BEFORE, client=common, dynamic=dict(given))
    values = {setting.name: setting.value for setting in trial.settings}
    match trial.kind:
        case "dynamic" if by_sessions:
            return before, Level(name=CHANGED, client=common, per_session=values)
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
    """The client options of a run's throwaway server, for another one like it.

    A new server has its own certificates, which the client has no reason to trust. What it has by
    default is not named: no TLS on loopback, and on its socket none by preference.
    """
    mode: TlsMode = target.tls.mode
    if mode in ("verify-ca", "verify-identity"):
        mode = "required"
    by_default = "preferred" if target.socket else "disabled"
    return ClientOptions(
        tls=None if mode == by_default else mode,
        tls_version=target.tls.versions or None,
        tls_cipher=target.tls.ciphers or None,
        connect="socket" if target.socket else None,
        compression=target.compression or None,
    )
