"""A long load with a fault every minute: nothing may grow, leak or be lost."""

from __future__ import annotations

import math
import os
import random
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.accounting import Account, account_of
from benches.growth import Watch, steady_slope, watched
from benches.place import LOADSTONE, Asked, allow_descriptors
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.soak_faults import FAULTS, LINE_FAULTS, Ground, in_rounds
from benches.tables import table
from loadstone.model.experiment import NetworkLimit
from loadstone.model.records import Sample
from loadstone.runs import run_folder
from loadstone.runs.rebuild import read_log
from loadstone.runs.steplog import StepLog
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from loadstone.sandbox.network import namespace, why_not

USERS = 2_000
RATE = 100
"""Events of oltp_read_write per second: an open loop, so that they stay due during a fault."""

MOST_MB_AN_HOUR = 1.0
_MINUTE_S = 60.0
_FAULT_AT_S = 15.0
"""Seconds into each minute."""

_CALM_FROM_S = 45.0
"""Seconds into each minute: the fault is over, and readings of different minutes are comparable."""

MOST_MB_SETTLING = 10.0
"""From the first minute on, if there is no time for a slope."""

_SETTLED_H = 1 / 6
"""For ten minutes buffers, statements and the allocator's arenas still grow to their final size."""

_ENOUGH = 20
"""Minutes after that: with fewer, a slope of a megabyte per hour is lost in noise."""

_CONNECT_S = 180.0
_END_S = 120.0
_SPARE = 200
_KB_A_MB = 1024
# A server that does not need a thread per connection either.
_SETTINGS = {"thread_handling": "pool-of-threads", "sync_binlog": "0"}


@dataclass(frozen=True)
class Injected:
    """One fault."""

    minute: int
    name: str
    seconds: float
    """How long it lasted, including the injection."""
    back_s: float | None
    """From its end until all users were connected; `None`: not within the minute."""


@dataclass(frozen=True)
class Soaked:
    """All that is known of a soak."""

    users: int
    minutes: int
    code: int
    said: str
    """The last line of the program's stderr."""
    state: str
    account: Account
    faults: tuple[Injected, ...]
    memory: tuple[tuple[float, float], ...]
    """Hours since the start of the load, and MB: the median of each minute's calm part."""
    descriptors: tuple[int, ...]
    """The maximum of each minute's calm part."""
    errors: dict[str, int]
    outages: int


@dataclass(frozen=True)
class Promise:
    """What must hold, what was seen, and whether it holds."""

    text: str
    figure: str
    wanted: str
    holds: bool


def measure(asked: Asked, folder: Path) -> Report:
    """Start a server, drive it, inject a fault each minute, and judge the outcome."""
    users = asked.users[0] if asked.users else USERS
    minutes = max(round(asked.minutes), 2)
    allow_descriptors()
    with ExitStack() as stack:
        line = stack.enter_context(namespace()) if _may_have_a_line() else None
        settings = SandboxSpec(
            server="mariadb", settings=_SETTINGS, max_connections=users + _SPARE, namespace=line
        )
        server = stack.enter_context(start_sandbox(settings))
        seed = random.SystemRandom().randrange(2**32)
        ground = Ground(server, line, users, random.Random(seed))
        soaked = _soak(ground, minutes, folder / "soak")
    return report(soaked, seed, with_line=line is not None)


def _may_have_a_line() -> bool:
    return os.geteuid() == 0 and why_not(NetworkLimit(bits_per_s=1_000_000)) is None


def _soak(ground: Ground, minutes: int, folder: Path) -> Soaked:
    _prepare(ground.server)
    with _driving(ground, minutes, folder) as process, watched(process.pid) as watch:
        began = _wait_for_load(process, folder)
        injected = _break_each_minute(ground, minutes, began, process)
        code = _ended(process, began + minutes * _MINUTE_S + _END_S)
    (run_path,) = folder.iterdir()
    (step,) = read_log(run_path).steps
    result = run_folder.load(run_path)
    calm = [each for minute in range(minutes) if (each := _calm(watch, began, minute))]
    if not calm:
        raise ProgramFailed(f"the load ended within its first minute: {_last_line(folder)}")
    return Soaked(
        users=ground.users,
        minutes=minutes,
        code=code,
        said=_last_line(folder),
        state=result.run.state,
        account=account_of(step),
        faults=tuple(_with_return(fault, step, ground.users) for fault in injected),
        memory=tuple(memory for memory, _ in calm),
        descriptors=tuple(descriptors for _, descriptors in calm),
        errors=result.steps[0].errors,
        outages=len(step.outages),
    )


def _ended(process: subprocess.Popen[bytes], deadline: float) -> int:
    try:
        return process.wait(deadline - time.monotonic())
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"the load did not end within {_END_S:g} s of its time") from None


def _prepare(server: Sandbox) -> None:
    announce("soak: loading")
    words = ("--target", server.local.target.url, "--tables", "1", "--table-size", "100000")
    run([LOADSTONE, "prepare", *words], environment=_environment(server))


def _environment(server: Sandbox) -> dict[str, str]:
    return {"LOADSTONE_PASSWORD": server.tcp.credentials.reveal()}


@contextmanager
def _driving(ground: Ground, minutes: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program as people run it; it ends with the block, whatever happens there."""
    options = {
        "--target": ground.server.tcp.target.url,
        "--concurrency": str(ground.users),
        "--rate": str(RATE),
        "--max-backlog": str(5 * RATE),
        # One table and hardly any lock waits: soon all statements are prepared.
        "--distribution": "uniform",
        "--duration": f"{minutes * _MINUTE_S:g}s",
        "--warmup": "0s",
        "--connect-timeout": "60s",
        "--out": str(folder),
    }
    words = [word for option in options.items() for word in option]
    with _said(folder).open("wb") as said:
        process = subprocess.Popen(
            [LOADSTONE, "run", "oltp_read_write", "--yes", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=os.environ | _environment(ground.server),
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _said(folder: Path) -> Path:
    """Next to the folder of runs, which contains nothing but the run."""
    return folder.with_name(f"{folder.name}-said.txt")


def _last_line(folder: Path) -> str:
    lines = _said(folder).read_text(errors="replace").splitlines()
    return lines[-1] if lines else ""


def _wait_for_load(process: subprocess.Popen[bytes], folder: Path) -> float:
    """Wait until all users are connected; the moment on the monotonic clock."""
    announce("soak: connecting")
    deadline = time.monotonic() + _CONNECT_S
    while time.monotonic() < deadline and process.poll() is None:
        for journal in folder.glob("*/journal.jsonl"):
            if '"kind":"connected"' in journal.read_text():
                return time.monotonic()
        time.sleep(0.1)
    raise ProgramFailed(f"the load did not begin: {_last_line(folder)}")


def _break_each_minute(
    ground: Ground, minutes: int, began: float, process: subprocess.Popen[bytes]
) -> list[Injected]:
    known = FAULTS | (LINE_FAULTS if ground.line else {})
    names = in_rounds(list(known), ground.chance)
    injected: list[Injected] = []
    for minute in range(minutes):
        _sleep_until(began + minute * _MINUTE_S + _FAULT_AT_S)
        if process.poll() is not None:
            break  # reported with the other problems
        if not ground.server.is_running():
            words = _last_words(ground.server)
            raise ProgramFailed(f"the server ended, which was none of the soak's faults: {words}")
        name = next(names)
        announce(f"soak: minute {minute + 1} of {minutes}, {name}")
        begun = time.monotonic()
        known[name](ground)
        injected.append(Injected(minute, name, time.monotonic() - begun, None))
    return injected


def _last_words(server: Sandbox) -> str:
    lines = server.error_log.read_text(errors="replace").splitlines()
    return " | ".join(lines[-3:])


def _sleep_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0.0))


def _with_return(fault: Injected, step: StepLog, users: int) -> Injected:
    """Add the seconds that it took until all users were connected again."""
    over_s = fault.minute * _MINUTE_S + _FAULT_AT_S + fault.seconds
    next_s = (fault.minute + 1) * _MINUTE_S + _FAULT_AT_S
    back = (
        max(sample.to_s - over_s, 0.0)
        for sample in step.samples()
        if over_s <= sample.to_s < next_s and _all_are_there(sample, users)
    )
    return Injected(fault.minute, fault.name, fault.seconds, next(back, None))


def _all_are_there(sample: Sample, users: int) -> bool:
    return sample.users == users and sample.counts.events > 0


def _calm(watch: Watch, began: float, minute: int) -> tuple[tuple[float, float], int] | None:
    """A minute's memory and descriptors; `None`: the process had ended."""
    from_s = began + minute * _MINUTE_S + _CALM_FROM_S
    # The last minute ends with the load: what follows uses memory of its own.
    looks = watch.between(from_s, began + (minute + 1) * _MINUTE_S - 2)
    if not looks:
        return None
    own_mb = statistics.median(look.own_kb for look in looks) / _KB_A_MB
    hours = (statistics.fmean(look.at for look in looks) - began) / 3600
    return (hours, own_mb), max(look.descriptors for look in looks)


def memory_promise(soaked: Soaked) -> Promise:
    """A slope if there is time for one; otherwise only growth beyond any settling is refused."""
    last_mb = soaked.memory[-1][1]
    settled = [point for point in soaked.memory if point[0] > _SETTLED_H]
    if len(settled) < _ENOUGH:
        grown = last_mb - soaked.memory[0][1] if len(soaked.memory) > 1 else math.nan
        return Promise(
            "memory of its own grows, while it settles, by MB",
            f"{grown:+.2f} to {last_mb:.1f} MB ({grown / soaked.minutes * 60:+.0f} MB an hour)",
            f"< {MOST_MB_SETTLING:g}",
            grown < MOST_MB_SETTLING,
        )
    slope = steady_slope(settled)
    return Promise(
        "memory of its own grows by, MB an hour",
        f"{slope.value:+.2f} ({slope.low:+.2f} to {slope.high:+.2f}) at {last_mb:.1f} MB",
        f"< {MOST_MB_AN_HOUR:g}",
        slope.value < MOST_MB_AN_HOUR,
    )


def promises(soaked: Soaked) -> tuple[Promise, ...]:
    """All promises, judged."""
    account, whole_s = soaked.account, round(soaked.minutes * _MINUTE_S)
    away = [fault for fault in soaked.faults if fault.back_s is None]
    leaked = soaked.descriptors[-1] - soaked.descriptors[0]
    missing = whole_s - account.seconds
    return (
        memory_promise(soaked),
        Promise(
            "descriptors that were never given back",
            f"{leaked} of {soaked.descriptors[-1]:,}",
            "≤ 0",
            leaked <= 0,
        ),
        Promise(
            "seconds without a record",
            f"{missing + account.missing_s:g} of {whole_s:,}",
            "0",
            missing == 0 and account.missing_s == 0,
        ),
        Promise(
            "events unaccounted for",
            f"{account.unaccounted} of {account.due:,}",
            "0",
            account.unaccounted == 0 and account.due > 0,
        ),
        Promise(
            "faults after which users stayed away",
            f"{len(away)} of {len(soaked.faults)}",
            "0",
            not away and len(soaked.faults) == soaked.minutes,
        ),
        Promise(
            "it ends well",
            f"{soaked.state}, code {soaked.code}",
            "finished, code 0",
            (soaked.state, soaked.code) == ("finished", 0),
        ),
    )


def report(soaked: Soaked, seed: int, *, with_line: bool) -> Report:
    """One table of promises, and one of the faults."""
    judged = promises(soaked)
    rows = [[each.text, each.figure, each.wanted, _said_of(each)] for each in judged]
    notes = [
        f"oltp_read_write, {soaked.users:,} users, {RATE} events/s due, for {soaked.minutes}"
        f" minutes; seed of the faults {seed}. Memory and descriptors are those of the last"
        " quarter of each minute; a slope leaves the first ten minutes out.",
        f"{soaked.outages} outages; error packets by number: {soaked.errors or 'none'}.",
    ]
    if soaked.code:
        notes.append(f"The program said: {soaked.said}")
    if not with_line:
        notes.append("Not evaluated: a slow line and a cut one; only root makes networks.")
    return Report(
        title="Soak: a fault every minute",
        tables=(
            table(["promise", "seen", "wanted", ""], rows),
            faults_table(soaked.faults),
        ),
        readings=[asdict(soaked)],
        notes=tuple(notes),
        broken=tuple(each.text for each in judged if not each.holds),
    )


def _said_of(promise: Promise) -> str:
    return "holds" if promise.holds else "BROKEN"


def faults_table(faults: Sequence[Injected]) -> str:
    """By kind: how often, how long, and how long until all users were connected again."""
    rows = []
    for name in dict.fromkeys(fault.name for fault in faults):
        of_kind = [fault for fault in faults if fault.name == name]
        back = [fault.back_s for fault in of_kind if fault.back_s is not None]
        lasted = statistics.median(fault.seconds for fault in of_kind)
        slowest = f"{max(back):.1f}" if len(back) == len(of_kind) else "never"
        rows.append([name, str(len(of_kind)), f"{lasted:.1f}", slowest])
    return table(["fault", "times", "lasted, s", "all users back after, s (slowest)"], rows)
