"""The cost of a cluster's head: the messages of many generators, replayed into its own code.

The messages are recorded: generators in this process drive a null server, and their messages are
kept. Each simulated generator then sends seconds of different recordings, with new timestamps, so
that no two send the same histograms in one second. The measurement covers everything that the head
does with an answer once it has arrived: unpacking, parsing, adding histograms, writing the merged
interval into a journal's line. The transport of the answers (Ray) has a column of its own.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches import ray_calls, two_generators
from benches.place import Asked
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table
from loadstone import engine
from loadstone.cluster.merge_stream import Collector, Member
from loadstone.cluster.messages import HostUse, NumberedRecord
from loadstone.cluster.partition import parts_of
from loadstone.engine import PartJob
from loadstone.model.engine_plan import step_document
from loadstone.model.null_server import NullServerSettings
from loadstone.model.plan import Closed, Drive, Plan, Step, WarmupSeconds, WorkloadSpec
from loadstone.model.records import STEP_RECORD, Connected, Sample
from loadstone.model.target import Endpoint, Target, Tls
from loadstone.runs.journal import EngineEntry, to_line

GENERATORS = (10, 100, 1000)
_RECORDED_BY, _USERS = 8, 256
_THINK_S = 0.1
_CALLS = 3000
_CALLS_A_SECOND = 1.0
"""Per generator: an answer has the interval that has just ended."""

_HOST = "127.0.0.1"
_BEGIN_NS = 500_000_000
_LOOK_S, _PATIENCE_S = 1.0, 60.0
_STRIDE = 7919
_CONNECTED = Connected(seconds=0.1, users=1, encrypted_users=0)


@dataclass(frozen=True)
class Reading:
    """This many generators for this many seconds."""

    generators: int
    seconds: int
    cpu_share: float
    """Share of one core."""
    bytes_per_s: float
    kept_bytes_per_s: float
    events: int


def measure(asked: Asked, folder: Path) -> Report:
    """Measure each number of generators in turn; nothing is written to the folder."""
    recorded = _record(5.0 if asked.quick else 20.0)
    seconds = 2 if asked.quick else 10
    readings = []
    for generators in GENERATORS:
        announce(f"{generators} generators")
        readings.append(_replay(recorded, generators, seconds))
    call_s = ray_calls.cpu_of_a_call(300 if asked.quick else _CALLS)
    rows = [
        [
            f"{reading.generators:,}",
            f"{100 * reading.cpu_share:.1f} %",
            _share_of_calls(reading.generators, call_s),
            f"{reading.bytes_per_s / 1000:,.0f}",
            f"{reading.kept_bytes_per_s / 1000:,.0f}",
        ]
        for reading in readings
    ]
    beside, rates, compared = two_generators.measure(asked)
    return Report(
        title="A cluster: what so many generators cost its head, and two against one engine",
        tables=(table(_HEADS, rows), beside),
        readings=[
            *(asdict(reading) for reading in readings),
            {"cpu_s_of_a_call": call_s},
            *two_generators.readings(rates),
        ],
        notes=(
            f"{counted(len(recorded), 'recorded interval')} of {_USERS // _RECORDED_BY} users.",
            _note_on_calls(call_s),
            compared,
        ),
    )


_HEADS = ["generators", "merging, of a core", "calls, of a core", "kB/s in", "kB/s kept"]


def _share_of_calls(generators: int, call_s: float | None) -> str:
    if call_s is None:
        return "not measured"
    return f"{100 * generators * _CALLS_A_SECOND * call_s:.1f} %"


def _note_on_calls(call_s: float | None) -> str:
    if call_s is None:
        return "Calls through Ray: not measured, as it is not installed here (make test-cluster)."
    return (
        f"A call of a generator through Ray takes {1e6 * call_s:.0f} µs of the head's CPU, in all "
        f"of its threads; each generator is called once a second."
    )


def _record(seconds: float) -> list[dict[str, Any]]:
    """Record whole seconds of the window, as generators send them."""
    announce(f"recording {seconds:g} s of {_RECORDED_BY} generators")
    server = engine.null_server(NullServerSettings())
    try:
        jobs = [
            engine.start_part(part) for part in parts_of(_plan(server.port, seconds), _RECORDED_BY)
        ]
        begin_ns = time.monotonic_ns() + _BEGIN_NS
        for job in jobs:
            job.begin_at(begin_ns)
        return [record for job in jobs for record in _samples(job, jobs)]
    finally:
        server.stop()


def _samples(job: PartJob, all_jobs: Sequence[PartJob]) -> Iterator[dict[str, Any]]:
    """Follow a job to its end; the others' messages wait in their queues."""
    silent_s = 0.0
    while True:
        text = job.next(_LOOK_S)
        for each in all_jobs:
            each.renew()
        if text is None:
            silent_s += _LOOK_S
            if silent_s > _PATIENCE_S:
                raise ProgramFailed("a generator sent nothing")
            continue
        record: dict[str, Any] = json.loads(text)
        if record["kind"] == "end":
            return
        if record["kind"] == "sample" and record["phase"] == "window":
            yield record


def _plan(port: int, seconds: float) -> str:
    target = Target.model_validate(
        {"host": _HOST, "port": port, "user": "u", "database": "sbtest"}
        | {"tls": Tls(mode="disabled")}
    )
    plan = Plan(
        name="cluster",
        targets=(target,),
        workload=WorkloadSpec(name="oltp_read_write", tables=10, table_size=10_000),
        ladder=(_USERS,),
        duration_s=seconds,
        warmup=WarmupSeconds(warmup_s=0.0),
        drive=Drive(arrival=Closed(think_s=_THINK_S), shards=1),
    )
    step = Step(number=1, workload=plan.workload.name, concurrency=_USERS)
    return step_document(plan, step, [Endpoint(target=target)])


def _replay(recorded: Sequence[dict[str, Any]], generators: int, seconds: int) -> Reading:
    """Process messages as the head does: one second of all generators, then the next."""
    members = [Member(number, f"node-{number}", users=1) for number in range(generators)]
    collector = Collector(members, "continue", engine.sum_hlog)
    for member in members:
        collector.take(member.number, 1, _CONNECTED, None)
    collector.begin()
    list(collector.ready())
    bytes_in, bytes_kept, events, cpu_s = 0, 0, 0, 0.0
    for second in range(seconds):
        answers = [_answer(recorded, number, second) for number in range(generators)]
        bytes_in += sum(map(len, answers))
        began_s = time.process_time()
        for number, answer in enumerate(answers):
            for told in pickle.loads(answer):  # noqa: S301 made here
                record = STEP_RECORD.validate_json(told.record)
                collector.take(number, told.number, record, told.host)
        for merged in collector.ready():
            assert isinstance(merged, Sample)
            events += merged.counts.events
            line = to_line(EngineEntry(at_s=float(second), step=1, record=merged))
            bytes_kept += len(line) + sum(map(len, merged.hlog))
        cpu_s += time.process_time() - began_s
    return Reading(
        generators=generators,
        seconds=seconds,
        cpu_share=cpu_s / seconds,
        bytes_per_s=bytes_in / seconds,
        kept_bytes_per_s=bytes_kept / seconds,
        events=events,
    )


def _answer(recorded: Sequence[dict[str, Any]], number: int, second: int) -> bytes:
    """A generator's answer for a second of the step, as sent over the network."""
    # A step without a common factor: neighbours send different intervals in the same second.
    chosen = recorded[(number * _STRIDE + second) % len(recorded)]
    record = chosen | {"from_s": float(second), "to_s": float(second + 1)}
    text = json.dumps(record, separators=(",", ":"))
    return pickle.dumps([NumberedRecord(second + 2, text, HostUse(0.5, 1_000_000, 1_000_000))])
