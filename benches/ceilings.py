"""Ceilings predicted from a run without a cap, and the throughput reached under it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benches import loadstone
from benches.caps import THERE, Cap, cpu_cap, disk_cap, network
from benches.contest import prepare
from benches.figures import spread
from benches.place import LOADSTONE, Place
from benches.processes import ProgramFailed, run
from benches.progress import announce
from benches.report import Report
from benches.tables import counted, table, with_spread

WANTED = 0.15
"""How far the throughput under a cap may be from the prediction."""


@dataclass(frozen=True)
class Reading:
    """One pair of runs."""

    cap: str
    pair: int
    before: float
    """Events per second without the cap."""
    foretold: float
    reached: float
    by: str
    """The ceiling that was the lowest."""
    proof: str

    @property
    def ratio(self) -> float:
        """Measured throughput divided by the prediction."""
        return self.reached / self.foretold


@dataclass(frozen=True)
class Trial:
    """One kind of cap: how load is driven, what is predicted, and how the cap is applied."""

    name: str
    words: tuple[str, ...]
    limit: str
    """In the form of `loadstone ceilings --if`."""
    cap: Callable[[], AbstractContextManager[Cap]]
    words_under_cap: tuple[str, ...] | None = None
    """Used if the cap is a different server."""


def measure(place: Place) -> Report:
    """Measure each cap in pairs: without it, then with it."""
    prepare(place)
    readings: list[Reading] = []
    missing: list[str] = []
    for trials in (_on_the_sandbox, _over_a_line, _on_the_null_server):
        try:
            with trials(place) as found:
                readings += [one for trial in found for one in _pairs(place, trial)]
        except (ProgramFailed, OSError) as error:
            missing.append(
                f"Not evaluated: {trials.__name__.strip('_').replace('_', ' ')}: {error}"
            )
    return Report(
        title="Ceilings: predicted from a run without the cap, and measured under it",
        tables=(ceilings_table(readings),),
        readings=[asdict(one) | {"ratio": one.ratio} for one in readings],
        notes=(
            f"{counted(place.asked.pairs, 'pair')} of runs of {place.asked.seconds[0]:g} s; median"
            " (least–greatest) of measured / predicted within each pair.",
            *(f"{one.cap}: {one.proof}" for one in readings if one.pair == 0),
            *missing,
        ),
    )


def _pairs(place: Place, trial: Trial) -> Iterator[Reading]:
    for pair in range(place.asked.pairs):
        announce(f"ceilings: {trial.name}, pair {pair + 1} of {place.asked.pairs}")
        before, folder = _drive(place, trial.words)
        by, foretold = _foretold(place, folder, trial.limit)
        with trial.cap() as cap:
            reached, _ = _drive(place, trial.words_under_cap or trial.words)
            proof = cap.proof()
        yield Reading(trial.name, pair, before, foretold, reached, by, proof)


def _drive(place: Place, words: Sequence[str]) -> tuple[float, str]:
    """Events per second, and the run's name."""
    seconds = f"{place.asked.seconds[0]:g}s"
    ran = run(
        [LOADSTONE, "run", *words, "--duration", seconds, "--warmup", "2s"]
        + ["--out", str(place.folder), "--json"],
        environment=loadstone.environment(place),
    )
    result = json.loads(ran.stdout)
    (step,) = result["steps"]
    return step["tps"], result["run"]["id"]


def _foretold(place: Place, name: str, limit: str) -> tuple[str, float]:
    ran = run(
        [LOADSTONE, "ceilings", name, "--if", limit, "--json", "--out", str(place.folder)],
        environment=loadstone.environment(place),
    )
    (step,) = json.loads(ran.stdout)["steps"]
    lowest = step["ceilings"][0]
    return lowest["resource"], lowest["events_per_s"]


@contextmanager
def _on_the_sandbox(place: Place) -> Iterator[list[Trial]]:
    mark = place.sandbox.state.server
    assert mark is not None, "a running sandbox has a process"
    pid, folder = mark.pid, place.sandbox.datadir
    target = ("--target", place.url())
    select = ("oltp_read_only", *target, "--concurrency", "16")
    update = ("oltp_update_non_index", *target, "--concurrency", "1")
    yield [
        Trial("CPU quota of 1 core", select, "cores=1", lambda: cpu_cap(pid, 1)),
        Trial("CPU quota of 0.5 cores", select, "cores=0.5", lambda: cpu_cap(pid, 0.5)),
        Trial("the same, in periods of 1 s", select, "cores=0.5", lambda: cpu_cap(pid, 0.5, 1.0)),
        Trial(
            "disk, 300 writes/s",
            update,
            "write-iops=300",
            lambda: disk_cap(pid, folder, 300),
        ),
    ]


@contextmanager
def _over_a_line(place: Place) -> Iterator[list[Trial]]:
    """A server in a namespace of its own, whose answers travel over a rate-limited line."""
    words = ["sandbox", "start", "--name", "there", "--server", "mariadb"]
    with network() as there:
        env = {**os.environ, "XDG_STATE_HOME": str(place.folder / "there")}
        Path(env["XDG_STATE_HOME"]).mkdir()

        def ask(*asked: str) -> str:
            command = there.command(LOADSTONE, *asked)
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise ProgramFailed(f"{asked[1]}: {done.stderr.strip()[-300:]}")
            return done.stdout

        ask(*words, "--set", "bind_address=0.0.0.0")
        try:
            (server,) = json.loads(ask("sandbox", "list", "--json"))
            (user, *_) = server["users"]
            login = f"{user['user']}:{user['password']}"
            url = f"mysql://{login}@{THERE}:{server['port']}/sbtest?tls=disabled"
            loads = ["prepare", "--target", url, "--tables", "4", "--table-size", "10000", "--yes"]
            run([LOADSTONE, *loads], environment=loadstone.environment(place))
            words = ["oltp_read_only", "--target", url, "--concurrency", "16"]
            yield [Trial("line of 40 Mbit/s", tuple(words), "line=40M", lambda: there.line(40))]
        finally:
            ask("sandbox", "stop", "there")


@contextmanager
def _on_the_null_server(place: Place) -> Iterator[list[Trial]]:
    """Two null servers: one answers at once, the other slowly."""
    slow_script = json.dumps({"service": {"kind": "constant", "us": 4000}})
    with _null_server() as fast, _null_server("--script", slow_script) as slow:
        words = ("oltp_read_only", "--concurrency", "32", "--target")
        capped = (*words, slow)
        yield [Trial("answers after 4 ms", (*words, fast), "answer-time=4", _waits, capped)]


@contextmanager
def _waits() -> Iterator[Cap]:
    yield Cap(lambda: "another null server, whose script says 4 ms")


@contextmanager
def _null_server(*options: str) -> Iterator[str]:
    """Start a null server; its address."""
    command = [LOADSTONE, "null-server", "--json", "--duration", "30min", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None, "it was asked for"
            yield json.loads(server.stdout.readline())["target"]
        finally:
            server.terminate()
            server.wait(20)


def ceilings_table(readings: Sequence[Reading]) -> str:
    """One row per cap."""
    rows = []
    for name in dict.fromkeys(one.cap for one in readings):
        mine = [one for one in readings if one.cap == name]
        rows.append(
            [
                name,
                with_spread(spread([one.before for one in mine]), 0),
                with_spread(spread([one.foretold for one in mine]), 0),
                with_spread(spread([one.reached for one in mine]), 0),
                with_spread(spread([one.ratio for one in mine]), 2),
                f"{1 - WANTED:g}–{1 + WANTED:g}",
                "; ".join(sorted({one.by for one in mine})),
            ]
        )
    heads = ["cap", "events/s before", "predicted", "measured", "of predicted", "goal", "ceiling"]
    return table(heads, rows)
