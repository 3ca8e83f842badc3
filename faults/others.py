"""What others do at the server, on its host or on the way while the load is on, with its proof.

As in `faults.injections`, nothing of it is left at the end of a block.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from benches.caps import GROUPS, swap
from benches.place import LOADSTONE
from faults.case import Effect, Inject, Proof
from faults.dialects import DRIVER_ERRORS, code
from faults.ground import ROWS, TABLES
from faults.injections import beside_the_load, ended, proof_of, was_executed
from faults.scene import Scene, cpu_s, processes_of
from loadstone.servers.connection import Cursor

_BETWEEN_LOOKS_S = 0.5
_PART_OF_A_CORE = 0.6
_SWAP_MIB = 1024


def clients(test: str, threads: int, least: float) -> Inject:
    """Another generator drives the same server: `least` statements a second by its own count."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        said: list[str] = []

        def drive() -> None:
            with tempfile.TemporaryFile("w+") as out, ended(_sysbench(scene, test, threads), out):
                scene.watch.over.wait()
                out.seek(0)
                said.append(out.read())

        def proof() -> Effect:
            finished()
            rates = [float(rate) for rate in re.findall(r"qps: ([\d.]+)", "".join(said))]
            mean = sum(rates) / max(len(rates), 1)
            words = f"{threads} other clients sent {mean:,.0f} statements a second"
            return Effect(words, mean >= least)

        with beside_the_load(scene, drive) as finished:
            yield proof

    return inject


def _sysbench(scene: Scene, test: str, threads: int) -> list[str]:
    state = scene.sandbox.state
    place = {
        "socket": str(scene.sandbox.socket),
        "folder": str(scene.sandbox.socket.parent),
        "port": str(scene.sandbox.port),
        "user": state.accounts[0].user,
        "password": scene.sandbox.tcp.credentials.reveal(),
        "database": state.database,
    }
    options = {name: text.format(**place) for name, text in scene.dialect.sysbench.items()}
    options |= {
        "table-size": str(ROWS),
        "threads": str(threads),
        "time": "600",
        "report-interval": "1",
    }
    if not test.endswith(".lua"):
        options["tables"] = str(TABLES)
    words = [f"--{name}={value}" for name, value in options.items()]
    return [LOADSTONE, "sysbench", test, *words, "run"]


def statement(text: str) -> Inject:
    """Somebody's one statement is at work as long as the load is; then it is killed."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        lasted: list[float] = []

        def ask() -> None:
            with scene.session() as cursor:
                number = _number_of(scene, cursor)
                killer = threading.Thread(target=_kill_at_the_end, args=(scene, number))
                killer.start()
                begun = time.monotonic()
                try:
                    cursor.execute(text)
                except DRIVER_ERRORS as error:
                    if code(error) not in scene.dialect.ended:
                        raise
                finally:
                    lasted.append(time.monotonic() - begun)
                    killer.join()

        def proof() -> Effect:
            finished()
            return Effect(f"a statement was at work for {sum(lasted):.1f} s", sum(lasted) >= 4)

        with beside_the_load(scene, ask) as finished:
            yield proof

    return inject


def _number_of(scene: Scene, cursor: Cursor) -> int:
    """What the server calls this session."""
    cursor.execute(scene.dialect.number)
    ((number,),) = cursor.fetchall()
    return int(number)


def _kill_at_the_end(scene: Scene, number: int) -> None:
    scene.watch.over.wait()
    with suppress(*DRIVER_ERRORS):
        scene.execute((scene.dialect.cancel.format(number=number),))


def repeated(statements: Sequence[str], pause_s: float, sessions: int = 1) -> Inject:
    """Sessions that execute these again and again; another injection proves the effect."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        rounds: list[None] = []

        def repeat() -> None:
            with scene.session() as cursor:
                while not scene.watch.over.wait(pause_s):
                    if was_executed(scene, cursor, statements):
                        rounds.append(None)

        def proof() -> Effect:
            return Effect(f"{len(rounds)} rounds", bites=bool(rounds))

        with ExitStack() as stack:
            for _ in range(sessions):
                stack.enter_context(beside_the_load(scene, repeat))
            yield proof

    return inject


def left_open(statements: Sequence[str], age: str, least: float) -> Inject:
    """A session that has executed these before the load and does nothing until its end.

    `age`: an expression of the server that is to be at least so much then.
    """

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        with scene.session() as cursor:
            for each in statements:
                cursor.execute(each)

            def proof() -> Effect:
                found = scene.status(age)
                return Effect(f"{found:,.0f} transactions since its snapshot", found >= least)

            yield proof
            cursor.execute("ROLLBACK")

    return inject


def executed(statements: Iterable[str]) -> Inject:
    """What is done to the tables before the load; another injection proves the effect."""
    every = tuple(statements)

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        scene.execute(every)
        yield lambda: Effect("", bites=True)

    return inject


def with_table(columns: str, inject: Inject, more: Sequence[str] = ()) -> Inject:
    """The same with a table of its own, in a schema of its own: `THEIRS`.

    `more`: statements once it is there.
    """

    @contextmanager
    def injected(scene: Scene) -> Iterator[Proof]:
        schema = THEIRS.partition(".")[0]
        create, drop = (words.format(name=schema) for words in scene.dialect.own_schema)
        scene.execute((create, f"CREATE TABLE {THEIRS} ({columns})", *more))
        try:
            with inject(scene) as proof:
                yield proof
        finally:
            scene.execute((drop,))

    return injected


def definition_held(table: str, change: str, hold_s: float, pause_s: float) -> Inject:
    """A transaction has read a table, ALTER TABLE waits for its end, and everybody for that.

    `change`: what ALTER TABLE does the time of that `{number}`.
    """

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        waited_s: list[float] = []

        def alter() -> None:
            begun = time.monotonic()
            with suppress(*DRIVER_ERRORS):  # then it is missing in the proof
                scene.execute([f"ALTER TABLE {table} {change.format(number=len(waited_s))}"])
                waited_s.append(time.monotonic() - begun)

        def hold() -> None:
            with scene.session() as cursor:
                while not scene.watch.over.wait(pause_s):
                    cursor.execute("BEGIN")
                    cursor.execute(f"SELECT id FROM {table} LIMIT 1")
                    waiting = threading.Thread(target=alter)
                    waiting.start()
                    scene.watch.over.wait(hold_s)
                    cursor.execute("COMMIT")
                    waiting.join()

        def proof() -> Effect:
            finished()
            words = f"ALTER TABLE waited {len(waited_s)} times, {sum(waited_s):.1f} s in all"
            return Effect(words, bites=bool(waited_s))

        with beside_the_load(scene, hold) as finished:
            yield proof

    return inject


THEIRS = "theirs.wide"
"""A table that the load does not use."""

ALL_ROWS = tuple(f"SELECT SUM(k) FROM sbtest{number} FOR UPDATE" for number in range(1, TABLES + 1))
"""What locks them."""


def rows_held(
    hold_s: float,
    pause_s: float,
    locks: Sequence[str] = ALL_ROWS,
    waits: str = "Innodb_row_lock_current_waits",
) -> Inject:
    """A session that locks rows, keeps them, and gives them free, again and again."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        waiting: list[float] = []

        def hold() -> None:
            with scene.session() as cursor:
                while not scene.watch.over.wait(pause_s):
                    held = was_executed(scene, cursor, ["BEGIN", *locks])
                    if held and not scene.watch.over.wait(hold_s):
                        waiting.append(scene.status(waits))
                    cursor.execute("ROLLBACK")

        def proof() -> Effect:
            finished()
            mean = sum(waiting) / max(len(waiting), 1)
            words = f"rows were held {len(waiting)} times, {mean:.1f} connections waiting"
            return Effect(words, mean >= 1)

        with beside_the_load(scene, hold) as finished:
            yield proof

    return inject


def triggers(statements: int) -> Inject:
    """Each change of a row carries out so many statements more."""
    inside = "SET @seen = (SELECT COUNT(*) FROM sbtest2 WHERE id BETWEEN 1 AND 50);"

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        scene.execute(
            f"CREATE TRIGGER counts{number} BEFORE UPDATE ON sbtest{number} FOR EACH ROW "
            f"BEGIN {inside * statements} END"
            for number in range(1, TABLES + 1)
        )
        names = ("Queries", "Questions")
        before = [scene.status(name) for name in names]

        def proof() -> Effect:
            every, sent = (
                scene.status(name) - was for name, was in zip(names, before, strict=True)
            )
            inside_share = 1 - sent / every
            words = f"{inside_share:.0%} of {every:,.0f} statements were inside triggers"
            return Effect(words, inside_share >= 0.3)

        yield proof

    return inject


def stopped(stop_s: float) -> Inject:
    """The server is sent SIGSTOP, and SIGCONT after a while, by turns that meet no clock's beat."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        pid = scene.sandbox.pid
        seen: list[float] = []

        def stop() -> None:
            while not scene.watch.over.wait(stop_s * random.uniform(0.5, 1.5)):
                stopped = processes_of(pid)
                _signal(stopped, signal.SIGSTOP)
                try:
                    before = cpu_s(pid)
                    scene.watch.over.wait(stop_s)
                    seen.append(cpu_s(pid) - before)
                finally:
                    _signal(stopped, signal.SIGCONT)

        def proof() -> Effect:
            finished()
            words = f"stopped {len(seen)} times, used {sum(seen):.2f} s of CPU meanwhile"
            return Effect(words, len(seen) >= 3)

        with beside_the_load(scene, stop) as finished:
            yield proof

    return inject


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session that has just ended
            os.kill(pid, number)


@contextmanager
def one_core(scene: Scene) -> Iterator[Proof]:
    """All threads of the server may run on the first core only; new ones inherit it."""
    pid = scene.sandbox.pid
    core = min(os.sched_getaffinity(0))
    for process in processes_of(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # a session that has just ended
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {core})
    used: list[float] = []

    def look() -> None:
        begun, before = time.monotonic(), cpu_s(pid)
        scene.watch.over.wait()
        used.append((cpu_s(pid) - before) / (time.monotonic() - begun))

    def proof() -> Effect:
        finished()
        words = f"the server used {sum(used):.2f} of the one core that it may run on"
        return Effect(words, sum(used) >= _PART_OF_A_CORE)

    with beside_the_load(scene, look) as finished:
        yield proof


def disk_hogs(count: int) -> Inject:
    """Others write to the disk that holds the data, around the page cache."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        written: list[float] = []
        folder = scene.sandbox.datadir.parent

        def write() -> None:
            begun = time.monotonic()
            paths = [folder / f"{GROUPS}{os.getpid()}-hog-{one}" for one in range(count)]
            try:
                with _all(_rewriting(path) for path in paths) as pids:
                    scene.watch.over.wait()
                    bytes_all = sum(_written_bytes(pid) for pid in pids)
                    written.append(bytes_all / (time.monotonic() - begun))
            finally:
                for path in paths:
                    path.unlink(missing_ok=True)

        def proof() -> Effect:
            finished()
            return Effect(f"others wrote {sum(written) / 1e6:,.0f} MB/s", sum(written) >= 40e6)

        with beside_the_load(scene, write) as finished:
            yield proof

    return inject


def _rewriting(path: Path) -> list[str]:
    once = 'dd if=/dev/zero of="$0" bs=1M count=256 oflag=direct conv=notrunc status=none'
    return ["sh", "-c", f"exec 2>/dev/null; while :; do {once} || exit; done", str(path)]


@contextmanager
def _all(commands: Iterator[list[str]]) -> Iterator[list[int]]:
    """Each in a session of its own, so that what it started ends with it."""
    made = [
        subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], start_new_session=True)
        for command in commands
    ]
    try:
        yield [one.pid for one in made]
    finally:
        for one in made:
            with suppress(ProcessLookupError):
                os.killpg(one.pid, 9)
            one.wait()


def _written_bytes(pid: int) -> float:
    """Of the process and those that it started, also of those that have ended."""
    with suppress(OSError, psutil.Error):
        own = [pid, *(child.pid for child in psutil.Process(pid).children())]
        texts = [Path(f"/proc/{one}/io").read_text() for one in own]
        found = [re.search(r"^write_bytes: (\d+)$", text, re.MULTILINE) for text in texts]
        return sum(float(one[1]) for one in found if one)
    return 0.0


def lost_packets(share: float) -> Inject:
    """Of the server's packets so many never come."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        assert scene.network is not None, "the case asks for a network of its own"
        with scene.network.loss(share) as cap:
            yield proof_of(cap)

    return inject


def short_of_memory(part: float) -> Inject:
    """Of the memory that the server has before the load so much is left to it; the rest swaps."""

    @contextmanager
    def inject(scene: Scene) -> Iterator[Proof]:
        memory = scene.memory
        assert memory is not None, "the case asks for a group of its own"
        with swap(scene.sandbox.datadir.parent, _SWAP_MIB):
            before = _swapped_in()

            def hold_short() -> None:
                memory.limit(int(part * _memory_bytes(scene.sandbox.pid)))

            def proof() -> Effect:
                pages = _swapped_in() - before
                return Effect(f"{pages:,.0f} pages came back from swap", pages >= 2000)

            try:
                with beside_the_load(scene, hold_short):
                    yield proof
            finally:
                # The swapping process ends before the file is removed: swapping in takes long.
                scene.sandbox.kill()

    return inject


def _swapped_in() -> float:
    found = re.search(r"^pswpin (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def _memory_bytes(pid: int) -> float:
    """Of all its processes; what some of them share counts once."""
    used = 0.0
    for one in processes_of(pid):
        with suppress(psutil.Error):  # a session that has just ended
            used += float(psutil.Process(one).memory_full_info().pss)
    return used
