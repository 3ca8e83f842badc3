"""The plan of a run: parsed once at the boundary, then immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from loadstone.model.cluster import ClusterAsked
from loadstone.model.compatible import restart_on
from loadstone.model.distribution import Distribution as Distribution
from loadstone.model.distribution import Gaussian as Gaussian
from loadstone.model.distribution import Pareto as Pareto
from loadstone.model.distribution import Special as Special
from loadstone.model.distribution import Uniform as Uniform
from loadstone.model.distribution import Zipfian as Zipfian
from loadstone.model.error_codes import IGNORED_BY_SCRIPTS, MYSQL, POSTGRESQL, RESTART_ON, Code
from loadstone.model.frozen import Frozen
from loadstone.model.pgbench import PgbenchSpec
from loadstone.model.protection import Protection
from loadstone.model.search import SearchPlan
from loadstone.model.target import Target, is_off
from loadstone.model.template import TemplateSpec

OptionValue = bool | int | float | str


WATCHED = "watch"
"""The workload name of a run that only observed a server, without load of its own."""

REPLAY = "replay"
"""The workload name of a run that sent the statements of a log again."""


class ScriptSpec(Frozen):
    """A script written for sysbench, and its arguments."""

    path: str
    command: str | None = "run"
    """`run` drives events; other commands do what the script defines; `None`: none was given."""

    options: dict[str, str] = {}
    """The script's own options, as given."""

    general: dict[str, bool | float | str | tuple[str, ...]] = {}
    """The other content of `sysbench.opt`, without the password."""

    arguments: tuple[str, ...] = ()
    """The command line, starting with the program, with passwords blanked."""

    ignore_errors: tuple[Code, ...] | None = IGNORED_BY_SCRIPTS[MYSQL]
    """Errors after which an event is restarted; `None`: all."""

    several_statements: bool = True
    """Whether one text may hold several statements; the server refuses it otherwise."""

    each_error: bool = False
    """Whether each error that is not ignored is reported, and not only the first of each code."""

    distribution: Distribution = Special()
    version: str = "1.0.20"


def is_absent(value: object) -> bool:
    """Whether there is no value."""
    return value is None


def is_whole(share: float) -> bool:
    """Whether a share is all."""
    return share == 1.0


class WorkloadSpec(Frozen):
    """The work of a virtual user, and the tables it uses."""

    name: str
    tables: PositiveInt
    table_size: PositiveInt
    options: dict[str, OptionValue] = {}
    distribution: Distribution = Special()
    warehouses: NonNegativeInt = 0
    """The number of warehouses of `tpcc`; 0 for all other workloads."""

    template: TemplateSpec | None = None
    """Replaces a built-in workload; it defines its own tables."""
    pgbench: PgbenchSpec | None = Field(default=None, exclude_if=is_absent)
    """A script of pgbench that replaces a built-in workload, on tables that are there already; not
    written if there is none."""
    book: NonNegativeInt = 0
    """Plus a step's number, it identifies the step's entries in a ledger; 0 without a ledger."""

    script: ScriptSpec | None = None
    """Drives the users in place of a built-in workload; it defines its own tables."""

    mix: tuple[MixMember, ...] = ()
    """In an experiment: several workloads at once. Then `name` has the names of all, and `tables`
    and `table_size` are the largest of any of them."""

    @property
    def alone(self) -> tuple[WorkloadSpec, ...]:
        """The workloads of the mix, or the single one."""
        return tuple(member.workload for member in self.mix) or (self,)

    @property
    def own_users(self) -> int:
        """The dedicated users of a mix's members, who are added to every level."""
        return sum(member.users or 0 for member in self.mix)


class MixMember(Frozen):
    """One of several workloads at once, with users of its own or a share of the shared events."""

    name: str
    workload: WorkloadSpec
    users: PositiveInt | None = None
    """Dedicated users of this member, in a closed loop next to all others."""

    weight: PositiveFloat | None = None
    """The weight by which it is drawn for each event of the shared users."""

    think_s: NonNegativeFloat | None = None
    """Think time of its dedicated users; `None`: the same as for all others."""


class Phase(Frozen):
    """A part of a step's time, in which the number of users or the rate changes linearly."""

    name: str
    seconds: PositiveInt
    users: tuple[NonNegativeInt, NonNegativeInt] | None = None
    """Users at work at its start and its end; `None` in an open loop."""

    rate: tuple[NonNegativeFloat, NonNegativeFloat] | None = None
    """Events a second at its start and its end; `None` in a closed loop."""

    is_warmup: bool = False
    """Whether the phase comes before the window, so that it only counts in its own figures."""

    @property
    def levels(self) -> tuple[float, float]:
        """The users or the rate at its start and its end."""
        return self.users or self.rate or (0, 0)

    def __str__(self) -> str:
        """The phase's load as the user writes it: `16..256` users, `1000/s`."""
        begin, end = self.levels
        unit = "" if self.users else "/s"
        return f"{begin:g}{unit}" if begin == end else f"{begin:g}..{end:g}{unit}"


class Closed(Frozen):
    """A user's next event is due when the last one has ended, after the think time."""

    kind: Literal["closed"] = "closed"
    think_s: NonNegativeFloat = 0.0


class Rate(Frozen):
    """The events a second that are due, over all users; a ramp starts with the window."""

    rate: NonNegativeFloat
    to: NonNegativeFloat | None = None
    over_s: PositiveFloat | None = None

    @property
    def highest(self) -> float:
        """The highest rate, in events a second."""
        return max(self.rate, self.to or 0.0)

    def __str__(self) -> str:
        """The value as on the command line."""
        if self.to is None:
            return f"{self.rate:g}"
        return f"{self.rate:g}..{self.to:g}/{self.over_s:g}s"


class Open(Frozen):
    """Events are due by a schedule of their own; each takes a free user."""

    kind: Literal["open"] = "open"
    gaps: Literal["poisson", "uniform"] = "poisson"
    max_backlog: Annotated[int, Field(ge=1, le=100_000_000)] = 100_000
    latest_start_s: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None, exclude_if=is_absent
    )
    """How long after it was due an event may start; a later one is skipped. `None`, and not
    written: any time."""


Arrival = Annotated[Closed | Open, Field(discriminator="kind")]


class WarmupSeconds(Frozen):
    """The window starts after this time."""

    kind: Literal["seconds"] = "seconds"
    warmup_s: NonNegativeFloat = 5.0


class WarmupAuto(Frozen):
    """The window starts where the series has settled, within the first half of the duration."""

    kind: Literal["auto"] = "auto"


Warmup = Annotated[WarmupSeconds | WarmupAuto, Field(discriminator="kind")]


def is_empty(listed: Sized) -> bool:
    """Whether nothing is listed."""
    return not listed


class ConnectPolicy(Frozen):
    """How connections are opened; a thousand at once would make servers fail."""

    at_once: PositiveInt = 64
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    retries: NonNegativeInt = 5
    backoff_s: Annotated[float, Field(ge=0, le=3600)] = 0.1
    """The first wait between two attempts; it doubles up to `longest_backoff_s`."""

    longest_backoff_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    source_addresses: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Addresses of this machine that connections over TCP leave from, in turn; empty, and not
    written: the kernel's choice."""


READ_ONLY: Mapping[str, str] = {
    MYSQL: "SET SESSION TRANSACTION READ ONLY",
    # There the former is of the current transaction only.
    POSTGRESQL: "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
}
"""Makes the server refuse all changes of data in a session, except to temporary tables."""


class Session(Frozen):
    """The settings of each connection before its first event."""

    init_sql: tuple[str, ...] = ()
    isolation: str | None = None
    charset: str = "utf8mb4"
    variables: dict[str, str] = Field(default={}, exclude_if=is_empty)
    """Server variables of the session, as an experiment's level has them. They are statements of
    `init_sql` as soon as the server's family is known, and none in a step's plan."""


StatementProtocol = Literal["prepared", "text", "extended", "pipelined"]

USERS_OF_A_RATE = 64
"""Default users in an open loop, which limit the events in flight: enough for most servers."""


class Drive(Frozen):
    """How the load is driven, the same for all steps."""

    protocol: StatementProtocol = "prepared"
    """How statements travel; `extended`: each is parsed for one execution, with its parameters;
    `pipelined`: prepared, and those of a transaction that need no earlier answer go at once."""

    arrival: Arrival = Closed()
    connect: ConnectPolicy = ConnectPolicy()
    session: Session = Session()
    on_error: Literal["restart", "continue", "stop", "end_user"] = "restart"
    """`end_user`: errors that restart no event end the user that they happen to."""

    restart_on: Literal["all"] | tuple[Code, ...] = RESTART_ON[MYSQL]
    """The errors after which an event is restarted, if `on_error` is `restart` or `end_user`."""

    max_tries: Annotated[int, Field(ge=1, lt=2**32)] | None = Field(
        default=None, exclude_if=is_absent
    )
    """After this many tries an event that errors restart has failed; `None`, and not written: any
    number."""

    tries_within_s: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None, exclude_if=is_absent
    )
    """An event that was due longer ago is not tried again; `None`, and not written: it is."""

    drain_s: NonNegativeFloat = 5.0
    """The time that events in flight at the window's end may take to finish."""

    reconnect_after: PositiveInt | None = None
    """A user opens a new connection after this many events; `None`: never."""

    idle: NonNegativeInt = 0
    """Idle connections in addition to the users'."""

    per_user: bool = False
    """Whether samples have the figures of each virtual user."""

    pauses_s: Annotated[float, Field(ge=0.001, le=3600)] | None = None
    """The shortest time without success of a user that is reported as a pause; `None`: none is."""

    figures_by_command: bool = Field(default=False, exclude_if=is_off)
    """Whether samples have the figures of each command of a script of pgbench; not written unless
    set."""

    event_log: bool = Field(default=False, exclude_if=is_off)
    """Whether samples have a row for each event; not written unless set."""

    event_log_share: Annotated[float, Field(gt=0, le=1)] = Field(default=1.0, exclude_if=is_whole)
    """The share of events that have one, drawn at random; not written if it is all of them."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    shards: Annotated[int, Field(ge=1, le=1024)] = 1
    """The most event loops, each on its own thread."""
    users_a_shard: PositiveInt = 1
    """Users per event loop until the most is reached: few users share their wake-ups on one."""

    shards_asked: bool = False
    """Whether the user set `shards`, so that it is not adjusted."""

    @classmethod
    def of_drill(cls) -> Drive:
        """The settings of a failover drill: count all errors, and report outages to the second."""
        # A short wait before reconnecting, so that it hardly adds to the reported outage.
        connect = ConnectPolicy(longest_backoff_s=0.1)
        return cls(on_error="continue", pauses_s=1.0, connect=connect)

    def beside_the_server(self, family: str) -> Drive:
        """These settings if a server of this family is on this machine: it gets half of the cores.

        PostgreSQL has a process for each session, and the kernel wakes it where its client runs:
        with a single event loop another core is idle in between (docs/decisions/0042).
        """
        if self.shards_asked:
            return self
        least = 2 if family == POSTGRESQL else 1
        shards = min(self.shards, max(least, self.shards // 2))
        return self.model_copy(update={"shards": shards})

    def at(self, family: str, flavours: Iterable[str] = ()) -> Drive:
        """These settings with the default restart errors of servers, unless the user set any."""
        if "restart_on" in self.model_fields_set:
            return self
        return self.model_copy(update={"restart_on": restart_on(family, flavours)})

    def reading(self, family: str) -> Drive:
        """These settings with read-only sessions, as the servers of a family make them."""
        # After the user's statements, so that they cannot override it.
        init_sql = (*self.session.init_sql, READ_ONLY[family])
        session = self.session.model_copy(update={"init_sql": init_sql})
        return self.model_copy(update={"session": session})

    def shards_for(self, users: int) -> int:
        """The number of event loops for this many virtual users."""
        return min(self.shards, -(-users // self.users_a_shard))


class Load(Frozen):
    """The common part of a plain run and an experiment: the levels, and how each is driven."""

    name: str
    ladder: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    rates: tuple[Rate, ...] = ()
    """Open loop: the rates to try with each number of users. Empty in a closed loop."""
    phases: tuple[Phase, ...] = ()
    """How the load changes during each step; empty: it is constant."""
    search: SearchPlan | None = None
    """If set, the steps' results determine the levels; ladder and rates are where it starts."""
    duration_s: PositiveFloat = 30.0
    warmup: Warmup = WarmupSeconds()
    repeats: PositiveInt = 1
    """How often each level is measured."""
    drive: Drive = Drive()
    cluster: ClusterAsked | None = None
    """The machines that drive each step together; `None`: only this one."""
    protection: Protection = Protection()
    """The conditions that end the load, or hold it back, before it does harm."""


class Plan(Load):
    """One workload or mix on targets: a plain run, or one variant's part of an experiment."""

    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    workload: WorkloadSpec
    """The workload; for a mix it has the names of all, and the largest tables and sizes of any."""

    mix: tuple[MixMember, ...] = ()
    """Several workloads at once; empty: only `workload`."""

    events: PositiveInt | None = None
    """The most events to start in the window; `None`: only time limits them."""

    events_of_each_user: bool = Field(default=False, exclude_if=is_off)
    """Whether each user may start `events`, rather than all together; not written unless set."""

    @property
    def warmup_s(self) -> float:
        """The fixed warm-up; 0 if the window is chosen afterwards."""
        return self.warmup.warmup_s if isinstance(self.warmup, WarmupSeconds) else 0.0

    @property
    def users_of_members(self) -> int:
        """The dedicated users of a mix's members, who are added to every level."""
        return sum(member.users or 0 for member in self.mix)


_Number = Annotated[int, Field(gt=0, lt=2**31)]
"""The range of a step's number, limited by the format of the tables of seconds."""


class Step(Frozen):
    """A planned step with one window: variant × workload × concurrency × rate × repeat."""

    number: _Number
    variant: str = "default"
    workload: str
    concurrency: _Number
    rate: Rate | None = None
    repeat: _Number = 1

    @property
    def tag(self) -> str:
        """The prefix of the step's lines in the latency log."""
        return f"step-{self.number}"
