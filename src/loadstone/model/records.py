"""The records that the engine sends up while a step runs (docs/engine.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, WrapValidator, model_validator

from loadstone.model.error_codes import MYSQL, Code, Family, number_of, with_family
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message

Phase = Literal["warmup", "window", "drain"]

_EXACT = 2**53
"""Up to here all whole numbers are exact wherever they are read, also as floating point numbers."""

Whole = Annotated[int, Field(gt=-_EXACT, lt=_EXACT)]
Count = Annotated[int, Field(ge=0, lt=_EXACT)]


def _as_it_is(text: Any, checked: Callable[[Any], str]) -> str:
    return text if isinstance(text, Message) else checked(text)


Said = Annotated[str, WrapValidator(_as_it_is)]
"""What the engine said, or a message of ours, which keeps what it was made from."""


class Tally(Frozen):
    """What became of the events, counted since the load began.

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
        """Whether both laws hold."""
        return (
            self.due == self.waiting + self.started + self.skipped
            and self.started == self.in_flight + self.succeeded + self.failed
        )


class MemberCounts(Frozen):
    """What one workload of a mix did in one interval."""

    events: Count = 0
    failed: Count = 0
    restarts: Count = 0
    reads: Count = 0
    writes: Count = 0
    other: Count = 0
    due: Count = 0
    late: Count = 0
    skipped: Count = 0

    @property
    def queries(self) -> int:
        """All statements that were answered."""
        return self.reads + self.writes + self.other


class Counts(MemberCounts):
    """What happened in one interval; connections and bytes belong to no workload alone."""

    reconnects: Count = 0
    connects: Count = 0
    bytes_in: Count = 0
    bytes_out: Count = 0


class TargetCounts(Frozen):
    """What one target had of an interval."""

    events: Count = 0
    queries: Count = 0
    errors: Count = 0
    connect_failures: Count = 0
    users: Count = 0


class IdleCounts(Frozen):
    """What became of the connections that say nothing."""

    open: Count = 0
    """At the interval's end."""
    lost: Count = 0
    opened: Count = 0


class Share(NamedTuple):
    """Events that one virtual user, or thread, saw through; nanoseconds of response time."""

    number: int
    events: int
    busy_ns: int
    min_ns: int
    max_ns: int


class Pause(NamedTuple):
    """A time in which a virtual user saw no event through, since the load's begin."""

    user: int
    from_s: float
    """The user's last success before the outage; 0 where it had none."""
    to_s: float | None
    """The user's first success after the outage; `None`: none until the step's end."""


class Entries(NamedTuple):
    """What became of the entries that a virtual user of `ledger` has written."""

    user: int
    settled: int
    """All up to this number are over: acknowledged, or in doubt."""
    doubts: tuple[int, ...]
    """Entries in doubt since this was reported last."""


class LatencyNs(Frozen):
    """Quantiles of one histogram; all but `count` are empty when nothing was recorded."""

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
    """Latency of good events: from when they were due, and from when they were sent."""

    response: LatencyNs = LatencyNs()
    service: LatencyNs = LatencyNs()


class MemberSample(Frozen):
    """One workload of a mix in one interval; its tally is since the load began."""

    name: str
    tally: Tally
    counts: MemberCounts
    errors: dict[str, int] = {}
    latency_ns: Latencies = Latencies()


class GeneratorUse(Frozen):
    """What the generator itself spent in an interval, over all shards."""

    cpu_us: Count
    wall_us: Count
    late_ns_p99: Count | None
    dispatch_ns_p99: Count | None = None
    held_ns_p99: Count | None = None
    run_delay_us: Count | None = None
    shards: Count


class GeneratorPart(Frozen):
    """What one of several generators had of an interval."""

    number: Count
    users: Count
    events: Count
    response_ns_p99: Count | None = None
    use: GeneratorUse
    host_cpu_share: float | None = None
    """Share of all cores of the host, whoever used them."""
    net_bytes_in: Whole | None = None
    """Bytes received by the interface towards the first target."""
    net_bytes_out: Whole | None = None
    line_bytes_per_s: float | None = None
    """What that interface carries each way; `None`: a virtual one, or not told."""


class GeneratorState(Frozen):
    """A generator takes part in the step, does so no longer, or did not answer when it began."""

    kind: Literal["generator"] = "generator"
    number: Count
    """In the step; those that are absent come after all others."""
    node: str
    state: Literal["joined", "lost", "absent"]
    at_s: float = 0.0
    """Since the load began."""
    users: Count
    clock_offset_ns: Whole | None = None
    """How far its clock is ahead of the head's."""
    clock_bound_ns: Count | None = None
    """How wrong that can be at most."""
    reason: Said | None = None


class Connected(Frozen):
    """All virtual users are connected and the load begins."""

    kind: Literal["connected"] = "connected"
    seconds: float
    users: Count
    idle: Count = 0
    """Connections beside theirs that say nothing."""
    encrypted_users: Count
    tls: str | None = None
    compressed_users: Count = 0
    compression: str | None = None
    server_version: str | None = None
    connect_failures: dict[str, Count] = {}


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
    """`None`: the plan asked for none."""
    members: tuple[MemberSample, ...] = ()
    """Members of a mix, in the plan's order."""
    per_user: tuple[Share, ...] = ()
    pauses: tuple[Pause, ...] = ()
    """Pauses that ended in the interval, or with the step."""
    ledger: tuple[Entries, ...] = ()
    """Entries of users that have written; a file of their own has them, and not the journal."""
    latency_ns: Latencies = Latencies()
    generator: GeneratorUse
    generators: tuple[GeneratorPart, ...] = ()
    """Where there are several: each one's part, and nothing of one that is lost."""
    hlog: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _ends_after_its_begin(self) -> Self:
        if self.to_s < self.from_s:
            raise ValueError("the interval ends before its begin")
        return self

    @property
    def seconds(self) -> float:
        """How long the interval really was."""
        return self.to_s - self.from_s


class Outage(Frozen):
    """A time in which connections were lost and reopened."""

    kind: Literal["outage"] = "outage"
    from_s: float
    to_s: float | None
    users: Count
    reason: str


class Printed(Frozen):
    """What a script prints, with its ends of lines."""

    kind: Literal["printed"] = "printed"
    text: str


class Milestone(Frozen):
    """A script has come to a part that runs once for all users."""

    kind: Literal["script"] = "script"
    stage: Literal["initialised", "done"]


class Complaint(Frozen):
    """A part of a script that comes after the load has failed: whose, and why."""

    kind: Literal["complaint"] = "complaint"
    message: str


class Stuck(Frozen):
    """A script runs on and on without a statement; file and line where it was met."""

    kind: Literal["stuck"] = "stuck"
    seconds: float
    place: str


class FirstError(Frozen):
    """The first error of a code, with the server's words."""

    kind: Literal["error"] = "error"
    family: Family = MYSQL
    code: Code
    message: str
    statement: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)

    @property
    def number(self) -> int:
        """The code's number; 0: it is none."""
        return number_of(self.code) or 0


class EngineFailure(Frozen):
    """Why a step or a load could not go on."""

    kind: str
    family: Family | None = None
    code: Code | None = None
    sql_state: str | None = None
    message: Said
    target: Whole | None = None
    statement: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        return with_family(data)

    @property
    def number(self) -> int | None:
        """The code's number, where it is one."""
        return number_of(self.code)


class End(Frozen):
    """The last record of a step."""

    kind: Literal["end"] = "end"
    reason: Literal["finished", "stopped", "failed"]
    error: EngineFailure | None = None
    seconds: float
    tally: Tally


class LoadProgress(Frozen):
    """How far a bulk load has come."""

    kind: Literal["progress"] = "progress"
    seconds: float
    rows: Count
    rows_total: Count
    phase: Literal["tables", "rows", "indexes", "verify"]
    tables_done: Count
    method: str


class LockHolder(Frozen):
    """A session that has what a statement waits for."""

    connection: Whole
    user: str | None = None
    seconds: Count | None = None
    """How old its transaction is, or how long its statement has gone on."""
    statement: str | None = None
    """Without what stood between quotes; `None`: between two statements."""


class LoadStalled(Frozen):
    """A statement of a bulk load does not come on."""

    kind: Literal["stalled"] = "stalled"
    seconds: float
    connection: Whole | None = None
    """The server's number for it; `None` while it is opened."""
    statement: str
    silent_s: float
    waits_for: Said
    holder: LockHolder | None = None
    others: Count = 0
    """How many more connections of the load are silent."""
    deed: Literal["watched", "ended", "given_up"] = "watched"


class TableIdentity(Frozen):
    """What a server says of a table, so that another one of its name is told from it."""

    made: tuple[tuple[str | None, ...], ...]
    definition: tuple[tuple[str | None, ...], ...]


class KnownTable(Frozen):
    """A table as a load's stage `make` left it, for the stages that follow."""

    table: Count
    """Number of the table in the layout."""
    is_new: bool
    missing: tuple[tuple[Count, Count], ...] | None = None
    """Ids that have to be loaded of one that was there: the first and the last of each run."""
    identity: TableIdentity


class MissingRows(Frozen):
    """A range of a table that is not there in full."""

    table: str
    condition: str
    """The range, as SQL says it."""
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

STEP_RECORD: TypeAdapter[AnyStepRecord] = TypeAdapter(StepRecord)
LOAD_RECORD: TypeAdapter[AnyLoadRecord] = TypeAdapter(LoadRecord)
