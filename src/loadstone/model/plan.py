"""What is asked of a run: parsed once at the edge, frozen from then on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from loadstone.model.cluster import ClusterAsked
from loadstone.model.distribution import Distribution as Distribution
from loadstone.model.distribution import Gaussian as Gaussian
from loadstone.model.distribution import Pareto as Pareto
from loadstone.model.distribution import Special as Special
from loadstone.model.distribution import Uniform as Uniform
from loadstone.model.distribution import Zipfian as Zipfian
from loadstone.model.error_codes import MYSQL, RESTART_ON, Code
from loadstone.model.frozen import Frozen
from loadstone.model.protection import Protection
from loadstone.model.search import SearchPlan
from loadstone.model.target import Target
from loadstone.model.template import TemplateSpec

OptionValue = bool | int | float | str


WATCHED = "watch"
"""Name of the workload of a run that only watched a server, without load of its own."""


class ScriptSpec(Frozen):
    """A script written for sysbench, and what it is told."""

    path: str
    command: str | None = "run"
    """`run` drives events, any other is carried out as the script says; `None`: none was given."""

    options: dict[str, str] = {}
    """The script's own, as they were given."""

    general: dict[str, bool | float | str | tuple[str, ...]] = {}
    """What else stands in `sysbench.opt`; the password is not among it."""

    arguments: tuple[str, ...] = ()
    """The command line, the program first, with passwords blanked."""

    ignore_errors: tuple[Code, ...] | None = RESTART_ON[MYSQL]
    """Errors that begin an event anew; `None`: all."""

    distribution: Distribution = Special()
    version: str = "1.0.20"


class WorkloadSpec(Frozen):
    """What a virtual user does, and the tables it does it to."""

    name: str
    tables: PositiveInt
    table_size: PositiveInt
    options: dict[str, OptionValue] = {}
    distribution: Distribution = Special()
    warehouses: NonNegativeInt = 0
    """How many `tpcc` has; 0 for all others."""

    template: TemplateSpec | None = None
    """What users do in place of a workload that the engine has; it knows its own tables."""
    book: NonNegativeInt = 0
    """What tells a ledger's entries from others, with a step's number added; 0 without a ledger."""

    script: ScriptSpec | None = None
    """What drives the users in place of a workload of ours; it knows its own tables."""

    mix: tuple[MixMember, ...] = ()
    """In an experiment: several workloads at once. `name` has then the names of all, and `tables`
    and `table_size` are the most that any of them has."""

    @property
    def alone(self) -> tuple[WorkloadSpec, ...]:
        """The workloads of a mix, or the only one."""
        return tuple(member.workload for member in self.mix) or (self,)

    @property
    def own_users(self) -> int:
        """Users that members of a mix have for themselves: they are part of every level."""
        return sum(member.users or 0 for member in self.mix)


class MixMember(Frozen):
    """One of several workloads at once: with users of its own, or a share of the others' events."""

    name: str
    workload: WorkloadSpec
    users: PositiveInt | None = None
    """Users of the member alone, in a closed loop beside all others."""

    weight: PositiveFloat | None = None
    """By which it is drawn for each event of the users that no member has for itself."""

    think_s: NonNegativeFloat | None = None
    """Think time of its own users; `None`: that of all others."""


class Phase(Frozen):
    """A stretch of a step's time: in a straight line from one number of users, or rate, on."""

    name: str
    seconds: PositiveInt
    users: tuple[NonNegativeInt, NonNegativeInt] | None = None
    """At work, at its begin and its end; `None` in an open loop."""

    rate: tuple[NonNegativeFloat, NonNegativeFloat] | None = None
    """Events a second; `None` in a closed loop."""

    is_warmup: bool = False
    """Whether the phase comes before the window, so that it counts in no figure but its own."""

    @property
    def levels(self) -> tuple[float, float]:
        """Users or rate at its two ends."""
        return self.users or self.rate or (0, 0)

    def __str__(self) -> str:
        """What it asks for, as it is written: `16..256` users, `1000/s`."""
        begin, end = self.levels
        unit = "" if self.users else "/s"
        return f"{begin:g}{unit}" if begin == end else f"{begin:g}..{end:g}{unit}"


class Closed(Frozen):
    """The next event is due when the one before has ended, after a time to think."""

    kind: Literal["closed"] = "closed"
    think_s: NonNegativeFloat = 0.0


class Rate(Frozen):
    """How many events a second are due, over all users; with a ramp, from the window's begin on."""

    rate: NonNegativeFloat
    to: NonNegativeFloat | None = None
    over_s: PositiveFloat | None = None

    @property
    def highest(self) -> float:
        """The most events a second that it asks for."""
        return max(self.rate, self.to or 0.0)

    def __str__(self) -> str:
        """The value as it is written on the command line."""
        if self.to is None:
            return f"{self.rate:g}"
        return f"{self.rate:g}..{self.to:g}/{self.over_s:g}s"


class Open(Frozen):
    """Events are due by a schedule of their own; each takes a user that is free."""

    kind: Literal["open"] = "open"
    gaps: Literal["poisson", "uniform"] = "poisson"
    max_backlog: Annotated[int, Field(ge=1, le=100_000_000)] = 100_000


Arrival = Annotated[Closed | Open, Field(discriminator="kind")]


class WarmupSeconds(Frozen):
    """The window begins after this time."""

    kind: Literal["seconds"] = "seconds"
    warmup_s: NonNegativeFloat = 5.0


class WarmupAuto(Frozen):
    """The window begins where the series has settled, within the first half of the duration."""

    kind: Literal["auto"] = "auto"


Warmup = Annotated[WarmupSeconds | WarmupAuto, Field(discriminator="kind")]


class ConnectPolicy(Frozen):
    """How connections are opened: servers fail under a storm of a thousand connects."""

    at_once: PositiveInt = 64
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    retries: NonNegativeInt = 5
    backoff_s: Annotated[float, Field(ge=0, le=3600)] = 0.1
    """The first wait between two attempts; it doubles up to the longest."""

    longest_backoff_s: Annotated[float, Field(ge=0, le=3600)] = 1.0


READ_ONLY = "SET SESSION TRANSACTION READ ONLY"
"""Has the server refuse whatever would change data in a session, but for temporary tables."""


class Session(Frozen):
    """What each connection is told before its first event."""

    init_sql: tuple[str, ...] = ()
    isolation: str | None = None
    charset: str = "utf8mb4"


USERS_OF_A_RATE = 64
"""In an open loop users are who may wait at the same time: enough of them for most servers."""


class Drive(Frozen):
    """How the load is driven, the same for all steps."""

    protocol: Literal["prepared", "text"] = "prepared"
    arrival: Arrival = Closed()
    connect: ConnectPolicy = ConnectPolicy()
    session: Session = Session()
    on_error: Literal["restart", "continue", "stop"] = "restart"
    restart_on: Literal["all"] | tuple[Code, ...] = RESTART_ON[MYSQL]
    """The errors that begin an event anew, where `on_error` is `restart`."""

    drain_s: NonNegativeFloat = 5.0
    """How long events in flight at the window's end may take."""

    reconnect_after: PositiveInt | None = None
    """A user takes a new connection after so many events; `None`: it keeps its own."""

    idle: NonNegativeInt = 0
    """Connections beside the users' that say nothing."""

    per_user: bool = False
    """Samples tell what each virtual user did."""

    pauses_s: Annotated[float, Field(ge=0.001, le=3600)] | None = None
    """From which length on a user's times without success are told; `None`: none are."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    shards: Annotated[int, Field(ge=1, le=1024)] = 1
    """At most so many event loops, a thread each."""
    users_a_shard: PositiveInt = 1
    """One more of them for each so many users: a few users share their wake-ups on one."""

    shards_asked: bool = False
    """Somebody said how many: then nothing else decides."""

    @classmethod
    def of_drill(cls) -> Drive:
        """For a failover drill: all errors are counted, and outages are told to the second."""
        # A wait before a connection is tried again that is no part of the outage that is told.
        connect = ConnectPolicy(longest_backoff_s=0.1)
        return cls(on_error="continue", pauses_s=1.0, connect=connect)

    def beside_the_server(self) -> Drive:
        """These settings where the server has this machine's cores too: half of them are its."""
        if self.shards_asked:
            return self
        return self.model_copy(update={"shards": max(1, self.shards // 2)})

    def at(self, family: str) -> Drive:
        """These settings with a family's own errors, where nobody said which."""
        if "restart_on" in self.model_fields_set:
            return self
        return self.model_copy(update={"restart_on": RESTART_ON[family]})

    def reading(self) -> Drive:
        """These settings with sessions in which nothing can be written."""
        # Behind what somebody else wants, so that it has the last word.
        init_sql = (*self.session.init_sql, READ_ONLY)
        session = self.session.model_copy(update={"init_sql": init_sql})
        return self.model_copy(update={"session": session})

    def shards_for(self, users: int) -> int:
        """How many event loops share so many virtual users."""
        return min(self.shards, -(-users // self.users_a_shard))


class Load(Frozen):
    """What a plain run and an experiment have in common: the levels, and how each is driven."""

    name: str
    ladder: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    rates: tuple[Rate, ...] = ()
    """Open loop: the rates to try with each number of users. None in a closed loop."""
    phases: tuple[Phase, ...] = ()
    """How the load goes over each step; none: it stays."""
    search: SearchPlan | None = None
    """Levels follow from what the steps show; ladder and rates say where to begin."""
    duration_s: PositiveFloat = 30.0
    warmup: Warmup = WarmupSeconds()
    repeats: PositiveInt = 1
    """How often each level is measured."""
    drive: Drive = Drive()
    cluster: ClusterAsked | None = None
    """The machines that drive each step together; `None`: this one does."""
    protection: Protection = Protection()
    """What ends the load, or holds it back, before it does harm."""


class Plan(Load):
    """One workload, or one mix, on targets: a plain run, or one variant's part of an experiment."""

    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    workload: WorkloadSpec
    """The workload; for a mix the names of all, and the most tables and rows of any of them."""

    mix: tuple[MixMember, ...] = ()
    """Several workloads at once; none: `workload` alone."""

    events: PositiveInt | None = None
    """At most so many begin in the window; `None`: as many as there is time for."""

    @property
    def warmup_s(self) -> float:
        """The fixed warm-up; none when the window is chosen afterwards."""
        return self.warmup.warmup_s if isinstance(self.warmup, WarmupSeconds) else 0.0

    @property
    def users_of_members(self) -> int:
        """Users that a member of a mix has for itself: they are part of every level."""
        return sum(member.users or 0 for member in self.mix)


_Number = Annotated[int, Field(gt=0, lt=2**31)]
"""The tables of seconds have as much room for it."""


class Step(Frozen):
    """One measured window to come: variant × workload × concurrency × rate × repeat."""

    number: _Number
    variant: str = "default"
    workload: str
    concurrency: _Number
    rate: Rate | None = None
    repeat: _Number = 1

    @property
    def tag(self) -> str:
        """What the step's lines in the latency log begin with."""
        return f"step-{self.number}"
