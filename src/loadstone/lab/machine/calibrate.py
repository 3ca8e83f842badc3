"""Measures the limits of this machine's generator against a server that costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone import __version__, engine
from loadstone.lab.machine.host_checks import host_checks
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.calibration import Calibration, Ceiling, Protocol, Transport
from loadstone.model.engine_plan import step_document
from loadstone.model.figure import General
from loadstone.model.message import say, user_count
from loadstone.model.null_server import NullServerSettings, NullServerTls
from loadstone.model.plan import Drive, Plan, Step, Uniform, WarmupSeconds, WorkloadSpec
from loadstone.model.records import End, Sample, StepRecord
from loadstone.model.target import Endpoint, Target, Tls
from loadstone.runs.calibration import this_machine
from loadstone.sandbox.certificates import make_certificates

USERS = 64
_WARMUP_S = 0.5
_TABLES, _TABLE_SIZE = 10, 10_000
_WAYS: tuple[tuple[Protocol, Transport], ...] = (
    ("prepared", "tcp"),
    ("prepared", "tls"),
    ("prepared", "socket"),
    ("text", "tcp"),
    ("text", "tls"),
    ("text", "socket"),
)


def calibrate(
    users: int, seconds: float, interrupts: Interrupts, announce: Callable[[str], None]
) -> Calibration:
    """Measure each way on one event loop; the host is checked first, while nothing runs.

    Raises:
        Interrupted: on request.
        EngineError: the engine or the null server failed.
    """
    announce(say("looking at the host"))
    checks = host_checks()
    with _null_server() as server:
        measured = []
        for protocol, transport in _WAYS:
            interrupts.check()
            announce(
                say(
                    "{protocol} statements over {transport}, {users}, {seconds} s",
                    protocol=protocol,
                    transport=transport,
                    users=user_count(users),
                    seconds=General(seconds),
                )
            )
            target = server.target(transport)
            measured.append(_measure(target, (protocol, transport), users, seconds, interrupts))
    return Calibration(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        loadstone=__version__,
        machine=this_machine(),
        measured=tuple(measured),
        checks=checks,
    )


def measure(
    way: tuple[Protocol, Transport], users: int, seconds: float, interrupts: Interrupts
) -> Ceiling:
    """Measure a single way, for a quick answer; nothing is stored.

    Raises:
        Interrupted: on request.
        EngineError: the engine or the null server failed.
    """
    with _null_server() as server:
        return _measure(server.target(way[1]), way, users, seconds, interrupts)


@dataclass(frozen=True)
class _Null:
    port: int
    socket: Path

    def target(self, transport: Transport) -> Target:
        place = {"socket": self.socket} if transport == "socket" else {"port": self.port}
        tls = Tls(mode="required" if transport == "tls" else "disabled")
        given = {"host": "127.0.0.1", "user": "loadstone", "database": "sbtest", "tls": tls}
        return Target.model_validate(given | place)


@contextmanager
def _null_server() -> Iterator[_Null]:
    with TemporaryDirectory(prefix="loadstone-calibrate-") as folder:
        files = make_certificates(Path(folder, "tls"))
        socket = Path(folder, "null.sock")
        settings = NullServerSettings(
            socket=socket,
            tables=_TABLES,
            table_size=_TABLE_SIZE,
            tls=NullServerTls(cert=files.cert("server"), key=files.key("server")),
        )
        server = engine.null_server(settings)
        try:
            yield _Null(server.port, socket)
        finally:
            server.stop()


@dataclass
class _Sums:
    """Sums over the seconds of the measurement window."""

    cpu_us: int = 0
    queries: int = 0
    seconds: float = 0.0
    end: End | None = field(default=None)

    def take(self, record: StepRecord) -> bool:
        if isinstance(record, Sample) and record.phase == "window":
            self.cpu_us += record.generator.cpu_us
            self.queries += record.counts.queries
            self.seconds += record.seconds
        if isinstance(record, End):
            self.end = record
        return isinstance(record, End)


def _measure(
    target: Target,
    way: tuple[Protocol, Transport],
    users: int,
    seconds: float,
    interrupts: Interrupts,
) -> Ceiling:
    protocol, transport = way
    plan = Plan(
        name="calibrate",
        targets=(target,),
        workload=WorkloadSpec(
            name="oltp_point_select",
            tables=_TABLES,
            table_size=_TABLE_SIZE,
            distribution=Uniform(),
        ),
        ladder=(users,),
        duration_s=seconds,
        warmup=WarmupSeconds(warmup_s=_WARMUP_S),
        drive=Drive(protocol=protocol, shards=1),
    )
    step = Step(number=1, workload=plan.workload.name, concurrency=users)
    sums = _Sums()
    follow(
        engine.start(step_document(plan, step, [Endpoint(target=target)])), sums.take, interrupts
    )
    interrupts.check()
    if sums.end is None or sums.end.reason != "finished" or not sums.queries:
        error = sums.end.error if sums.end else None
        raise engine.EngineError(
            say(
                "{protocol} over {transport}: {why}",
                protocol=protocol,
                transport=transport,
                why=error.message if error else say("there was no answer"),
            )
        )
    return Ceiling(
        protocol=protocol,
        transport=transport,
        users=users,
        cpu_us_per_query=sums.cpu_us / sums.queries,
        measured_qps=sums.queries / sums.seconds,
    )
