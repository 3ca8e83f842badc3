"""The types of a run's results in result.json (docs/result.md)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from loadstone.model.account import Account
from loadstone.model.failover import LedgerVerdict, Timeline
from loadstone.model.figure import AtLeast, Figure
from loadstone.model.figure import Rate as RateFigure
from loadstone.model.finding import Proof
from loadstone.model.frozen import Frozen
from loadstone.model.hot_spots import HotSpots
from loadstone.model.message import Message
from loadstone.model.outline import Moment, ToldPlan
from loadstone.model.plan import Rate
from loadstone.model.records import EngineFailure, LatencyNs, Tally
from loadstone.model.search import SearchOutcome, VariantSearch
from loadstone.model.with_messages import WithMessages

StepState = Literal["finished", "stopped", "failed", "interrupted"]
RunState = Literal["finished", "stopped", "failed", "interrupted", "running"]

_NS_PER_MS = 1_000_000


def _said(text: str) -> Any:
    """A required field, with its description for the JSON schema."""
    return Field(description=text)


_NO_TIMES = ("count", "above_range", "at_least")


class LatencyMs(Frozen):
    """One distribution in milliseconds; all but `count` are null if there were no values."""

    count: int = _said("recorded values, including those above the range")
    min: float | None = _said("minimum")
    mean: float | None = _said("arithmetic mean")
    p50: float | None = _said("median")
    p90: float | None = _said("90th percentile")
    p95: float | None = _said("95th percentile")
    p99: float | None = _said("99th percentile")
    p999: float | None = _said("99.9th percentile")
    max: float | None = _said("maximum")
    above_range: int = _said("values above the histogram's range of one hour")
    at_least: tuple[str, ...] = Field(
        default=(),
        description="figures that depend on events which had not ended when the window did: they "
        "are at least so high, as these events count with the time that they had taken so far",
    )

    def figure(self, name: str) -> Figure:
        """One of the figures by its name, as it is written for people."""
        value = getattr(self, name)
        return AtLeast(value) if name in self.at_least else RateFigure(value)

    def changed(self, figures: LatencyMs) -> LatencyMs:
        """With other figures where they are known, and what is said of them."""
        known = figures.model_dump(exclude={"count", "above_range"}, exclude_none=True)
        return self.model_copy(update=known)

    @classmethod
    def from_ns(cls, latency: LatencyNs) -> LatencyMs:
        """Convert a latency from nanoseconds to milliseconds."""
        return cls.model_validate(
            {
                name: value if name in _NO_TIMES or value is None else value / _NS_PER_MS
                for name, value in latency.model_dump().items()
            }
        )


class LatencyPair(Frozen):
    """Latency of good events, from two start times."""

    unit: Literal["ms"] = "ms"
    response: LatencyMs = _said("from the time an event was due: how long a user waits")
    service: LatencyMs = _said("from the time it was sent: how long the server took")


CLIENT_BOUND_SHARE = 0.8
"""Above this share of its cores, or of its ceiling, the generator affects what was measured."""

CLIENT_LATE_SHARE = 0.1
"""It also does if its own lateness is more than this share of the p99."""


class GeneratorCost(Frozen):
    """Whether the generator itself may have held the step back."""

    cpu_us_per_query: float | None = _said("CPU time of all shards per statement, microseconds")
    cpu_share: float | None = _said(
        "share of the window that shards spent on a CPU, mean over shards; 1 is saturated"
    )
    late_p99_us: float | None = _said("99th percentile of start minus due, microseconds")
    dispatch_p99_us: float | None = _said(
        "the same for events that had a free user: the generator's own lateness, microseconds"
    )
    held_p99_us: float | None = _said(
        "99th percentile of the time from an answer's arrival to its processing (at most), "
        "microseconds"
    )
    run_delay_share: float | None = _said(
        "share of the window that shards were ready to run while others had their cores, mean over "
        "shards; null if the kernel does not report it"
    )
    shards: int | None = _said("event loops, one thread each")
    ceiling_qps: float | None = _said(
        "the highest rate of these event loops in statements a second, by `loadstone calibrate`; "
        "null if this machine was not calibrated"
    )
    ceiling_share: float | None = _said("the step's rate as a share of that ceiling")
    client_bound: bool | None = _said(
        "whether the generator itself may have been the limit: more than 0.8 of its cores or of "
        "its ceiling used, or events started late by more than a tenth of the p99; null if nothing "
        "was measured"
    )


class GeneratorShare(Frozen):
    """The part of one of several generators in the window."""

    number: int = _said("number of the generator, from 0; users are assigned in turn")
    node: str = _said("address of its host")
    users: int = _said("virtual users at the start")
    events: int = _said("events that succeeded")
    seconds: float = _said("seconds of the window that it delivered")
    seconds_lost: float = _said("seconds of the window that are missing")
    lost: str | None = _said("why it was lost; null if it was there to the end")
    cpu_share: float | None = _said(
        "share of the time that its shards spent on a CPU; 1 is saturated"
    )
    dispatch_p99_us: float | None = _said(
        "how late it started events that had a free user: 99th percentile of the worst second, "
        "microseconds"
    )
    host_cpu_share: float | None = _said(
        "used share of all cores of its host, by all processes, mean"
    )
    net_bytes_in_per_s: float | None = _said("bytes received by its interface to the first target")
    net_bytes_out_per_s: float | None = _said("bytes sent by that interface")
    net_line_share: float | None = Field(
        default=None,
        description="used share of that interface's speed, in the busier direction; null if it is "
        "virtual or does not report its speed",
    )
    clock_offset_us: float | None = _said("by how much its clock was ahead of the head's")
    clock_bound_us: float | None = _said("largest possible error of that offset")
    saturated: bool | None = _said(
        "more than 0.8 of its cores or of its line used, or events started late by more than a "
        "tenth of the p99 in most seconds; null if nothing was measured"
    )


def _may(text: str) -> Any:
    """An optional field, which is null if it was not evaluated."""
    return Field(default=None, description=text)


def _may_be_empty(text: str) -> Any:
    return Field(default={}, description=text)


_RATES = "growth per second of each counter of the source, by its name in docs/observing.md"
_MEANS = "mean of each gauge"
_HIGHEST = "maximum of each gauge"


class UpdatedColumns(Frozen):
    """What updates of a table change."""

    table: str = _said("the table, without its schema")
    columns: tuple[str, ...] = _said("columns that updates set")


FLIGHT = "flight"
"""The class of what users send at once, which exists with the protocol `pipelined` alone."""


class ServerFigures(Frozen):
    """The server's own counters over the window; null: it has no such counter."""

    seconds: float = _said("seconds of the window that were observed")
    questions_per_s: float | None = _may("statements from clients")
    commits_per_s: float | None = _may("committed transactions that changed something")
    log_syncs_per_s: float | None = _may("syncs of the redo log")
    binlog_syncs_per_s: float | None = _may("syncs of the binary log")
    transactions_per_sync: float | None = _may("commits per sync of the log: the group's size")
    bytes_per_sync: float | None = _may("bytes of redo log per sync of it")
    log_bytes_per_s: float | None = _may("bytes of redo log written")
    threads_running: float | None = _may("connections at work, mean")
    threads_connected: float | None = _may("connections, mean")
    row_lock_waits_per_s: float | None = _may("statements that had to wait for a row's lock")
    row_lock_waiting: float | None = _may("connections that waited for a row's lock, mean")
    buffer_pool_reads_per_s: float | None = _may("pages that had to be read from the disk")
    net_bytes_per_event: float | None = _may("bytes of the protocol per event, in both directions")
    rates: dict[str, float] = _may_be_empty(_RATES)
    means: dict[str, float] = _may_be_empty(_MEANS)
    highest: dict[str, float] = _may_be_empty(_HIGHEST)
    totals: dict[str, float] = _may_be_empty(
        "growth of each counter from before the load's start to after its end"
    )
    not_evaluated: dict[str, str] = _may_be_empty("what could not be queried, and why")
    updated_columns: tuple[UpdatedColumns, ...] = Field(
        default=(),
        description="columns that updates set, as far as looks at the sessions have seen them",
    )


class HostFigures(Frozen):
    """A host's own counters over the window; null: not evaluated."""

    seconds: float = _said("seconds of the window that were observed")
    cores: int | None = _may("processors online")
    cpu_user: float | None = _may("share of all cores in user mode, 0 to 1")
    cpu_sys: float | None = _may("share of all cores in the kernel, including interrupts")
    cpu_iowait: float | None = _may("share of all cores idle while waiting for a disk")
    cpu_steal: float | None = _may("share of all cores that the hypervisor gave to others")
    cpu_idle: float | None = _may("share of all cores idle")
    busiest_core: float | None = _may("share of its time that the busiest core was not idle")
    run_queue: float | None = _may("tasks running or ready to run, mean")
    context_switches_per_s: float | None = _may("context switches of all cores")
    disk: str | None = _may("the disk with the server's data")
    disk_read_iops: float | None = _may("reads from that disk a second")
    disk_write_iops: float | None = _may("writes to that disk a second")
    disk_read_bytes_per_s: float | None = _may("bytes read from that disk")
    disk_write_bytes_per_s: float | None = _may("bytes written to that disk")
    disk_read_await_ms: float | None = _may("mean time of a read, including the queue")
    disk_write_await_ms: float | None = _may("mean time of a write, including the queue")
    disk_queue: float | None = _may("requests in flight, mean")
    disk_busy: float | None = _may("share of the time that the disk was busy")
    disk_flushes_per_s: float | None = _may("flushes of the disk's cache")
    nic: str | None = _may("the interface that carries the target's traffic")
    net_bytes_in_per_s: float | None = _may("bytes received by that interface")
    net_bytes_out_per_s: float | None = _may("bytes sent by that interface")
    net_bytes_per_event: float | None = _may("bytes on it per event, in both directions")
    memory_available_bytes: float | None = _may("available memory, mean")
    process_cpu_user: float | None = _may("cores that the server's process used in user mode")
    process_cpu_sys: float | None = _may("cores that the server's process used in the kernel")
    minor_faults_per_s: float | None = _may("page faults of the process without a disk access")
    major_faults_per_s: float | None = _may("page faults of the process with a disk access")
    rates: dict[str, float] = _may_be_empty(_RATES)
    means: dict[str, float] = _may_be_empty(_MEANS)
    highest: dict[str, float] = _may_be_empty(_HIGHEST)
    facts: dict[str, str] = _may_be_empty(
        "facts that hardly change: speed of NICs, the data's disk"
    )
    coarse: dict[str, float] = _may_be_empty(
        "fields of this host that come from an attached file, with their granularity in seconds: "
        "they are means of longer times than a second"
    )


class AttachedFigure(WithMessages):
    """A metric of a file that was attached to the run, over the window."""

    file: str = _said("name of the file")
    metric: str = _said("name of the metric in the file")
    figure: str | None = _said("the figure that it is, by its name in docs/observing.md")
    granularity_s: float = _said("length of time that each value stands for")
    seconds: float = _said("seconds of the window that whole values cover")
    values: int = _said("number of these values")
    mean: float | None = _said("their mean, in the file's unit; null: not evaluated")
    highest: float | None = _said("their maximum, which is a mean over the granularity, too")
    why_not: Message | None = _may("why it was not evaluated")


class ObservingCost(Frozen):
    """The cost of observing."""

    cpu_share: float = _said("share of one core, in this process")
    answering_share: float = _said(
        "share of the time until the slowest source had answered: an upper bound of its CPU time"
    )


class Window(Frozen):
    """The part of a step from which its figures are taken, in seconds since the load's start."""

    from_s: float = _said("start")
    to_s: float = _said("end")
    method: str = _said("fixed, or the rule that chose the window")
    held: tuple[tuple[float, float], ...] = Field(
        default=(),
        description="times within the window in which the load was held back, start and end: "
        "seconds that overlap one of them are not in any figure",
    )

    def has(self, from_s: float, to_s: float) -> bool:
        """Whether an interval counts: its middle is in the window, and the load was never held."""
        if not self.from_s <= (from_s + to_s) / 2 < self.to_s:
            return False
        return not self.is_held(from_s, to_s)

    @property
    def counted_s(self) -> float:
        """Its seconds without those in which the load was held back."""
        return self.to_s - self.from_s - sum(end - begin for begin, end in self.held)

    def is_held(self, from_s: float, to_s: float) -> bool:
        """Whether the load was held back at some time in the interval."""
        return any(begin < to_s and from_s < end for begin, end in self.held)


class OutageLine(Frozen):
    """A time in which connections were lost and reopened."""

    from_s: float = _said("start, seconds since the load's start")
    to_s: float | None = _said("end; null if the step ended before all were connected again")
    users: int = _said("the most virtual users without a connection at the same time")
    reason: str = _said("code and text of the first lost connection's error")


class LevelChange(Frozen):
    """A change of a step's load by hand while it ran."""

    at_s: float = _said("time of the change, seconds since the load's start")
    what: Literal["users", "rate"] = _said("the virtual users at work, or the due events a second")
    value: float = _said("the new value")


class HeldBack(Frozen):
    """A time in which no event was started, to let the server recover (`--max-load`)."""

    from_s: float = _said("start, seconds since the load's start")
    to_s: float | None = _said("when events started again; null: not before the step's end")
    condition: str = _said("the condition that was met, as it was written")
    value: float = _said("the figure at that time: seconds, bytes, a share of 1, or a number")


class Aborted(WithMessages):
    """The reason why a run was ended before it did harm (`--abort-if`)."""

    condition: str = _said("the condition that was met, as it was written")
    is_default: bool = _said("whether it is a default one, for servers that are not sandboxes")
    figure: str = _said("the condition's figure")
    place: str = _said("the source of the figure: the load, or a server's address")
    value: float = _said("the figure at that time: seconds, bytes, a share of 1, or a number")
    limit: float = _said("the condition's limit, in the same unit")
    step: int = _said("number of the step")
    at_s: float = _said("seconds since the load's start; 0 before it")
    said: Message = _said("all of that in a sentence, as in the step's notes")


class ErrorExample(Frozen):
    """The first error with a code in a step."""

    message: str = _said("the server's message")
    statement: str | None = _said("the statement, with parameters as question marks")


class TargetShare(Frozen):
    """The part of one of several targets in the step's window."""

    target: str = _said("its URL, without password")
    server_version: str | None = _said("the server's version; null if it was not queried")
    events: int = _said("events that succeeded")
    queries: int = _said("statements")
    errors: int = _said("error packets")
    connect_failures: int = _said("connection attempts that failed, over the whole step")
    users: int = _said("virtual users at the window's end")


class ObservedTarget(Frozen):
    """The observations of one of several targets."""

    target: str = _said("its URL, without password")
    server: ServerFigures | None = _said("figures of its server; null: not evaluated")
    host: HostFigures | None = _said("figures of its host; null: not evaluated")


class IdleConnections(Frozen):
    """Idle connections in addition to the users'."""

    asked: int = _said("the number requested")
    open: int = _said("connections open at the window's end")
    lost: int = _said("connections ended by the server or the network, over the whole step")
    opened: int = _said("connections opened under load to replace those, over the whole step")


class MemberResult(Frozen):
    """One workload of a mix; all figures are of the window."""

    name: str = _said("its name in the plan")
    workload: str = _said("name of the workload")
    users: int | None = _said("its own virtual users; null: it shares those of the others")
    weight: float | None = _said(
        "weight by which its events were drawn; null: it has its own users"
    )
    events: int = _said("events that succeeded")
    failed: int = _said("events that were given up after an error")
    restarts: int = _said("restarts of events after an error")
    tps: float | None = _said("events a second")
    qps: float | None = _said("statements a second")
    reads: int = _said("statements answered with a result set")
    writes: int = _said("statements answered with affected rows")
    other: int = _said("all other statements")
    errors: dict[str, int] = _said("error packets by code")
    due: int = _said("events that became due")
    late: int = _said("events that started more than 1 ms after they were due")
    skipped: int = _said("due events that were never started")
    waiting: int = _said("due events that had not started by the window's end")
    latency: LatencyPair = _said("of good events")
    tally: Tally = _said("outcome of its events since the load started")


class PhaseResult(Frozen):
    """One phase of a step, with all of its seconds, even those before the window."""

    name: str = _said("its name in the plan")
    from_s: float = _said("start, seconds since the load's start")
    to_s: float = _said("end; earlier than planned if the step was cut off")
    users: tuple[int, int] | None = _said(
        "users at work at its start and its end; null in an open loop"
    )
    rate: tuple[float, float] | None = _said(
        "due events a second at its start and its end; null in a closed loop"
    )
    events: int = _said("events that succeeded")
    failed: int = _said("events that were given up after an error")
    restarts: int = _said("restarts of events after an error")
    skipped: int = _said("due events that were never started")
    reconnects: int = _said("connections that were lost and opened again")
    tps: float | None = _said("events a second")
    qps: float | None = _said("statements a second")
    errors: dict[str, int] = _said("error packets by code")
    latency: LatencyPair = _said("of good events")


class StepResult(WithMessages):
    """One step: the numbers people quote. All counts and rates are of the window."""

    step: int = _said("number in the order in which steps ran, from 1")
    variant: str = _said("combination of levels; `default` without factors")
    workload: str = _said("name of the workload")
    concurrency: int = _said("virtual users asked for")
    rate: Rate | None = _said("events a second asked for in an open loop; null in a closed one")
    repeat: int = _said("repeat, from 1")
    state: StepState = _said("finished; stopped by request; failed; interrupted by a crash")
    error: EngineFailure | None = _said("why the step failed")
    started_at: Moment = _said("UTC, ISO 8601")
    seconds: float = _said("length of the window")
    window: Window | None = _said("the measured window; null if no second of it was measured")
    steady: bool | None = _said("whether the series settled; null: not evaluated")
    events: int = _said("events that succeeded")
    failed: int = _said("events that were given up after an error")
    restarts: int = _said("restarts of events after a deadlock, lock wait timeout or changed row")
    tps: float | None = Field(ge=0, description="events a second")
    tps_half_width: float | None = _may(
        "half the width of the 95 % interval of tps, from the window's own seconds and their "
        "dependence on each other; null: too few seconds, or it would reach zero"
    )
    qps: float | None = Field(ge=0, description="statements a second")
    reads: int = _said("statements answered with a result set")
    writes: int = _said("statements answered with affected rows")
    other: int = _said("all other statements")
    errors: dict[str, int] = _said("error packets by code")
    errors_outside: dict[str, int] = _said("error packets by code, before and after the window")
    error_examples: dict[str, ErrorExample] = _said("the first error of each code")
    reconnects: int = _said("connections that were lost and opened again")
    connects: int = Field(default=0, description="connections opened because of --reconnect")
    connect: LatencyMs | None = _may(
        "time to open a connection under load, including login and session, in ms; null: none was"
    )
    connect_failures: dict[str, int] = _said(
        "failed connection attempts by code, over the whole step"
    )
    idle: IdleConnections | None = _may("idle connections; null: none were requested")
    members: tuple[MemberResult, ...] = Field(
        default=(), description="the part of each workload of a mix"
    )
    phases: tuple[PhaseResult, ...] = Field(
        default=(), description="each phase, if the load has phases"
    )
    due: int = _said("events that became due")
    late: int = _said("events that started more than 1 ms after they were due")
    skipped: int = _said("due events that were never started")
    waiting: int = _said("due events that had not started by the window's end")
    bytes_in: int = _said("bytes from the server on the line, after any compression")
    bytes_out: int = _said("bytes to the server on the line, after any compression")
    latency: LatencyPair = _said("of good events")
    statements: dict[str, LatencyMs] = _said(
        "latency by class: read, write, other; with the protocol pipelined also flight, what was "
        "sent at once up to its last answer; in ms"
    )
    kinds: dict[str, LatencyMs] = _may_be_empty(
        "response times by kind of event in ms, if a workload has several: for tpcc its "
        "transactions, with the intentionally rolled back New-Orders separately"
    )
    tpmc: float | None = _may(
        "for tpcc, New-Orders a minute, including those rolled back; TPC-C-like, not audited"
    )
    error_latency: dict[str, LatencyMs] = _said("latency of failed attempts by code, in ms")
    users: int = _said("virtual users connected at the window's end")
    encrypted_users: int | None = _said("encrypted connections, as the server reports them")
    tls: str | None = _said("TLS version and cipher")
    compressed_users: int | None = _said("connections with compressed traffic")
    compression: str | None = _said("zlib or zstd, as negotiated with the server")
    connect_seconds: float | None = _said("time until all virtual users were connected")
    tally: Tally | None = _said("outcome of all events since the load started")
    tally_balances: bool | None = _said("whether the counters were consistent in every record")
    outages: tuple[OutageLine, ...] = _said("times in which connections were lost")
    timeline: Timeline | None = _may("outages by user and second; null if they were not requested")
    ledger: tuple[LedgerVerdict, ...] = Field(
        default=(),
        description="for `ledger`, the comparison of each target with the acknowledged entries; "
        "empty if it was not checked",
    )
    targets: tuple[TargetShare, ...] = _said("each target's part")
    generator: GeneratorCost = _said("resources used by the generator, or by all of them together")
    generators: tuple[GeneratorShare, ...] = Field(
        default=(), description="each generator's part, if there were several"
    )
    server: ServerFigures | None = _said("figures of the first target; null: not evaluated")
    host: HostFigures | None = _said("figures of the first target's host; null: not evaluated")
    generator_host: HostFigures | None = _said("figures of this machine; null: not evaluated")
    other_targets: tuple[ObservedTarget, ...] = _said("figures of the other targets and hosts")
    hot_spots: HotSpots | None = _said(
        "where the first target's server spent its time in the whole step; null: not evaluated"
    )
    observing: ObservingCost | None = _said("cost of observing; null: nothing was observed")
    account: Account | None = _may("where the users' time went; null: not evaluated")
    changes: tuple[LevelChange, ...] = Field(
        default=(),
        description="changes by hand while the step ran; the window ends before the first one",
    )
    held: tuple[HeldBack, ...] = Field(
        default=(), description="times in which the load was held back by --max-load"
    )
    attached: tuple[AttachedFigure, ...] = Field(
        default=(), description="metrics of files that were attached with `runs attach`"
    )
    notes: tuple[Message, ...] = _said("what a reader should know before quoting the numbers")


class WallTime(Frozen):
    """Where a run's wall time went, from the command to the run's end, in seconds of all steps.

    What comes after its end is not in it: files, the diagnosis, the text, the stop of servers.
    """

    preparing_s: float = _said(
        "from the command, or from the end of the step before, until users connect: throwaway "
        "servers, tables, checks, the start of the samplers"
    )
    connecting_s: float = _said("until all virtual users were connected")
    warmup_s: float = _said("before the window")
    window_s: float = _said("the windows")
    closing_s: float = _said(
        "from the end of a window to that of its step: answers under way, the last readings of "
        "counters, the ledger"
    )
    evaluating_s: float = _said("computing each step's figures, and what follows from them")

    @property
    def load_s(self) -> float:
        """The time that the load itself takes, as planned."""
        return self.warmup_s + self.window_s

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.load_s + self.besides_load_s

    @property
    def besides_load_s(self) -> float:
        """The time before, between and after the load of the steps."""
        return self.preparing_s + self.connecting_s + self.closing_s + self.evaluating_s

    def after(self, seconds: float) -> WallTime:
        """The same, with the time since the run's end counted as evaluating."""
        return self.model_copy(update={"evaluating_s": self.evaluating_s + seconds})


class RunInfo(WithMessages):
    """The request, and how far the run got."""

    id: str = _said("name of the run's folder")
    name: str = _said("name that the user gave the run")
    state: RunState = _said("finished, stopped, failed, interrupted (crash), running")
    started_at: Moment | None = _said("UTC, ISO 8601")
    ended_at: Moment | None = _said("UTC; for an interrupted run, the time of its last record")
    loadstone: str | None = _said("version of Loadstone")
    plan: ToldPlan | None = _said("the plan as in run.json, without secrets")
    steps_planned: int | None = _said("steps of the plan; null for a search")
    search: SearchOutcome | None = _said("result of the search; null if there was none")
    searches: tuple[VariantSearch, ...] | None = _may(
        "results of an experiment's searches; null if it has none"
    )
    steps_finished: int = _said("steps that finished")
    aborted: Aborted | None = _may("the --abort-if or default condition that ended it; null: none")
    wall_time: WallTime | None = _may(
        "where its wall time went; null: it was killed, only watched, or is of an earlier version"
    )
    notes: tuple[Message, ...] = _said("notes from while it ran")


class Result(Frozen):
    """The content of result.json: what a run measured."""

    version: Annotated[Literal[1], Field(description="version of this format")] = 1
    run: RunInfo
    steps: tuple[StepResult, ...] = ()
    proofs: tuple[Proof, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_version(cls, document: object) -> object:
        """Drop `findings`: older versions wrote them here, always empty."""
        if isinstance(document, dict) and "findings" in document:
            return {key: value for key, value in document.items() if key != "findings"}
        return document
