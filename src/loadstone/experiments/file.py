"""Parses the text of an experiment file into an `Experiment`, or lists everything wrong with it.

docs/experiments.md has the format. Nothing is started before the whole file has been read, and
nothing here needs a server: what only a server knows is checked later by `check_variables` and
`check_workloads` of `experiments.checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from loadstone.config import values
from loadstone.config.lines import Path as KeyPath
from loadstone.config.lines import lines_of
from loadstone.config.phases import rates_of, seconds_of, users_of
from loadstone.config.problems import ExperimentRefused, text_of
from loadstone.config.values import InvalidValue
from loadstone.config.written import Fault, Tables, Written, read, table
from loadstone.experiments.checks import Machine, check
from loadstone.model.cluster import ClusterAsked, OnNodeLoss
from loadstone.model.columns import Column
from loadstone.model.experiment import (
    CgroupLimit,
    ClientOptions,
    Experiment,
    Factor,
    Level,
    NetworkLimit,
    Restore,
    Rules,
    SandboxChoice,
    Until,
)
from loadstone.model.message import say
from loadstone.model.plan import (
    USERS_OF_A_RATE,
    Closed,
    Drive,
    MixMember,
    OptionValue,
    ScriptSpec,
    Session,
    Special,
    WarmupAuto,
    WorkloadSpec,
)
from loadstone.model.protection import Protection
from loadstone.model.search import SearchPlan
from loadstone.model.target import Target
from loadstone.workloads.scripts.file import ENDING as SCRIPT_ENDING

DEFAULT_TABLES = 10
DEFAULT_TABLE_SIZE = 10_000
_SIZES = ("tables", "table_size", "warehouses")
_OF_MEMBERS = (*_SIZES, "options", "distribution")
_OF_SCRIPTS = say("a script has options of its own: write options = { tables = 10 }")
DEFAULT_TIME_LIMIT_S = 8 * 3600.0
_CONDITIONS = '["threads_running>200"]'

Isolation = Literal["read-uncommitted", "read-committed", "repeatable-read", "serializable"]


@dataclass(frozen=True)
class ExperimentFile:
    """An experiment, and the place in the file of each of its keys."""

    name: str
    """The file's name, for messages."""
    experiment: Experiment
    lines: Mapping[KeyPath, int]


def read_experiment(path: Path, machine: Machine) -> ExperimentFile:
    """Read and check a file.

    Raises:
        ExperimentRefused: it cannot be read, or something is wrong with it.
    """
    return parse_experiment(text_of(path, ExperimentRefused), str(path), machine)


def parse_experiment(text: str, file: str, machine: Machine) -> ExperimentFile:
    """The same as `read_experiment`, for a text; messages call it `file`.

    Raises:
        ExperimentRefused: with all faults that were found.
    """
    written, faults = read(_File, text, file, ExperimentRefused)
    try:
        experiment = written.experiment(Path(file).stem)
    except ValidationError as error:  # the parts are valid, but there are too many of them
        said = error.errors()[0]["msg"].removeprefix("Value error, ")
        faults.add((), said, say("write fewer levels, workloads, users or rates"))
    else:
        check(experiment, machine, faults)
    if faults.found:
        raise ExperimentRefused(file, faults.found)
    return ExperimentFile(file, experiment, lines_of(text))


class _Url(Written):
    url: values.Url = Field(examples=['url = "mysql://user@host:3306/schema"'])


def _with_url(given: object) -> object:
    """`target = "mysql://..."` is short for a table with that `url`."""
    return {"url": given} if isinstance(given, str) else given


_Target = Annotated[Target, table(_Url, lambda url: url), BeforeValidator(_with_url)]


class _SandboxTable(Written):
    server: values.Text | None = None
    root: values.Folder | None = None
    settings: values.Variables = {}


_Sandbox = Annotated[SandboxChoice, table(_SandboxTable, SandboxChoice)]


class _Client(Written):
    tls: values.Tls | None = None
    tls_version: values.TlsVersions | None = None
    tls_cipher: values.Ciphers | None = None
    prepared: bool | None = None
    connect: Literal["socket", "tcp"] | None = None
    compression: values.Compressions | None = None
    hosts: values.Several[values.Host] = Field([], examples=['hosts = ["db1:3306", "db2:3306"]'])


class _Cgroup(Written):
    cores: values.Cores | None = None
    memory_bytes: values.SizeBytes | None = Field(None, alias="memory")
    read_iops: values.Count | None = None
    write_iops: values.Count | None = None

    def unfit(self) -> Iterator[Fault]:
        if not self.given:
            yield (), say("it limits nothing"), say("write cores = 4, memory or write_iops")


class _Network(Written):
    bits_per_s: values.BitsPerS | None = Field(None, alias="rate")
    delay_s: values.Seconds | None = Field(None, alias="delay")

    def unfit(self) -> Iterator[Fault]:
        if not self.given:
            yield (), say("it limits nothing"), say('write rate = "1Gbit" or delay = "1ms"')


class _Level(Written):
    startup: values.Variables = {}
    dynamic: values.Variables = {}
    client: Annotated[ClientOptions, table(_Client, ClientOptions)] | None = None
    sandbox: _Sandbox | None = None
    cgroup: Annotated[CgroupLimit, table(_Cgroup, CgroupLimit)] | None = None
    network: Annotated[NetworkLimit, table(_Network, NetworkLimit)] | None = None
    target: _Target | None = None


def _name(word: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", word):
        said = say("{word} cannot be the name of a factor or level", word=repr(word))
        raise InvalidValue(said, say("write letters, digits, dots, dashes and underscores"))
    return word


_Name = Annotated[str, AfterValidator(_name)]


class _Search(Written):
    objective: values.Limit | None = None
    peak: bool = False
    most_users: values.Count | None = None

    def unfit(self) -> Iterator[Fault]:
        if not self.objective and not self.peak:
            yield (
                (),
                say("it looks for nothing"),
                say('write objective = "p99<10ms", or peak = true'),
            )
        if self.most_users and not self.peak:
            yield (
                ("most_users",),
                say("only the way to the peak adds users"),
                say("write {code}", code="peak = true"),
            )


class _Cluster(Written):
    address: values.Text = Field(examples=['address = "10.0.0.1:6379", as Ray has it'])
    generators: values.Count | None = None
    cpus_per_generator: values.Count | None = None
    on_node_loss: OnNodeLoss | None = None


class _Alone(Written):
    """A workload on its own, or a member of a mix."""

    name: values.Text = ""
    tables: values.Count = DEFAULT_TABLES
    table_size: values.Count = DEFAULT_TABLE_SIZE
    warehouses: values.Count | None = None
    options: values.Options = {}
    distribution: values.Spread = Special()

    @property
    def is_script(self) -> bool:
        return self.name.endswith(SCRIPT_ENDING)

    def unfit(self) -> Iterator[Fault]:
        if not self.name:
            write = say(
                "write name = {name}, or the name of a template's or a script's file",
                name='"oltp_read_write"',
            )
            yield (), say("a workload without a name"), write
        if self.is_script:
            yield from self.misplaced(_SIZES, _OF_SCRIPTS)

    @property
    def made(self) -> WorkloadSpec:
        """The workload that this describes."""
        if not self.is_script:
            return self.part(WorkloadSpec, tables=self.tables, table_size=self.table_size)
        # A script makes its own tables, according to its own options.
        script = ScriptSpec(
            path=self.name,
            options={name: _as_text(value) for name, value in self.options.items()},
            distribution=self.distribution,
        )
        return WorkloadSpec(name=Path(self.name).stem, tables=1, table_size=1, script=script)


def _as_text(value: OptionValue) -> str:
    """The value as it would be written on sysbench's command line."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


class _Member(_Alone):
    users: values.Count | None = None
    weight: float | None = Field(None, gt=0, le=1e9, examples=["weight = 9, or 0.5"])
    think_s: values.SecondsOrNone | None = Field(None, alias="think")
    called: values.Text | None = Field(None, alias="as")

    def unfit(self) -> Iterator[Fault]:
        yield from super().unfit()
        if self.is_script:
            said = say("a script drives all users, and cannot be one of several")
            yield ("name",), said, say("write a [[workload]] of its own for it")
        if self.users is not None and self.weight is not None:
            yield (
                ("weight",),
                say("it has either users of its own or a weight"),
                say("leave one out"),
            )
        if self.think_s is not None and self.users is None:
            yield (
                ("think",),
                say("it is only for a workload with users of its own"),
                say("write users, or think above"),
            )

    @property
    def member(self) -> MixMember:
        """The member that this describes."""
        weight = 1.0 if self.users is None and self.weight is None else self.weight
        name = self.called or Path(self.name).stem
        return self.part(MixMember, name=name, workload=self.made, weight=weight)


class _Workload(_Alone):
    mix: Tables[_Member] = Field([], examples=["[[workload.mix]] and name below it"])

    def unfit(self) -> Iterator[Fault]:
        if not self.mix:
            yield from super().unfit()
            return
        yield from self.misplaced(_OF_MEMBERS, say("write it below [[workload.mix]]"))
        names = [each.member.name for each in self.mix]
        for at, name in enumerate(names):
            if name in names[:at]:
                yield (
                    ("mix", at),
                    say("{name} is there twice", name=name),
                    say("write {code}", code='as = "another name"'),
                )
        if all(member.users for member in self.mix):
            said = say("all of them have users of their own, and none is left for the ladder's")
            yield ("mix",), said, say("write one of them without users")

    @property
    def made(self) -> WorkloadSpec:
        """The workload that this describes."""
        if not self.mix:
            return super().made
        members = tuple(each.member for each in self.mix)
        return WorkloadSpec(
            name=self.name or "+".join(member.name for member in members),
            tables=max(member.workload.tables for member in members),
            table_size=max(member.workload.table_size for member in members),
            mix=members,
        )


class _File(Written):
    name: values.Text | None = None
    target: _Target | None = None
    sandbox: _Sandbox | None = None
    workload: Tables[_Workload] = Field([], examples=["[[workload]] and name below it"])
    factor: dict[_Name, dict[_Name, _Level]] = {}
    phases: values.Phases = ()
    ladder: values.Levels = Field([], examples=["ladder = [1, 8, 64]"])
    rates: values.Several[values.RatePerS] = Field(
        [], examples=['rates = [1000, 2000] or ["1000..8000/60s"]']
    )
    search: Annotated[SearchPlan, table(_Search, SearchPlan)] | None = None
    duration_s: values.Seconds = Field(30.0, alias="duration")
    warmup: values.WarmupTime = WarmupAuto()
    repeats: values.Count | None = None
    until: values.Share | None = None
    time_limit: values.Seconds = DEFAULT_TIME_LIMIT_S
    level: values.Share | None = None
    margin: values.Share | None = None
    power: values.Share | None = None
    restore: Restore | None = None
    columns: values.Several[Column] = Field(
        [], examples=['columns = ["log_syncs", "transactions_per_sync"]']
    )
    seed: int = Field(0, ge=0, lt=2**63, examples=["seed = 7"])
    cluster: Annotated[ClusterAsked, table(_Cluster, ClusterAsked)] | None = None
    timeline: bool = False
    init_sql: values.Texts = []
    isolation: Isolation | None = None
    think: values.SecondsOrNone = 0.0
    on_error: Literal["restart", "continue", "stop"] | None = None
    reconnect_after: values.Count | None = Field(None, alias="reconnect")
    idle: values.Count | None = None
    abort_if: values.Several[values.AbortIf] = Field([], examples=[_CONDITIONS])
    max_load: values.Several[values.MaxLoad] = Field([], examples=[_CONDITIONS])
    no_abort: bool = False
    replicas: values.Several[values.Url] = Field(
        [], examples=['replicas = ["mysql://user@host:3306"]']
    )

    def unfit(self) -> Iterator[Fault]:
        if not self.workload:
            write = say('write [[workload]] and name = "oltp_read_write"')
            yield ("workload",), say("no workload"), write
        for name, levels in self.factor.items():
            if len(levels) < 2:
                said = say("a factor with fewer than two levels varies nothing")
                yield (
                    ("factor", name),
                    said,
                    say("write [factor.{name}.off] and [factor.{name}.on]", name=name),
                )
        if self.phases:
            # Phases already define how long a step is, and how many users or events it has.
            keys = ["duration", "warmup", "rates"] + (["ladder"] if self.phases[0].users else [])
            write = say("leave it out, or the phases")
            yield from self.misplaced(keys, write, say("the phases say that"))
        if self.until is None:
            write = say('write until = "2%" along with it')
            yield from self.misplaced(["time_limit"], write, say("there is nothing to wait for"))

    def experiment(self, stem: str) -> Experiment:
        """The experiment that the file describes."""
        few = USERS_OF_A_RATE if self.search and self.search.objective else 1
        until = Until(half_width=self.until, time_limit_s=self.time_limit) if self.until else None
        return self.part(
            Experiment,
            name=self.name or stem,
            workloads=[each.made for each in self.workload],
            factors=[_factor(name, levels) for name, levels in self.factor.items()],
            ladder=self.ladder or users_of(self.phases) or [few],
            rates=rates_of(self.phases, tuple(self.rates)),
            drive=self._drive,
            until=until,
            rules=self.part(Rules),
            protection=self.part(Protection, defaults=not self.no_abort),
            **seconds_of(self.phases, self.duration_s, self.warmup),
        )

    @property
    def _drive(self) -> Drive:
        """How the load is driven, before a variant's own settings."""
        drive = Drive.of_drill() if self.timeline else Drive()
        arrival = Closed(think_s=self.think)
        # The seed belongs to the experiment, as each step has another one.
        own = self.part(Drive, arrival=arrival, session=self.part(Session), seed=drive.seed)
        return drive.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def _factor(name: str, levels: Mapping[str, _Level]) -> Factor:
    made = tuple(Level(name=each, **level.given) for each, level in levels.items())
    return Factor(name=name, levels=made)
