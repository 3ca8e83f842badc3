"""What a run found: the types behind result.json (docs/result.md)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from loadstone.model.failover import LedgerVerdict, Timeline
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
    """A field without default whose meaning goes into the JSON schema."""
    return Field(description=text)


class LatencyMs(Frozen):
    """One distribution in milliseconds; all but `count` are null when there were no values."""

    count: int = _said("values recorded, those above the range included")
    min: float | None = _said("least")
    mean: float | None = _said("arithmetic mean")
    p50: float | None = _said("median")
    p90: float | None = _said("90th percentile")
    p95: float | None = _said("95th percentile")
    p99: float | None = _said("99th percentile")
    p999: float | None = _said("99.9th percentile")
    max: float | None = _said("greatest")
    above_range: int = _said("values above the histogram's range of one hour")

    @classmethod
    def from_ns(cls, latency: LatencyNs) -> LatencyMs:
        """A latency of nanoseconds in milliseconds."""
        return cls.model_validate(
            {
                name: value
                if name in ("count", "above_range") or value is None
                else value / _NS_PER_MS
                for name, value in latency.model_dump().items()
            }
        )


class LatencyPair(Frozen):
    """Latency of good events, kept twice."""

    unit: Literal["ms"] = "ms"
    response: LatencyMs = _said("from the time an event was due: what a user waits")
    service: LatencyMs = _said("from the time it was sent: what the server took")


CLIENT_BOUND_SHARE = 0.8
"""Above this share of its cores, or of its ceiling, the generator is part of what was measured."""

CLIENT_LATE_SHARE = 0.1
"""So it is when its own lateness is more than this share of the p99."""


class GeneratorCost(Frozen):
    """Whether the generator itself may have held the step back."""

    cpu_us_per_query: float | None = _said("CPU time of all shards by statement, microseconds")
    cpu_share: float | None = _said("CPU time of all shards by window and shard; 1 is saturated")
    late_p99_us: float | None = _said("99th percentile of start minus due, microseconds")
    dispatch_p99_us: float | None = _said(
        "the same of events for which a user was free: the generator's own lateness, microseconds"
    )
    held_p99_us: float | None = _said(
        "99th percentile of how long an answer that had come waited to be looked at, microseconds"
    )
    run_delay_share: float | None = _said(
        "time that shards were ready to run and others had their cores, by window and shard; "
        "null where the kernel does not tell"
    )
    shards: int | None = _said("event loops, one thread each")
    ceiling_qps: float | None = _said(
        "statements a second that these event loops could do at most, by `loadstone calibrate`; "
        "null where this machine was not calibrated"
    )
    ceiling_share: float | None = _said("the step's statements a second by that ceiling")
    client_bound: bool | None = _said(
        "whether the generator itself may have been the limit: more than 0.8 of its cores or of "
        "its ceiling used, or events begun late by more than a tenth of the p99; null when nothing "
        "was measured"
    )


class GeneratorShare(Frozen):
    """What one of several generators had of the window."""

    number: int = _said("from 0; users are dealt out in turn")
    node: str = _said("address of its host")
    users: int = _said("virtual users at the beginning")
    events: int = _said("events that succeeded")
    seconds: float = _said("of the window that it delivered")
    seconds_lost: float = _said("of the window that are missing")
    lost: str | None = _said("why it was lost; null where it was there to the end")
    cpu_share: float | None = _said("CPU time of its shards by their time; 1 is saturated")
    dispatch_p99_us: float | None = _said(
        "how late it began events for which a user was free: the worst second's 99th percentile, "
        "microseconds"
    )
    host_cpu_share: float | None = _said("of all cores of its host, whoever used them, mean")
    net_bytes_in_per_s: float | None = _said("of its interface towards the first target")
    net_bytes_out_per_s: float | None = _said("likewise")
    net_line_share: float | None = Field(
        default=None,
        description="of what that interface carries, in the direction that had more; null where it "
        "is a virtual one or does not say its speed",
    )
    clock_offset_us: float | None = _said("how far its clock was ahead of the head's")
    clock_bound_us: float | None = _said("how wrong that can be at most")
    saturated: bool | None = _said(
        "more than 0.8 of its cores or of its line used, or events begun late by more than a tenth "
        "of the p99 in most seconds; null when nothing was measured"
    )


def _may(text: str) -> Any:
    """A field that is null where it was not evaluated."""
    return Field(default=None, description=text)


def _may_be_empty(text: str) -> Any:
    return Field(default={}, description=text)


_RATES = "every counter of the source by second, by its name in docs/observing.md"
_MEANS = "every value of the moment, its mean"
_HIGHEST = "every value of the moment, its greatest"


class ServerFigures(Frozen):
    """What the server's own counters say of the window; null: it has no such counter."""

    seconds: float = _said("of the window that were seen")
    questions_per_s: float | None = _may("statements that clients sent")
    commits_per_s: float | None = _may("transactions that changed something and were committed")
    log_syncs_per_s: float | None = _may("syncs of the redo log")
    binlog_syncs_per_s: float | None = _may("syncs of the binary log")
    transactions_per_sync: float | None = _may("commits by sync of the log: the group's size")
    bytes_per_sync: float | None = _may("bytes of redo log by sync of it")
    log_bytes_per_s: float | None = _may("bytes of redo log written")
    threads_running: float | None = _may("connections at work, mean")
    threads_connected: float | None = _may("connections, mean")
    row_lock_waits_per_s: float | None = _may("statements that had to wait for a row's lock")
    row_lock_waiting: float | None = _may("connections that waited for a row's lock, mean")
    buffer_pool_reads_per_s: float | None = _may("pages that had to be read from the disk")
    net_bytes_per_event: float | None = _may("bytes of the protocol, both ways, by event")
    rates: dict[str, float] = _may_be_empty(_RATES)
    means: dict[str, float] = _may_be_empty(_MEANS)
    highest: dict[str, float] = _may_be_empty(_HIGHEST)
    totals: dict[str, float] = _may_be_empty(
        "every counter from before the load's begin to after its end, its growth"
    )
    not_evaluated: dict[str, str] = _may_be_empty("what could not be asked, and why")


class HostFigures(Frozen):
    """What a host's own counters say of the window; null: not evaluated."""

    seconds: float = _said("of the window that were seen")
    cores: int | None = _may("processors online")
    cpu_user: float | None = _may("share of all cores in user mode, 0 to 1")
    cpu_sys: float | None = _may("share of all cores in the kernel, interrupts included")
    cpu_iowait: float | None = _may("share of all cores idle while a disk was waited for")
    cpu_steal: float | None = _may("share of all cores that the hypervisor gave to others")
    cpu_idle: float | None = _may("share of all cores idle")
    busiest_core: float | None = _may("share of its time that the busiest core was not idle")
    run_queue: float | None = _may("tasks running or ready to run, mean")
    context_switches_per_s: float | None = _may("of all cores")
    disk: str | None = _may("the disk that holds the server's data")
    disk_read_iops: float | None = _may("reads of it a second")
    disk_write_iops: float | None = _may("writes to it a second")
    disk_read_bytes_per_s: float | None = _may("bytes read from it")
    disk_write_bytes_per_s: float | None = _may("bytes written to it")
    disk_read_await_ms: float | None = _may("mean time of a read, queue included")
    disk_write_await_ms: float | None = _may("mean time of a write, queue included")
    disk_queue: float | None = _may("requests on their way, mean")
    disk_busy: float | None = _may("share of the time that it had something to do")
    disk_flushes_per_s: float | None = _may("flushes of its cache")
    nic: str | None = _may("the interface that carries the target's traffic")
    net_bytes_in_per_s: float | None = _may("bytes that it received")
    net_bytes_out_per_s: float | None = _may("bytes that it sent")
    net_bytes_per_event: float | None = _may("bytes on it, both ways, by event")
    memory_available_bytes: float | None = _may("mean")
    process_cpu_user: float | None = _may("cores that the server's process used in user mode")
    process_cpu_sys: float | None = _may("cores that it used in the kernel")
    minor_faults_per_s: float | None = _may("page faults of the process without a disk")
    major_faults_per_s: float | None = _may("page faults of the process that read a disk")
    rates: dict[str, float] = _may_be_empty(_RATES)
    means: dict[str, float] = _may_be_empty(_MEANS)
    highest: dict[str, float] = _may_be_empty(_HIGHEST)
    facts: dict[str, str] = _may_be_empty("what hardly changes: speed of NICs, the data's disk")


class ObservingCost(Frozen):
    """What the samplers took from what they looked at."""

    cpu_share: float = _said("of one core, in this process")
    answering_share: float = _said(
        "of the time, until the slowest source had answered: no less than the CPU that it took"
    )


class Window(Frozen):
    """The seconds of a step from which its figures are taken, counted from the load's begin."""

    from_s: float = _said("begin")
    to_s: float = _said("end")
    method: str = _said("fixed, or the name of the rule that chose it")
    held: tuple[tuple[float, float], ...] = Field(
        default=(),
        description="begins and ends within it of the times in which the load was held back: "
        "seconds that reach into one of them are in no figure",
    )

    def has(self, from_s: float, to_s: float) -> bool:
        """Whether an interval counts: its middle lies in the window, and none of it was held."""
        if not self.from_s <= (from_s + to_s) / 2 < self.to_s:
            return False
        return not self.is_held(from_s, to_s)

    def is_held(self, from_s: float, to_s: float) -> bool:
        """Whether the load was held back in a part of an interval."""
        return any(begin < to_s and from_s < end for begin, end in self.held)


class OutageLine(Frozen):
    """A time in which connections were lost and reopened."""

    from_s: float = _said("begin, seconds since the load's begin")
    to_s: float | None = _said("end; null when the step ended before all were connected again")
    users: int = _said("the most virtual users that were without connection at the same time")
    reason: str = _said("code and text of the first loss")


class LevelChange(Frozen):
    """Somebody changed a step's load by hand while it ran."""

    at_s: float = _said("when, seconds since the load's begin")
    what: Literal["users", "rate"] = _said("the virtual users at work, or the events a second due")
    value: float = _said("how many from then on")


class HeldBack(Frozen):
    """A time in which no event began, so that the server came to rest (`--max-load`)."""

    from_s: float = _said("begin, seconds since the load's begin")
    to_s: float | None = _said("when events began again; null: not before the step's end")
    condition: str = _said("which condition was met, as it was written")
    value: float = _said("the figure then: seconds, bytes, a share of 1, or a number")


class Aborted(WithMessages):
    """Why a run was ended before it did harm (`--abort-if`)."""

    condition: str = _said("which condition was met, as it was written")
    is_default: bool = _said("nobody wrote it: it holds for servers that are no sandboxes")
    figure: str = _said("its figure")
    place: str = _said("whose: the load, or a server's address")
    value: float = _said("the figure then: seconds, bytes, a share of 1, or a number")
    limit: float = _said("the condition's, in the same unit")
    step: int = _said("in which step")
    at_s: float = _said("seconds since the load's begin; 0 before it")
    said: Message = _said("all of that in a sentence, as the step's notes have it")


class ErrorExample(Frozen):
    """The first error of a number in a step."""

    message: str = _said("the server's words")
    statement: str | None = _said("what was sent, parameters as question marks")


class TargetShare(Frozen):
    """What one of several targets had of the step's window."""

    target: str = _said("its URL, without password")
    server_version: str | None = _said("as the server says it; null when it was not asked")
    events: int = _said("events that succeeded")
    queries: int = _said("statements")
    errors: int = _said("error packets")
    connect_failures: int = _said("connection attempts that failed, over the whole step")
    users: int = _said("virtual users at the window's end")


class ObservedTarget(Frozen):
    """What was seen of one of several targets."""

    target: str = _said("its URL, without password")
    server: ServerFigures | None = _said("null: not evaluated")
    host: HostFigures | None = _said("null: not evaluated")


class IdleConnections(Frozen):
    """The connections beside the users' that say nothing."""

    asked: int = _said("how many were to be held")
    open: int = _said("held at the window's end")
    lost: int = _said("ended by the server or the network, over the whole step")
    opened: int = _said("opened under load in place of those, over the whole step")


class MemberResult(Frozen):
    """One workload of a mix; all of the window."""

    name: str = _said("as the plan calls it")
    workload: str = _said("name of the workload")
    users: int | None = _said("virtual users of its own; null: it shares those of the others")
    weight: float | None = _said("by which its events were drawn; null: it has users of its own")
    events: int = _said("events that succeeded")
    failed: int = _said("events given up after an error")
    restarts: int = _said("events begun anew")
    tps: float | None = _said("events a second")
    qps: float | None = _said("statements a second")
    reads: int = _said("statements answered with a result set")
    writes: int = _said("statements answered with affected rows")
    other: int = _said("all other statements")
    errors: dict[str, int] = _said("error packets by code")
    due: int = _said("events whose time has come")
    late: int = _said("events that began more than 1 ms after they were due")
    skipped: int = _said("events that were due and never begun")
    waiting: int = _said("events that were due and had not begun at the window's end")
    latency: LatencyPair = _said("of good events")
    tally: Tally = _said("what became of its events since the load began")


class PhaseResult(Frozen):
    """One phase of a step: all of its seconds, also where they come before the window."""

    name: str = _said("as the plan calls it")
    from_s: float = _said("begin, seconds since the load's begin")
    to_s: float = _said("end; earlier than planned where the step was cut off")
    users: tuple[int, int] | None = _said("at work at its begin and its end; null in an open loop")
    rate: tuple[float, float] | None = _said("events a second due, likewise; null in a closed loop")
    events: int = _said("events that succeeded")
    failed: int = _said("events given up after an error")
    restarts: int = _said("events begun anew")
    skipped: int = _said("events that were due and never begun")
    reconnects: int = _said("connections lost and opened again")
    tps: float | None = _said("events a second")
    qps: float | None = _said("statements a second")
    errors: dict[str, int] = _said("error packets by code")
    latency: LatencyPair = _said("of good events")


class StepResult(WithMessages):
    """One step: the numbers people quote. All counts and rates are of the window."""

    step: int = _said("number in the order they were carried out, from 1")
    variant: str = _said("combination of levels; `default` without factors")
    workload: str = _said("name of the workload")
    concurrency: int = _said("virtual users asked for")
    rate: Rate | None = _said("events a second asked for in an open loop; null in a closed one")
    repeat: int = _said("repeat, from 1")
    state: StepState = _said("finished; stopped by request; failed; interrupted by a crash")
    error: EngineFailure | None = _said("why it failed")
    started_at: Moment = _said("UTC, ISO 8601")
    seconds: float = _said("length of the window")
    window: Window | None = _said("null when no second of it was measured")
    steady: bool | None = _said("whether the series settled; null: not evaluated")
    events: int = _said("events that succeeded")
    failed: int = _said("events given up after an error")
    restarts: int = _said("events begun anew after a deadlock, lock wait timeout or changed row")
    tps: float | None = Field(ge=0, description="events a second")
    qps: float | None = Field(ge=0, description="statements a second")
    reads: int = _said("statements answered with a result set")
    writes: int = _said("statements answered with affected rows")
    other: int = _said("all other statements")
    errors: dict[str, int] = _said("error packets by code")
    errors_outside: dict[str, int] = _said("the same before and after the window")
    error_examples: dict[str, ErrorExample] = _said("the first error of each code")
    reconnects: int = _said("connections lost and opened again")
    connects: int = Field(
        default=0, description="connections opened because --reconnect wants a new one"
    )
    connect: LatencyMs | None = _may(
        "time to open a connection under load, login and session included; null: none was; ms"
    )
    connect_failures: dict[str, int] = _said("failed attempts by code, over the whole step")
    idle: IdleConnections | None = _may("connections that say nothing; null: none were asked for")
    members: tuple[MemberResult, ...] = Field(
        default=(), description="of a mix, each workload's part"
    )
    phases: tuple[PhaseResult, ...] = Field(
        default=(), description="each phase, where the load went by phases"
    )
    due: int = _said("events whose time has come")
    late: int = _said("events that began more than 1 ms after they were due")
    skipped: int = _said("events that were due and never begun")
    waiting: int = _said("events that were due and had not begun at the window's end")
    bytes_in: int = _said("bytes from the server, as they came: compressed where that was agreed")
    bytes_out: int = _said("bytes to the server, likewise")
    latency: LatencyPair = _said("of good events")
    statements: dict[str, LatencyMs] = _said("latency by class: read, write, other; ms")
    kinds: dict[str, LatencyMs] = _may_be_empty(
        "response times by kind of event, where a workload has several: of tpcc its transactions, "
        "and those New-Orders apart that were rolled back as they should; ms"
    )
    tpmc: float | None = _may(
        "of tpcc, New-Orders a minute, those rolled back included; TPC-C-like, not audited"
    )
    error_latency: dict[str, LatencyMs] = _said("latency of failed attempts by code; ms")
    users: int = _said("virtual users connected at the window's end")
    encrypted_users: int | None = _said("connections that are encrypted, asked of the server")
    tls: str | None = _said("TLS version and cipher")
    compressed_users: int | None = _said("connections whose traffic is compressed")
    compression: str | None = _said("how: zlib or zstd, as agreed with the server")
    connect_seconds: float | None = _said("time until all virtual users were connected")
    tally: Tally | None = _said("what became of all events since the load began")
    tally_balances: bool | None = _said("whether the law of the counters held at every record")
    outages: tuple[OutageLine, ...] = _said("times without connection")
    timeline: Timeline | None = _may("outages by user and second; null where nobody asked for them")
    ledger: tuple[LedgerVerdict, ...] = Field(
        default=(),
        description="of `ledger`, what each target has of the entries that were acknowledged; "
        "empty where it was not asked",
    )
    targets: tuple[TargetShare, ...] = _said("each target's part")
    generator: GeneratorCost = _said("what the generator spent, all of them together")
    generators: tuple[GeneratorShare, ...] = Field(
        default=(), description="each generator's part where there were several"
    )
    server: ServerFigures | None = _said("of the first target; null: not evaluated")
    host: HostFigures | None = _said("of the first target's host; null: not evaluated")
    generator_host: HostFigures | None = _said("of this machine; null: not evaluated")
    other_targets: tuple[ObservedTarget, ...] = _said("server and host of further targets")
    hot_spots: HotSpots | None = _said(
        "where the first target's server spent the whole step; null: not evaluated"
    )
    observing: ObservingCost | None = _said("what looking cost; null: nothing was looked at")
    changes: tuple[LevelChange, ...] = Field(
        default=(),
        description="what somebody changed by hand while it ran; the window ends before the first",
    )
    held: tuple[HeldBack, ...] = Field(
        default=(), description="times in which the load was held back by --max-load"
    )
    notes: tuple[Message, ...] = _said("what a reader should know before quoting the numbers")


class RunInfo(WithMessages):
    """What was asked, and how far it came."""

    id: str = _said("name of the run's folder")
    name: str = _said("name it was given")
    state: RunState = _said("finished, stopped, failed, interrupted (crash), running")
    started_at: Moment | None = _said("UTC, ISO 8601")
    ended_at: Moment | None = _said("UTC; for an interrupted run the last record's time")
    loadstone: str | None = _said("version of Loadstone")
    plan: ToldPlan | None = _said("the plan as in run.json; never a secret")
    steps_planned: int | None = _said("steps of the plan; null for a search")
    search: SearchOutcome | None = _said("what a search found; null where nothing was looked for")
    searches: tuple[VariantSearch, ...] | None = _may(
        "what each search of an experiment found; null where it has none"
    )
    steps_finished: int = _said("steps carried out to their end")
    aborted: Aborted | None = _may("what ended it by --abort-if or unasked; null: nothing did")
    notes: tuple[Message, ...] = _said("what was said while it ran")


class Result(Frozen):
    """result.json: what a run measured."""

    version: Annotated[Literal[1], Field(description="version of this format")] = 1
    run: RunInfo
    steps: tuple[StepResult, ...] = ()
    proofs: tuple[Proof, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_version(cls, document: object) -> object:
        """Leave `findings` out: they once stood here, and were always empty."""
        if isinstance(document, dict) and "findings" in document:
            return {key: value for key, value in document.items() if key != "findings"}
        return document
