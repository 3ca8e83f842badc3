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
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from loadstone.config import kinds
from loadstone.config.forms import NOTHING, form
from loadstone.config.kinds import URL, OrForm
from loadstone.config.lines import Path as KeyPath
from loadstone.config.lines import lines_of
from loadstone.config.phases import NAME, rates_of, seconds_of, users_of
from loadstone.config.problems import ExperimentRefused, text_of
from loadstone.config.schema import schema_of
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
    Way,
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
    StatementProtocol,
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


def experiment_schema() -> dict[str, Any]:
    """The JSON schema of experiment files, for editors."""
    return schema_of(_File, "An experiment of Loadstone")


class _Url(Written):
    url: kinds.Url = Field(examples=['url = "mysql://user@host:3306/schema"'])
    """The server, without a password: mysql://user@host:3306/schema."""


def _with_url(given: object) -> object:
    """`target = "mysql://..."` is short for a table with that `url`."""
    return {"url": given} if isinstance(given, str) else given


_Target = Annotated[Target, table(_Url, lambda url: url), BeforeValidator(_with_url), OrForm(URL)]


class _SandboxTable(Written):
    server: kinds.Text | None = None
    """The server program: mariadb, mysql, or a path. Default: the one that is found."""
    root: kinds.Folder | None = None
    """The root folder of another system, whose program, libc and libraries are used."""
    settings: kinds.Variables = {}
    """Server variables that are set at start-up."""
    pooler: kinds.Text | None = None
    """A connection pooler in front of it: pgbouncer, for PostgreSQL."""
    pooler_settings: kinds.Variables = {}
    """Settings of the pooler, such as pool_mode."""


_Sandbox = Annotated[SandboxChoice, table(_SandboxTable, SandboxChoice)]


class _Client(Written):
    tls: kinds.Tls | None = None
    """Whether connections are encrypted, and what is verified."""
    tls_version: kinds.TlsVersions | None = None
    """Allowed versions of TLS, such as TLSv1.1,TLSv1.2."""
    tls_cipher: kinds.Ciphers | None = None
    """Allowed ciphers, by OpenSSL's names."""
    prepared: bool | None = None
    """Whether statements are prepared, or sent as text."""
    protocol: StatementProtocol | None = None
    """How statements are sent: prepared, text, and to PostgreSQL extended or pipelined."""
    connect: Way | None = None
    """Connect by a unix socket, over TCP, or through the sandbox's pooler."""
    compression: kinds.Compressions | None = None
    """Kinds of compression that may be used: zstd,zlib or off."""
    hosts: kinds.Several[kinds.Host] = Field([], examples=['hosts = ["db1:3306", "db2:3306"]'])
    """Addresses that share the users."""


class _Cgroup(Written):
    cores: kinds.Cores | None = None
    """The most cores that the server may use; it may be a fraction."""
    memory_bytes: kinds.SizeBytes | None = Field(None, alias="memory")
    """The most memory that the server may use, such as 8G."""
    read_iops: kinds.Count | None = None
    """The most reads a second from its disk."""
    write_iops: kinds.Count | None = None
    """The most writes a second to its disk."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {"minProperties": 1}

    def unfit(self) -> Iterator[Fault]:
        if not self.given:
            yield (), say("it limits nothing"), say("write cores = 4, memory or write_iops")


class _Network(Written):
    bits_per_s: kinds.BitsPerS | None = Field(None, alias="rate")
    """The speed of the line in each direction, such as 1Gbit."""
    delay_s: kinds.Seconds | None = Field(None, alias="delay")
    """The delay of the line in each direction, such as 500us."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {"minProperties": 1}

    def unfit(self) -> Iterator[Fault]:
        if not self.given:
            yield (), say("it limits nothing"), say('write rate = "1Gbit" or delay = "1ms"')


class _Level(Written):
    startup: kinds.Variables = {}
    """Server variables that are set when a throwaway server starts."""
    dynamic: kinds.Variables = {}
    """Server variables that are set while the server runs, and restored."""
    per_session: kinds.Variables = Field(
        {}, alias="session", examples=['session = { work_mem = "64MB" }']
    )
    """Server variables that each connection of the load sets for itself."""
    client: Annotated[ClientOptions, table(_Client, ClientOptions)] | None = None
    """How the load connects."""
    sandbox: _Sandbox | None = None
    """Another throwaway server."""
    cgroup: Annotated[CgroupLimit, table(_Cgroup, CgroupLimit)] | None = None
    """The size of the instance; as root, for throwaway servers."""
    network: Annotated[NetworkLimit, table(_Network, NetworkLimit)] | None = None
    """The line between the load and the server; as root, for throwaway servers."""
    target: _Target | None = None
    """Another server: its URL."""


def _name(word: str) -> str:
    if not re.fullmatch(NAME, word):
        said = say("{word} cannot be the name of a factor or level", word=repr(word))
        raise InvalidValue(said, say("write letters, digits, dots, dashes and underscores"))
    return word


_Name = Annotated[str, AfterValidator(_name), form({"type": "string", "pattern": f"^{NAME}$"})]


_Levels = Annotated[dict[_Name, _Level], Field(json_schema_extra={"minProperties": 2})]


class _Search(Written):
    objective: kinds.Limit | None = None
    """Find the highest rate that holds it, such as p99<10ms."""
    peak: bool = False
    """Find the highest throughput of a climb of 1, 2, 4 … users."""
    most_users: kinds.Count | None = None
    """The climb ends here. Default: 1024."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {
            "anyOf": [{"required": ["objective"]}, {"required": ["peak"]}],
            "dependencies": {"most_users": ["peak"]},
        }

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
    address: kinds.Text = Field(examples=['address = "10.0.0.1:6379", as Ray has it'])
    """The address of the cluster, as Ray has it."""
    generators: kinds.Count | None = None
    """The number of load generators. Default: one on each node."""
    cpus_per_generator: kinds.Count | None = None
    """Cores that each load generator reserves. Default: 1."""
    on_node_loss: OnNodeLoss | None = None
    """What happens to a step that loses a generator. Default: continue."""


class _Alone(Written):
    """A workload on its own, or a member of a mix."""

    name: kinds.Text = ""
    """A built-in workload, or the file of a template (.toml) or script (.lua)."""
    tables: kinds.Count = DEFAULT_TABLES
    """The number of tables."""
    table_size: kinds.Count = DEFAULT_TABLE_SIZE
    """Rows of each table."""
    warehouses: kinds.Count | None = None
    """The number of warehouses of tpcc, in place of tables and table_size."""
    options: kinds.Options = {}
    """The workload's own options."""
    distribution: kinds.Spread = Special()
    """How keys are drawn from the rows."""

    @property
    def is_script(self) -> bool:
        return self.name.endswith(SCRIPT_ENDING)

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {"required": ["name"]}

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
    users: kinds.Count | None = None
    """Users of its own, in addition to the ladder's."""
    weight: float | None = Field(None, gt=0, le=1e9, examples=["weight = 9, or 0.5"])
    """Its share of the events of the shared users."""
    think_s: kinds.SecondsOrNone | None = Field(None, alias="think")
    """The time between two events of its own users."""
    called: kinds.Text | None = Field(None, alias="as")
    """Its name in reports."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        own = super().together()
        return {
            **own,
            "dependencies": {"think": ["users"], "weight": {"not": {"required": ["users"]}}},
        }

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
    """Several workloads at once."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        return {
            "if": {"required": ["mix"]},
            "then": {"properties": dict.fromkeys(_OF_MEMBERS, NOTHING)},
            "else": super().together(),
        }

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
    name: kinds.Text | None = None
    """The name of the run. Default: the file's name."""
    target: _Target | None = None
    """The server: its URL, as text or as a table."""
    sandbox: _Sandbox | None = None
    """A throwaway server, which is started for the experiment."""
    workload: Tables[_Workload] = Field([], examples=["[[workload]] and name below it"])
    """What each user does; several workloads are measured one after another."""
    factor: dict[_Name, _Levels] = {}
    """What varies: [factor.NAME.LEVEL]. The other levels are compared with the first one."""
    phases: kinds.Phases = ()
    """The load over each step, in place of ladder (or rates), duration and warmup."""
    ladder: kinds.Levels = Field([], examples=["ladder = [1, 8, 64]"])
    """Numbers of virtual users: a list, or a text with ranges such as 1..128."""
    rates: kinds.Several[kinds.RatePerS] = Field(
        [], examples=['rates = [1000, 2000] or ["1000..8000/60s"]']
    )
    """Open loop: events a second, or ramps such as 1000..8000/60s."""
    search: Annotated[SearchPlan, table(_Search, SearchPlan)] | None = None
    """Search for levels, in place of ladder and rates."""
    duration_s: kinds.Seconds = Field(30.0, alias="duration")
    """The measured time of a step."""
    warmup: kinds.WarmupTime = WarmupAuto()
    """What is driven before the window: a time, or auto."""
    repeats: kinds.Count | None = None
    """How often each step is measured; even where variants are compared. Default: 6."""
    until: kinds.Share | None = None
    """Repeat until effects are known to plus or minus this share."""
    time_limit: kinds.Seconds = DEFAULT_TIME_LIMIT_S
    """The longest time that until may take."""
    level: kinds.Share | None = None
    """The accepted chance of a false verdict, over all cells together. Default: 0.05."""
    margin: kinds.Share | None = None
    """The smallest difference that matters. Default: 3%."""
    power: kinds.Share | None = None
    """The chance with which the repeats find a difference of the margin. Default: 0.9."""
    restore: Restore | None = None
    """How changed data is restored. Default: auto."""
    columns: kinds.Several[Column] = Field(
        [], examples=['columns = ["log_syncs", "transactions_per_sync"]']
    )
    """Figures to show next to the rates."""
    seed: int = Field(0, ge=0, lt=2**63, examples=["seed = 7"])
    """The seed of the users' random streams and of the rows."""
    cluster: Annotated[ClusterAsked, table(_Cluster, ClusterAsked)] | None = None
    """The machines that drive each step together."""
    timeline: bool = False
    """Whether it is a failover drill."""
    init_sql: kinds.Texts = []
    """Statements that each session sends before its first event."""
    isolation: Isolation | None = None
    """The isolation level of each session."""
    think: kinds.SecondsOrNone = 0.0
    """The time between two events of a user."""
    on_error: Literal["restart", "continue", "stop"] | None = None
    """What follows a deadlock or a lock wait that was too long. Default: restart."""
    reconnect_after: kinds.Count | None = Field(None, alias="reconnect")
    """A user opens a new connection after this many transactions."""
    idle: kinds.Count | None = None
    """Idle connections in addition to the users'."""
    abort_if: kinds.Several[kinds.AbortIf] = Field([], examples=[_CONDITIONS])
    """Conditions that end the load, such as threads_running>200 for 5s."""
    max_load: kinds.Several[kinds.MaxLoad] = Field([], examples=[_CONDITIONS])
    """Conditions that hold the load back while they are met."""
    no_abort: bool = False
    """Turn off the default conditions for servers that are not throwaway ones."""
    replicas: kinds.Several[kinds.Url] = Field(
        [], examples=['replicas = ["mysql://user@host:3306"]']
    )
    """Replicas whose lag is observed."""

    @classmethod
    def together(cls) -> dict[str, Any]:
        said_by_phases = {"properties": dict.fromkeys(("duration", "warmup", "rates"), NOTHING)}
        return {
            "required": ["workload"],
            "dependencies": {"phases": said_by_phases, "time_limit": ["until"]},
        }

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
