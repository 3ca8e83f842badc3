"""Runs plans on the engine for these tests, and collects the outcome.

Everything that a step or a load says is checked here against what docs/engine.md promises of every
record, so that no test needs to: both laws of the tally, one `end`, and nothing after it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from loadstone import engine
from loadstone.model.records import (
    Connected,
    Counts,
    End,
    FirstError,
    LoadEnd,
    LoadProgress,
    LoadStalled,
    MemberCounts,
    Outage,
    Printed,
    Sample,
    UserEnded,
)
from loadstone.model.target import Endpoint, Tls
from loadstone.sandbox import Sandbox

Document = dict[str, Any]

SEED = 42
PATIENCE_S = 120.0
"""How long a record may be awaited: what takes longer hangs."""


def tcp(sandbox: Sandbox, mode: str = "disabled", **changes: Any) -> Document:
    """The sandbox's main user over TCP; encrypted only where `mode` says so."""
    return described(sandbox.endpoint(tls=Tls(mode=mode)), **changes)  # type: ignore[arg-type]


def local(sandbox: Sandbox, **changes: Any) -> Document:
    """The same over the unix socket."""
    return described(sandbox.local, **changes)


def described(endpoint: Endpoint, **changes: Any) -> Document:
    return endpoint.for_engine() | changes


def a_plan(*targets: Document, **changes: Any) -> Document:
    """A step of one user for one event, unless the test says otherwise."""
    plan: Document = {
        "targets": list(targets),
        "workload": {"name": "oltp_point_select", "tables": 2, "table_size": 1000},
        "protocol": "prepared",
        "users": 1,
        "arrival": {"kind": "closed", "think_s": 0.0},
        "stop": {"kind": "events", "events": 1, "warmup_s": 0.0, "duration_s": 20.0},
        "connect": {"at_once": 64, "timeout_s": 5.0, "retries": 0, "backoff_s": 0.05},
        "session": {"init_sql": [], "isolation": None, "charset": "utf8mb4"},
        "on_error": "restart",
        "shards": 1,
        "seed": SEED,
        "tag": "step-1",
    }
    unknown = changes.keys() - plan.keys()
    assert not unknown, f"a plan has no {unknown}"
    return plan | changes


def seconds(duration_s: float, warmup_s: float = 0.0) -> Document:
    return {"kind": "time", "warmup_s": warmup_s, "duration_s": duration_s}


def events(number: int, duration_s: float = 20.0) -> Document:
    return {"kind": "events", "events": number, "warmup_s": 0.0, "duration_s": duration_s}


def workload(name: str, tables: int = 2, table_size: int = 1000, **options: Any) -> Document:
    return {"name": name, "tables": tables, "table_size": table_size, "options": options}


def connecting(**changes: Any) -> Document:
    policy = {"at_once": 64, "timeout_s": 5.0, "retries": 3, "backoff_s": 0.05}
    return policy | changes


def once(**changes: Any) -> Document:
    """A policy with a second try that is ten minutes away: a login that must fail at once never
    waits."""
    return connecting(retries=5, backoff_s=600.0, longest_backoff_s=600.0) | changes


def session(*init_sql: str, **changes: Any) -> Document:
    return {"init_sql": list(init_sql), "isolation": None, "charset": "utf8mb4"} | changes


@dataclass
class Outcome:
    """All records of a step."""

    connected: Connected | None = None
    samples: list[Sample] = field(default_factory=list)
    errors_said: dict[str, FirstError] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    ended: list[UserEnded] = field(default_factory=list)
    end: End | None = None

    def take(self, record: object) -> None:
        assert self.end is None, f"a record after the end: {record}"
        match record:
            case Connected():
                assert self.connected is None
                self.connected = record
            case Sample():
                assert record.tally.balances(), record
                check_members(record)
                self.samples.append(record)
            case FirstError():
                assert record.code not in self.errors_said
                self.errors_said[record.code] = record
            case Outage():
                self.outages.append(record)
            case UserEnded():
                self.ended.append(record)
            case Printed():
                self.printed.append(record.text)
            case End():
                assert record.tally.balances(), record
                self.end = record

    @property
    def last(self) -> End:
        assert self.end is not None
        return self.end

    @property
    def failure(self) -> tuple[str, int | None]:
        """Kind and number of what ended the step."""
        error = self.last.error
        assert self.last.reason == "failed", self.last
        assert error is not None
        return error.kind, error.number

    def finished(self) -> Self:
        assert (self.last.reason, self.last.error) == ("finished", None)
        return self

    def total(self, *phases: str) -> Counts:
        """The sum of these phases' counts; of all phases if none is named."""
        chosen = [each.counts for each in self.samples if not phases or each.phase in phases]
        names = Counts.model_fields
        return Counts(**{name: sum(getattr(each, name) for each in chosen) for name in names})

    def errors(self) -> Counter[str]:
        return added(sample.errors for sample in self.samples)

    def connect_failures(self) -> Counter[str]:
        before = [self.connected.connect_failures] if self.connected else []
        return added([*before, *(sample.connect_failures for sample in self.samples)])

    def latency(self) -> Mapping[str, Any]:
        """A latency by the part of its tag after the slash: `response`, `read`, `error-1213`."""
        merged = engine.merge_hlog(line for sample in self.samples for line in sample.hlog)
        return {tag.partition("/")[2]: latency for tag, latency in merged.items()}

    def of_target(self, index: int, name: str) -> int:
        return sum(getattr(sample.targets[index], name) for sample in self.samples)


def check_members(sample: Sample) -> None:
    """Check that each workload of a mix keeps both laws, and that they add up to the whole."""
    if not sample.members:
        return
    assert all(member.tally.balances() for member in sample.members), sample
    for name in type(sample.tally).model_fields:
        of_members = sum(getattr(member.tally, name) for member in sample.members)
        assert of_members == getattr(sample.tally, name), (name, sample)
    for name in MemberCounts.model_fields:
        of_members = sum(getattr(member.counts, name) for member in sample.members)
        assert of_members == getattr(sample.counts, name), (name, sample)
    assert added(member.errors for member in sample.members) == added([sample.errors])


def added(tables: Iterable[Mapping[str, int]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for table in tables:
        summed.update(table)
    return summed


class Driving:
    """A running step; leaving the block waits for its end."""

    def __init__(self, plan: Document) -> None:
        self.job = engine.start(json.dumps(plan))
        self.outcome = Outcome()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.job.stop()
        else:
            self.until(lambda outcome: outcome.end is not None)

    def until(self, reached: Callable[[Outcome], bool], patience_s: float = PATIENCE_S) -> Outcome:
        """Take records until they match."""
        deadline = time.monotonic() + patience_s
        while not reached(self.outcome):
            left = deadline - time.monotonic()
            assert left > 0, f"it hangs; so far: {self.outcome}"
            assert self.outcome.end is None, f"it ended before that: {self.outcome}"
            record = self.job.next(min(left, 1.0))
            if record is not None:
                self.outcome.take(record)
        return self.outcome

    def until_connected(self) -> Outcome:
        outcome = self.until(lambda outcome: bool(outcome.connected or outcome.end))
        assert outcome.connected, outcome.end
        return outcome

    def until_samples(self, number: int) -> Outcome:
        return self.until(lambda outcome: len(outcome.samples) >= number)

    def listen(self, for_s: float) -> Outcome:
        """Take the records of the next seconds."""
        deadline = time.monotonic() + for_s
        while (left := deadline - time.monotonic()) > 0 and self.outcome.end is None:
            record = self.job.next(left)
            if record is not None:
                self.outcome.take(record)
        return self.outcome

    def stop(self) -> None:
        self.job.stop()


def drive(plan: Document) -> Outcome:
    """Run a whole step."""
    with Driving(plan) as step:
        pass
    return step.outcome


def a_load(target: Document, **changes: Any) -> Document:
    """A load of two small tables, unless the test says otherwise."""
    plan: Document = {
        "target": target,
        "layout": a_layout(),
        "parallel": 2,
        "method": "auto",
        "seed": SEED,
        "connect": connecting(retries=5),
        "session": session(),
    }
    return plan | changes


def a_layout(tables: int = 2, table_size: int = 1000, **changes: Any) -> Document:
    layout: Document = {
        "tables": tables,
        "table_size": table_size,
        "storage_engine": "innodb",
        "secondary_index": True,
        "auto_increment": True,
        "distribution": {"kind": "special"},
        "kind": "sbtest",
    }
    return layout | changes


@dataclass
class Loaded:
    """All records of a load."""

    progress: list[LoadProgress] = field(default_factory=list)
    stalled: list[LoadStalled] = field(default_factory=list)
    end: LoadEnd | None = None

    @property
    def last(self) -> LoadEnd:
        assert self.end is not None
        return self.end

    def finished(self) -> Self:
        assert (self.last.reason, self.last.error) == ("finished", None)
        return self


class Loading:
    """A running load; leaving the block waits for its end."""

    def __init__(self, plan: Document) -> None:
        self.job = engine.load(json.dumps(plan))
        self.loaded = Loaded()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.job.stop()
        else:
            self.until(lambda loaded: loaded.end is not None)

    def until(self, reached: Callable[[Loaded], bool], patience_s: float = PATIENCE_S) -> Loaded:
        deadline = time.monotonic() + patience_s
        while not reached(self.loaded):
            left = deadline - time.monotonic()
            assert left > 0, f"it hangs; so far: {self.loaded}"
            record = self.job.next(min(left, 1.0))
            if isinstance(record, LoadProgress):
                assert record.rows <= record.rows_total
                self.loaded.progress.append(record)
            elif isinstance(record, LoadStalled):
                self.loaded.stalled.append(record)
            elif record is not None:
                self.loaded.end = record
        return self.loaded

    def stop(self) -> None:
        self.job.stop()


def load(plan: Document) -> Loaded:
    """Run a whole load."""
    with Loading(plan) as loading:
        pass
    return loading.loaded
