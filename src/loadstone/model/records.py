"""The records that the engine sends while a step or load runs (docs/engine.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, WrapValidator, model_validator

from loadstone.model.error_codes import MYSQL, Code, Family, number_of, with_family
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.message import Message
from loadstone.model.pgbench import CommandFigures, LoggedEvent

Phase = Literal["warmup", "window", "drain"]

_EXACT = 2**53
"""Whole numbers up to this one are exact for every reader, even as floating point numbers."""

Whole = Annotated[int, Field(gt=-_EXACT, lt=_EXACT)]
Count = Annotated[int, Field(ge=0, lt=_EXACT)]


def _as_it_is(text: Any, checked: Callable[[Any], str]) -> str:
    return text if isinstance(text, Message) else checked(text)


Said = Annotated[str, WrapValidator(_as_it_is)]
"""A text from the engine, or a message of ours with its template and values."""


class Tally(Frozen):
    """The outcome of events, counted since the load started.

    At every instant `due == waiting + started + skipped` and
    `started == in_flight + succeeded + failed`.
    """

    due: Count
    waiting: Count
    started: Count
    skipped: Count
    in_flight: Count
    succeeded: Count
    failed: Count

    def balances(self) -> bool:
        """Whether both equations hold."""
        return (
            self.due == self.waiting + self.started + self.skipped
            and self.started == self.in_flight + self.succeeded + self.failed
        )


class MemberCounts(Frozen):
    """Counts of one workload of a mix in one interval."""

    events: Count = 0
    failed: Count = 0
    restarts: Count = 0
    retried: Count = 0
    """Events that succeeded or failed after at least one restart."""
    reads: Count = 0
    writes: Count = 0
    other: Count = 0
    due: Count = 0
    late: Count = 0
    skipped: Count = 0

    @property
    def queries(self) -> int:
        """The number of statements that were answered."""
        return self.reads + self.writes + self.other


class Counts(MemberCounts):
    """Counts of one interval; connections and bytes are not of a single workload."""

    reconnects: Count = 0
    connects: Count = 0
    bytes_in: Count = 0
    bytes_out: Count = 0


class TargetCounts(Frozen):
    """One target's part of an interval."""

    events: Count = 0
    queries: Count = 0
    errors: Count = 0
    connect_failures: Count = 0
    users: Count = 0


class IdleCounts(Frozen):
    """Counts of idle connections."""

    open: Count = 0
    """At the interval's end."""
    lost: Count = 0
    opened: Count = 0


class Share(NamedTuple):
    """Successful events of one virtual user or thread; response times are in nanoseconds."""

    number: int
    events: int
    busy_ns: int
    min_ns: int
    max_ns: int


class Pause(NamedTuple):
    """A time without success of a virtual user, in seconds since the load's start."""

    user: int
    from_s: float
    """The user's last success before it; 0 if there was none."""
    to_s: float | None
    """The user's first success after it; `None`: none until the step's end."""


class Entries(NamedTuple):
    """The outcome of the entries that a virtual user of `ledger` has written."""

    user: int
    settled: int
    """All entries up to this number are complete: acknowledged, or in doubt."""
    doubts: tuple[int, ...]
    """Entries that became in doubt since the last report."""


class LatencyNs(Frozen):
    """Quantiles of one histogram; all but `count` are empty if nothing was recorded."""

    count: Count = 0
    min: Count | None = None
    mean: float | None = None
    p50: Count | None = None
    p90: Count | None = None
    p95: Count | None = None
    p99: Count | None = None
    p999: Count | None = None
    max: Count | None = None
    above_range: Count = 0


class Latencies(Frozen):
    """Latency of good events: from the time they were due, and from the time they were sent."""

    response: LatencyNs = LatencyNs()
    service: LatencyNs = LatencyNs()


class MemberSample(Frozen):
    """One workload of a mix in one interval; its tally is since the load started."""

    name: str
    tally: Tally
    counts: MemberCounts
    errors: dict[str, int] = {}
    latency_ns: Latencies = Latencies()


class GeneratorUse(Frozen):
    """The resources that the generator itself used in an interval, over all shards."""

    cpu_us: Count
    wall_us: Count
    late_ns_p99: Count | None
    dispatch_ns_p99: Count | None = None
    held_ns_p99: Count | None = None
    run_delay_us: Count | None = None
    shards: Count


class GeneratorPart(Frozen):
    """The part of one of several generators in an interval."""

    number: Count
    users: Count
    events: Count
    response_ns_p99: Count | None = None
    use: GeneratorUse
    host_cpu_share: float | None = None
    """Used share of all cores of the host, by all processes."""
    net_bytes_in: Whole | None = None
    """Bytes received by the interface to the first target."""
    net_bytes_out: Whole | None = None
    line_bytes_per_s: float | None = None
    """Speed of that interface in each direction; `None`: it is virtual, or its speed is unknown."""


class GeneratorState(Frozen):
    """A generator takes part in the step, no longer does, or did not answer at its start."""

    kind: Literal["generator"] = "generator"
    number: Count
    """Its number in the step; absent generators come after all others."""
    node: str
    state: Literal["joined", "lost", "absent"]
    at_s: float = 0.0
    """Seconds since the load started."""
    users: Count
    clock_offset_ns: Whole | None = None
    """By how much its clock is ahead of the head's."""
    clock_bound_ns: Count | None = None
    """The largest possible error of that offset."""
    reason: Said | None = None


class Connected(Frozen):
    """All virtual users are connected and the load starts."""

    kind: Literal["connected"] = "connected"
    seconds: float
    users: Count
    idle: Count = 0
    """Idle connections in addition to theirs."""
    encrypted_users: Count
    tls: str | None = None
    why_in_clear: str | None = None
    """Why connections are not encrypted although that is preferred and the server offers it."""
    refused_over_tls: str | None = None
    """The server's refusal of a login over TLS, where connections are not encrypted because of
    it."""
    compressed_users: Count = 0
    compression: str | None = None
    server_version: str | None = None
    connect_failures: dict[str, Count] = {}
    before: MemberCounts = MemberCounts()
    """What scripts did meanwhile, in `init()` and `thread_init()`: no sample has it."""


class Sample(Frozen):
    """One interval of a step, about a second long."""

    kind: Literal["sample"] = "sample"
    phase: Phase
    from_s: float
    to_s: float
    tally: Tally
    counts: Counts
    errors: dict[str, Count] = {}
    connect_failures: dict[str, Count] = {}
    users: Count
    targets: tuple[TargetCounts, ...] = ()
    idle: IdleCounts | None = None
    """`None`: the plan has no idle connections."""
    members: tuple[MemberSample, ...] = ()
    """The members of a mix, in the plan's order."""
    per_user: tuple[Share, ...] = ()
    pauses: tuple[Pause, ...] = ()
    """Pauses that ended in the interval, or with the step."""
    ledger: tuple[Entries, ...] = ()
    """Entries of users that have written; they are kept in a separate file, not in the journal."""
    commands: tuple[CommandFigures, ...] = ()
    """Of scripts of pgbench, commands that were executed or failed; empty unless requested."""
    event_log: tuple[LoggedEvent, ...] = ()
    """Events in the order of their ends on each shard; empty unless requested, and not in the
    journal."""
    latency_ns: Latencies = Latencies()
    generator: GeneratorUse
    generators: tuple[GeneratorPart, ...] = ()
    """With several generators, the part of each; lost ones have none."""
    hlog: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _ends_after_its_begin(self) -> Self:
        if self.to_s < self.from_s:
            raise ValueError("the interval ends before its begin")
        return self

    @property
    def seconds(self) -> float:
        """The actual length of the interval."""
        return self.to_s - self.from_s


class Outage(Frozen):
    """A time in which connections were lost and reopened."""

    kind: Literal["outage"] = "outage"
    from_s: float
    to_s: float | None
    users: Count
    reason: str


class Printed(Frozen):
    """Output of a script, including line ends."""

    kind: Literal["printed"] = "printed"
    text: str

    is_aside: bool = False
    """It is meant for stderr."""


class Milestone(Frozen):
    """A script has reached a part that runs once for all users."""

    kind: Literal["script"] = "script"
    stage: Literal["initialised", "done"]


class Complaint(Frozen):
    """A part of a script that runs after the load has failed: whose, and why."""

    kind: Literal["complaint"] = "complaint"
    message: str


class Stuck(Frozen):
    """A script has been running without a statement; has the file and line where it is."""

    kind: Literal["stuck"] = "stuck"
    seconds: float
    place: str


class FirstError(Frozen):
    """The first error with a code, with the server's message."""

    kind: Literal["error"] = "error"
    family: Family = MYSQL
    code: Code
    message: str
    statement: str | None = None
    preparing: bool = False
    """A script's statement was refused when it was prepared, not when it was executed."""

    prepared: bool = False
    """A script's prepared statement was refused when it was executed."""

    position: int | None = None
    """Which character of a statement that was refused when it was prepared is wrong, from 1."""

    target: int | None = None
    """The index of the target that has refused a script's connection."""

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)

    @property
    def number(self) -> int:
        """The code as a number; 0 if it is not one."""
        return number_of(self.code) or 0


class UserEnded(Frozen):
    """A user has ended after an error, and its connection is closed."""

    kind: Literal["user_ended"] = "user_ended"
    user: Count
    member: Count = 0
    """The place of its event's workload among the members of a mix."""
    command: Count | None = None
    """The number of the script's command that failed, from 0; `None`: it was none."""
    family: Family
    code: Code
    message: str


class EngineFailure(Frozen):
    """The reason why a step or a load could not continue."""

    kind: str
    family: Family | None = None
    code: Code | None = None
    sql_state: str | None = None
    message: Said
    target: Whole | None = None
    statement: str | None = None
    in_clear: str | None = None
    """What came of the same login without TLS, tried because this one was refused over TLS."""

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)

    @property
    def number(self) -> int | None:
        """The code as a number; `None` if it is not one."""
        return number_of(self.code)


class End(Frozen):
    """The last record of a step."""

    kind: Literal["end"] = "end"
    reason: Literal["finished", "stopped", "failed"]
    error: EngineFailure | None = None
    seconds: float
    tally: Tally


class LoadProgress(Frozen):
    """The progress of a bulk load."""

    kind: Literal["progress"] = "progress"
    seconds: float
    rows: Count
    rows_total: Count
    phase: Literal["tables", "rows", "indexes", "keys", "verify"]
    tables_done: Count
    method: str
    takes_files: bool = True
    """Whether what answers has LOAD DATA at all, so that a setting could allow it."""


class LockHolder(Frozen):
    """A session that holds the lock that a statement waits for."""

    connection: Whole
    user: str | None = None
    seconds: Count | None = None
    """The age of its transaction, or the time its statement has been running."""
    statement: str | None = None
    """Its current statement, without quoted texts; `None`: it is between two statements."""


class LoadStalled(Frozen):
    """A statement of a bulk load makes no progress."""

    kind: Literal["stalled"] = "stalled"
    seconds: float
    connection: Whole | None = None
    """The server's number of the connection; `None` while it is being opened."""
    statement: str
    silent_s: float
    waits_for: Said
    holder: LockHolder | None = None
    others: Count = 0
    """The number of further connections of the load without progress."""
    deed: Literal["watched", "ended", "given_up"] = "watched"


class TableIdentity(Frozen):
    """A server's facts about a table that distinguish it from another table of the same name."""

    made: tuple[tuple[str | None, ...], ...]
    definition: tuple[tuple[str | None, ...], ...]


class KnownTable(Frozen):
    """A table after a load's stage `make`, for the following stages."""

    table: Count
    """Number of the table in the layout."""
    is_new: bool
    missing: tuple[tuple[Count, Count], ...] | None = None
    """Ids to load into an existing table: the first and the last of each contiguous range."""
    identity: TableIdentity


class MissingRows(Frozen):
    """A range of a table's rows that is incomplete."""

    table: str
    condition: str
    """The range as an SQL condition."""
    rows: Count


class LoadEnd(Frozen):
    """The last record of a bulk load."""

    kind: Literal["end"] = "end"
    reason: Literal["finished", "stopped", "failed"]
    error: EngineFailure | None = None
    seconds: float
    rows: Count
    rows_loaded: Count
    method: str
    cpu_us: Count = 0
    tables: tuple[KnownTable, ...] = ()
    """After the stage `make`."""
    missing: tuple[MissingRows, ...] = ()
    """After the stage `look`."""


AnyStepRecord = (
    Connected
    | Sample
    | FirstError
    | UserEnded
    | Outage
    | Printed
    | Milestone
    | Complaint
    | Stuck
    | GeneratorState
    | End
)
StepRecord = Annotated[AnyStepRecord, Field(discriminator="kind")]
AnyLoadRecord = LoadProgress | LoadStalled | LoadEnd
LoadRecord = Annotated[AnyLoadRecord, Field(discriminator="kind")]

STEP_RECORD: TypeAdapter[AnyStepRecord] = TypeAdapter(StepRecord, config=DEFERRED)
LOAD_RECORD: TypeAdapter[AnyLoadRecord] = TypeAdapter(LoadRecord, config=DEFERRED)
