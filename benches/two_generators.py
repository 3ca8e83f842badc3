"""One engine with all users compared with two generators with half of them each, on one null
server.

Both have the same number of event loops, so the only differences are the split of the step and the
head that merges it. The generators are in this process: Ray's cost is not included.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benches.figures import mirrored, spread
from benches.place import Asked
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.tables import counted, table, with_spread
from loadstone import engine
from loadstone.cluster.cluster import Cluster
from loadstone.cluster.transport import InThisProcess
from loadstone.engine import Sending
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.engine_plan import step_document
from loadstone.model.null_server import NullServerSettings
from loadstone.model.plan import Closed, Drive, Plan, Step, WarmupSeconds, WorkloadSpec
from loadstone.model.records import AnyStepRecord, End, Sample
from loadstone.model.target import Endpoint, Target, Tls

USERS, GENERATORS = 64, 2
THINK_S = (0.02, 0.0)
"""The users determine the rate, or the machine does."""
_ONE, _TWO = "one engine", "two generators"
_HOST = "127.0.0.1"
_WARMUP_S = 1.0


@dataclass(frozen=True)
class Rate:
    """One step."""

    driver: str
    think_s: float
    pair: int
    tps: float
    p99_us: float
    events: int
    """Events of the whole step; the server has answered as many."""


def measure(asked: Asked) -> tuple[str, list[Rate], str]:
    """A table, every reading, and a note."""
    seconds = 2.0 if asked.quick else asked.seconds[1]
    rates = [
        _drive(driver, think_s, pair, seconds)
        for think_s in THINK_S
        for pair, order in enumerate(mirrored((_ONE, _TWO), asked.pairs))
        for driver in order
    ]
    rows = [_row(think_s, rates) for think_s in THINK_S]
    heads = ["think time", f"tps, {_ONE}", f"tps, {_TWO}", "ratio of tps", "ratio of p99"]
    note = (
        f"{USERS} users against {GENERATORS} × {USERS // GENERATORS}, point select, "
        f"{counted(asked.pairs, 'pair')} of {seconds:g} s; in each step the server answered "
        "exactly as many events as were counted."
    )
    return table(heads, rows), rates, note


def readings(rates: list[Rate]) -> list[dict[str, object]]:
    """The readings as saved to the file."""
    return [asdict(rate) for rate in rates]


def _row(think_s: float, rates: list[Rate]) -> list[str]:
    def of(driver: str) -> list[Rate]:
        found = [rate for rate in rates if (rate.driver, rate.think_s) == (driver, think_s)]
        return sorted(found, key=lambda rate: rate.pair)

    pairs = list(zip(of(_ONE), of(_TWO), strict=True))
    return [
        f"{1000 * think_s:g} ms",
        with_spread(spread([one.tps for one, _ in pairs]), 0),
        with_spread(spread([two.tps for _, two in pairs]), 0),
        with_spread(spread([two.tps / one.tps for one, two in pairs]), 4),
        with_spread(spread([two.p99_us / one.p99_us for one, two in pairs]), 2),
    ]


def _drive(driver: str, think_s: float, pair: int, seconds: float) -> Rate:
    announce(f"{driver}, think time {1000 * think_s:g} ms, pair {pair + 1}")
    with _null_server() as server:
        shards = 1 if driver == _TWO else GENERATORS
        document = _document(server.port, seconds, think_s, shards)
        if driver == _ONE:
            heard = _Heard(engine.start(document))
        else:
            with _generators() as links:
                heard = _Heard(Cluster(links, "stop", announce).start(document))
        if heard.events != server.stats().executes:
            raise ProgramFailed(
                f"{driver} counted {heard.events} events, the server {server.stats().executes}"
            )
    return Rate(
        driver=driver,
        think_s=think_s,
        pair=pair,
        tps=heard.window_events / heard.window_s,
        p99_us=heard.p99_us,
        events=heard.events,
    )


@contextmanager
def _null_server() -> Iterator[engine.NullServer]:
    """A null server for one step."""
    server = engine.null_server(NullServerSettings())
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def _generators() -> Iterator[list[InThisProcess]]:
    links = [InThisProcess(f"127.0.0.{number + 2}") for number in range(GENERATORS)]
    try:
        yield links
    finally:
        for link in links:
            link.close()


class _Heard:
    """A step followed to its end."""

    def __init__(self, job: Sending[AnyStepRecord]) -> None:
        self.window_events, self.window_s = 0, 0.0
        self.events = 0
        self._lines: list[str] = []
        follow(job, self._take, Interrupts())
        merged = engine.merge_hlog(self._lines)["step-1/response"]
        self.p99_us = (merged.p99 or 0) / 1000

    def _take(self, record: AnyStepRecord) -> bool:
        match record:
            case Sample(phase="window"):
                self.window_events += record.counts.events
                self.window_s += record.seconds
                self._lines += record.hlog
            case End():
                if record.reason != "finished":
                    raise ProgramFailed(f"the step ended as {record.reason}: {record.error}")
                self.events = record.tally.succeeded
                return True
        return False


def _document(port: int, seconds: float, think_s: float, shards: int) -> str:
    target = Target.model_validate(
        {"host": _HOST, "port": port, "user": "u", "database": "sbtest"}
        | {"tls": Tls(mode="disabled")}
    )
    plan = Plan(
        name="two-generators",
        targets=(target,),
        workload=WorkloadSpec(name="oltp_point_select", tables=10, table_size=10_000),
        ladder=(USERS,),
        duration_s=seconds,
        warmup=WarmupSeconds(warmup_s=_WARMUP_S),
        drive=Drive(arrival=Closed(think_s=think_s), shards=shards),
    )
    step = Step(number=1, workload=plan.workload.name, concurrency=USERS)
    return step_document(plan, step, [Endpoint(target=target)])
