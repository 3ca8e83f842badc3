"""What is done to a server, its host or the load, with the proof that it took effect.

Each is a context manager of a scene that yields its proof. At the end of the block nothing of it is
left, however the block ends.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO

from benches.caps import Cap, DiskLimit, cpu_cap, throttled_disk
from benches.processes import ProgramFailed
from faults.case import Effect, Inject, Proof
from faults.dialects import DRIVER_ERRORS, code
from faults.ground import TABLES
from faults.scene import Scene, cpu_s
from loadstone.servers.connection import Cursor

_BETWEEN_LOOKS_S = 0.5
_PINGS = 5
_LATE_MS = 2.0
_PATIENCE_S = 30.0
"""For the load's begin, once its process was started."""


@contextmanager
def nothing(scene: Scene) -> Iterator[Proof]:
    """A healthy server."""
    yield lambda: Effect("", bites=True)


def counted(name: str, least: float, words: str) -> Inject:
    """For what the server's own settings do: a status counter that grows by `least` a second."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        before, begun = scene.status(name), time.monotonic()

        def proof() -> Effect:
            rate = (scene.status(name) - before) / (time.monotonic() - begun)
            return Effect(f"{words}: {rate:,.0f} a second", rate >= least)

        yield proof

    return inject


def highest(name: str, least: float, words: str) -> Inject:
    """The same of a status value that is a highest mark."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def proof() -> Effect:
            value = scene.status(name)
            return Effect(f"{words}: {value:,.0f}", value >= least)

        yield proof

    return inject


def answers_after(least_ms: float) -> Inject:
    """For a long way: the quickest of some answers over it."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def proof() -> Effect:
            took_ms = []
            with scene.connect_as_the_load() as connection, connection.cursor() as cursor:
                for _ in range(_PINGS):
                    begun = time.monotonic()
                    cursor.execute("SELECT 1")
                    took_ms.append(1000 * (time.monotonic() - begun))
            quickest = min(took_ms)
            return Effect(f"the quickest answer takes {quickest:.1f} ms", quickest >= least_ms)

        yield proof

    return inject


def takes(statement: str, least_ms: float) -> Inject:
    """For what makes a statement slow: the quickest of some, once the load is over."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def proof() -> Effect:
            took_ms = []
            for _ in range(_PINGS):
                begun = time.monotonic()
                scene.execute((statement,))
                took_ms.append(1000 * (time.monotonic() - begun))
            quickest = min(took_ms)
            words = f"the quickest of {_PINGS} statements takes {quickest:.1f} ms"
            return Effect(words, quickest >= least_ms)

        yield proof

    return inject


def dearer(statement: str, other: str, times: float) -> Inject:
    """For what makes one statement slow under load, and not another of the same kind."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        took: dict[str, list[float]] = {statement: [], other: []}

        def ask() -> None:
            with scene.session() as cursor:
                while not scene.watch.over.wait(_BETWEEN_LOOKS_S):
                    for text, times_ms in took.items():
                        times_ms.append(_time_ms(cursor, text))

        def proof() -> Effect:
            finished()
            slow, quick = (statistics.median(all_ms or [0.0]) for all_ms in took.values())
            words = f"the one statement takes {slow:.2f} ms, the other {quick:.2f} ms"
            return Effect(words, slow > 0 and slow >= times * quick)

        with beside_the_load(scene, ask) as finished:
            yield proof

    return inject


def _time_ms(cursor: Cursor, statement: str) -> float:
    begun = time.monotonic()
    cursor.execute(statement)
    return 1000 * (time.monotonic() - begun)


def answered(statement: str, least: float, words: str) -> Inject:
    """A number that the server gives once the load is over."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def proof() -> Effect:
            with scene.session() as cursor:
                cursor.execute(statement)
                ((value,),) = cursor.fetchall()
            return Effect(f"{words}: {float(value or 0):,.0f}", float(value or 0) >= least)

        yield proof

    return inject


def sampled(statement: str, least: float, words: str) -> Inject:
    """For what shows at the moment only: the mean of a number that is asked for under load."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        seen: list[float] = []

        def look() -> None:
            with scene.session() as cursor:
                while not scene.watch.over.wait(_BETWEEN_LOOKS_S):
                    cursor.execute(statement)
                    ((value,),) = cursor.fetchall()
                    seen.append(float(value or 0))

        def proof() -> Effect:
            finished()
            mean = sum(seen) / max(len(seen), 1)
            return Effect(f"{words}: {mean:.1f} on the mean of {len(seen)} looks", mean >= least)

        with beside_the_load(scene, look) as finished:
            yield proof

    return inject


def server_cores(cores: float) -> Inject:
    """A CPU quota on the server's process."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with cpu_cap(scene.sandbox.pid, cores) as cap:
            yield proof_of(cap)

    return inject


def replica_cores(cores: float) -> Inject:
    """A CPU quota on the replica: its acknowledgements are late."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        replica = scene.sandbox.replica
        assert replica is not None, "the case asks for a replica"
        with cpu_cap(replica.pid, cores) as cap:
            yield proof_of(cap)

    return inject


@contextmanager
def late_acknowledgements(scene: Scene) -> Iterator[Proof]:
    """For what makes them late: how long MySQL's and MariaDB's commits have waited for them."""
    end = "master" if scene.server == "mariadb" else "source"

    def proof() -> Effect:
        wait_ms = scene.status(f"rpl_semi_sync_{end}_tx_avg_wait_time") / 1000
        return Effect(f"an acknowledgement takes {wait_ms:,.1f} ms", wait_ms >= _LATE_MS)

    yield proof


def dead_replica(after_s: float) -> Inject:
    """The replica is killed while the load is on."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        replica = scene.sandbox.replica
        assert replica is not None, "the case asks for a replica"
        end = "master" if scene.server == "mariadb" else "source"
        name = f"rpl_semi_sync_{end}_no_tx"

        def kill() -> None:
            if not scene.watch.over.wait(after_s):
                replica.kill()

        def proof() -> Effect:
            alone = scene.status(name)
            return Effect(f"{alone:,.0f} transactions without a replica", alone > 0)

        with beside_the_load(scene, kill):
            yield proof

    return inject


def reads_of_disk(iops: int) -> Inject:
    """So many reads a second from the disk, which InnoDB reads around the page cache."""
    return disk(DiskLimit("read", "iops", iops), 0.5 * iops)


def writes_to_disk(iops: int) -> Inject:
    """So many writes a second to it: those of a sync count, being the process's own."""
    return disk(DiskLimit("write", "iops", iops), 0.5 * iops)


def disk(limit: DiskLimit, least: float) -> Inject:
    """A limit on what the server asks of its disk; `least` operations a second go through it."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with throttled_disk(scene.sandbox.pid, scene.sandbox.datadir, limit) as through:
            begun: list[float] = []
            with beside_the_load(scene, lambda: begun.append(time.monotonic())):

                def proof() -> Effect:
                    seconds = time.monotonic() - begun[0]
                    rate = through.count() / seconds
                    return Effect(f"{through.proof()}, {rate:,.0f} a second", rate >= least)

                yield proof

    return inject


def line(mbit: int) -> Inject:
    """The server's answers go over a line of that rate."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        assert scene.network is not None, "the case asks for a network of its own"
        with scene.network.line(mbit) as cap:
            yield proof_of(cap)

    return inject


def slow_generator(cores: float) -> Inject:
    """A CPU quota on the load's own process, as long as it drives load."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        told: list[Effect] = []

        def hold() -> None:
            pid = scene.watch.generator_pid
            assert pid is not None, "the load is on"
            with cpu_cap(pid, cores) as cap:
                scene.watch.over.wait()
                told.append(proof_of(cap)())

        with beside_the_load(scene, hold) as finished:

            def proof() -> Effect:
                finished()
                return told[0] if told else Effect("it was never held", bites=False)

            yield proof

    return inject


def slow_pooler(cores: float) -> Inject:
    """A CPU quota on the pooler's process."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        pooler = scene.sandbox.state.pooler
        assert pooler is not None, "the case asks for one"
        with cpu_cap(pooler.process.pid, cores) as cap:
            yield proof_of(cap)

    return inject


def hogs(count: int) -> Inject:
    """Processes that compute on the server's host, as long as load is driven."""
    command = [sys.executable, "-c", "while True: pass"]

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        used: list[float] = []

        def compute() -> None:
            begun = time.monotonic()
            with ExitStack() as stack:
                made = [stack.enter_context(ended(command)) for _ in range(count)]
                scene.watch.over.wait()
                seconds = time.monotonic() - begun
                used.append(sum(cpu_s(one.pid) for one in made) / seconds)

        def proof() -> Effect:
            finished()
            cores = sum(used)
            return Effect(f"{count} processes used {cores:.2f} cores", cores >= 0.5)

        with beside_the_load(scene, compute) as finished:
            yield proof

    return inject


@dataclass(frozen=True)
class Holding:
    """A session that takes something, keeps it, and gives it free, again and again."""

    take: tuple[str, ...]
    give: tuple[str, ...]
    hold_s: float
    pause_s: float
    waiting: str
    """What the state of those that wait for it contains, in lower case."""


def held(holding: Holding) -> Inject:
    """Locks of another session, held for some part of the time while load is driven."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        waited: list[int] = []

        def hold() -> None:
            while not scene.watch.over.wait(holding.pause_s):
                with scene.session() as cursor:
                    if not was_executed(scene, cursor, holding.take):
                        continue
                    scene.watch.over.wait(holding.hold_s)
                    if not scene.watch.over.is_set():
                        waited.append(_waiting(scene, holding.waiting))
                    for statement in holding.give:
                        cursor.execute(statement)

        def proof() -> Effect:
            finished()
            mean = sum(waited) / max(len(waited), 1)
            words = f"held {len(waited)} times, {mean:.1f} connections waiting"
            return Effect(words, mean >= 1)

        with beside_the_load(scene, hold) as finished:
            yield proof

    return inject


def was_executed(scene: Scene, cursor: Cursor, statements: Sequence[str]) -> bool:
    """Whether all of them were; the load may be in the way of a lock."""
    try:
        for text in statements:
            cursor.execute(text)
    except DRIVER_ERRORS as error:
        if code(error) not in scene.dialect.in_the_way:
            raise
        return False
    return True


def old_snapshot(least: float) -> Inject:
    """A transaction that sees the data as it was before the load, and is left open."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with scene.session() as cursor:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            cursor.execute("SELECT COUNT(*) FROM sbtest1")

            def proof() -> Effect:
                length = _history_length(scene)
                return Effect(f"{length:,.0f} entries of history at the end", length >= least)

            yield proof

    return inject


def _history_length(scene: Scene) -> float:
    """Entries of the undo log that purge has still to do; each server has a place of its own."""
    if scene.server == "mariadb":
        return scene.status("Innodb_history_list_length")
    with scene.session() as cursor:
        cursor.execute(
            "SELECT COUNT FROM information_schema.INNODB_METRICS"
            " WHERE NAME = 'trx_rseg_history_len'"
        )
        ((length,),) = cursor.fetchall()
    return float(length)


def without_keys(tables: int) -> Inject:
    """The primary keys are dropped: each search by id reads the table."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        scene.execute(
            f"ALTER TABLE sbtest{number} MODIFY id INT NOT NULL, DROP PRIMARY KEY"
            for number in range(1, tables + 1)
        )
        name = "handler_read_rnd_next"
        with counted(name, 50_000, "rows read in scans")(scene) as proof:
            yield proof

    return inject


def many_tables(tables: int, rows: int, least: float) -> Inject:
    """More tables like the first, each with its first rows; `least` are opened a second."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        for number in range(TABLES + 1, tables + 1):
            name = f"sbtest{number}"
            filled = f"INSERT INTO {name} SELECT * FROM sbtest1 WHERE id <= {rows}"
            scene.execute((f"CREATE TABLE {name} LIKE sbtest1", filled))
        with counted("Opened_tables", least, "tables opened")(scene) as proof:
            yield proof

    return inject


def skewed(values: int) -> Inject:
    """Give the column k of the first table this many values, and update its index statistics."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        scene.execute((f"UPDATE sbtest1 SET k = id % {values}", "ANALYZE TABLE sbtest1"))
        names = ("Handler_read_next", "Handler_read_rnd_next")
        before, begun = sum(map(scene.status, names)), time.monotonic()

        def proof() -> Effect:
            rate = (sum(map(scene.status, names)) - before) / (time.monotonic() - begun)
            return Effect(f"rows walked through: {rate:,.0f} a second", rate >= 50_000)

        yield proof

    return inject


def growing_log(least_bytes: float) -> Inject:
    """The general or slow log is on: its file grows."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def size() -> int:
            logs = {*scene.sandbox.datadir.glob("*.log"), scene.sandbox.place.error_log}
            return sum(path.stat().st_size for path in logs)

        before = size()

        def proof() -> Effect:
            written = size() - before
            return Effect(f"{written / 1e6:,.1f} MB of log written", written >= least_bytes)

        yield proof

    return inject


def binlog_files(least: int) -> Inject:
    """Files of the binary log that the load began."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        def files() -> int:
            return len(list(scene.sandbox.datadir.glob("binlog.[0-9]*")))

        before = files()

        def proof() -> Effect:
            begun = files() - before
            return Effect(f"{begun:,} files of the binary log begun", begun >= least)

        yield proof

    return inject


def proof_of(cap: Cap) -> Proof:
    """What a cap says of itself: it has bitten where it held something back."""
    return lambda: Effect(cap.proof(), cap.count() > 0)


@contextmanager
def beside_the_load(scene: Scene, work: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Do something in a thread from the moment that load is driven; yields what waits for its end.

    Raises:
        ProgramFailed: it could not be done.
    """
    trouble: list[BaseException] = []

    def begin() -> None:
        try:
            if scene.watch.on.wait(_PATIENCE_S) and not scene.watch.over.is_set():
                work()
        except (OSError, *DRIVER_ERRORS, ProgramFailed) as error:
            trouble.append(error)

    thread = threading.Thread(target=begin, name="injection")
    thread.start()
    try:
        yield thread.join
    finally:
        scene.watch.end()
        thread.join()
    if trouble:
        raise ProgramFailed(f"the injection: {trouble[0]}") from trouble[0]


@contextmanager
def ended(command: Sequence[str], out: IO[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block, nor us; with a file, it speaks to that."""
    words = ["setpriv", "--pdeathsig", "KILL", *command]
    aside = subprocess.DEVNULL if out else None
    process = subprocess.Popen(words, stdout=out, stderr=aside)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _waiting(scene: Scene, words: str) -> int:
    with scene.session() as cursor:
        cursor.execute(scene.dialect.waiting.format(words=words))
        ((count,),) = cursor.fetchall()
        return int(count)
