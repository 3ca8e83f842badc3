"""A run of a day: six steps of four hours, with one sample a second of load, server and host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars

from analyse.made import a_step
from loadstone.model.result import (
    ErrorExample,
    HostFigures,
    OutageLine,
    Result,
    RunInfo,
    ServerFigures,
    StepResult,
    TargetShare,
    Window,
)
from loadstone.runs import run_folder, signature
from loadstone.runs.journal import RunBegin, to_line
from recorded import a_plan
from scripted_engine import hlog_line

Ladder = dict[int, float]

STEP_S = 14_400
WARMUP_S = 600
LADDER: Ladder = {12: 2100.0, 24: 3300.0, 36: 3900.0, 48: 4100.0, 60: 4050.0, 72: 3800.0}

HOSTILE = "<script>alert('mine')</script></script>&\"\u2028"


def a_day(path: Path, steps: int = len(LADDER)) -> Path:
    """Write the run; returns its folder. Its server and errors are hostile. `steps`: only the first
    ones."""
    run = path / "day-20260101T000000Z"
    run.mkdir(parents=True)
    (run / "journal.jsonl").write_bytes(to_line(_begin(run.name)))
    ladder = dict(list(LADDER.items())[:steps])
    results = tuple(_step(number, users) for number, users in enumerate(ladder, 1))
    (run / run_folder.RESULT).write_bytes(run_folder.to_json(Result(run=_info(), steps=results)))
    chance = np.random.default_rng(1)
    _load(chance, ladder).write_parquet(run / run_folder.LOAD)
    server = _observed(chance, "server", (ladder, _server_columns))
    server.write_parquet(run / run_folder.SERVER)
    host = _observed(chance, "server-host", (ladder, _host_columns))
    host.write_parquet(run / run_folder.HOST)
    for name in (run_folder.LOAD, run_folder.SERVER, run_folder.HOST):
        signature.add(run, name, (run / name).read_bytes(), run.name)
    _latencies(chance, run / "latency.hlog", steps)
    return run


def _begin(run_id: str) -> RunBegin:
    """The only line of the journal: it names the run to which the tables belong."""
    return RunBegin(
        unix_s=1_767_225_600.0,
        id=run_id,
        name="a day",
        loadstone="0.1.0",
        plan=a_plan().model_dump(mode="json"),
        targets=(),
        server_versions=(),
        steps_planned=len(LADDER),
    )


def _info() -> RunInfo:
    return RunInfo.model_validate(
        dict.fromkeys(RunInfo.model_fields)
        | {
            "id": "day-20260101T000000Z",
            "name": f"a day {HOSTILE}",
            "state": "finished",
            "started_at": "2026-01-01T00:00:00.000+00:00",
            "loadstone": "0.1.0",
            "steps_planned": 6,
            "steps_finished": 6,
            "notes": (f"server: {HOSTILE}",),
        }
    )


def _step(number: int, users: int) -> StepResult:
    tps = LADDER[users]
    server = ServerFigures(
        seconds=float(STEP_S - WARMUP_S),
        questions_per_s=20 * tps,
        commits_per_s=0.7 * tps,
        threads_running=8.0,
        rates={"com_commit": 0.7 * tps, "questions": 20 * tps, "row_lock_time_s": 0.1},
    )
    host = HostFigures(
        seconds=float(STEP_S - WARMUP_S),
        cores=4,
        cpu_user=0.7,
        cpu_sys=0.26,
        cpu_iowait=0.01,
        cpu_idle=0.03,
        disk="sda",
        nic="eth0",
    )
    made = a_step(users=users, tps=tps)
    return made.model_copy(
        update={
            "step": number,
            "workload": "oltp_read_write",
            "seconds": float(STEP_S - WARMUP_S),
            "window": Window(from_s=WARMUP_S, to_s=STEP_S, method="fixed"),
            "qps": 20 * tps,
            "other": 2 * made.events,
            "server": server,
            "host": host,
            "errors": {"1213": 12, "4999": 1},
            "error_examples": {"4999": ErrorExample(message=HOSTILE, statement=None)},
            "outages": (OutageLine(from_s=7000.0, to_s=7030.0, users=4, reason=HOSTILE),),
            "targets": (
                TargetShare(
                    target="mysql://bench@db1/sbtest",
                    server_version=f"8.0 {HOSTILE}",
                    events=1,
                    queries=1,
                    errors=0,
                    connect_failures=0,
                    users=users,
                ),
            ),
        }
    )


def _places(number: int, users: int) -> dict[str, object]:
    seconds = np.arange(1.0, STEP_S + 1)
    return {
        "step": np.full(STEP_S, number, dtype=np.int32),
        "concurrency": np.full(STEP_S, users, dtype=np.int32),
        "second": seconds,
        "interval_s": np.ones(STEP_S),
        "run_s": seconds + (number - 1) * (STEP_S + 1.0),
    }


def _load(chance: np.random.Generator, ladder: Ladder) -> polars.DataFrame:
    frames = []
    for number, (users, tps) in enumerate(ladder.items(), 1):
        rates = tps * chance.normal(1, 0.05, STEP_S)
        rates[7000:7030] = 0
        p50 = chance.gamma(8, users / 60, STEP_S)
        frames.append(
            polars.DataFrame(
                _places(number, users)
                | {
                    "phase": ["warmup"] * WARMUP_S + ["window"] * (STEP_S - WARMUP_S),
                    "tps": rates,
                    "p50_ms": p50,
                    "p95_ms": 3 * p50,
                    "p99_ms": 7 * p50,
                    "errors": (chance.random(STEP_S) < 0.001).astype(np.int64),
                    "reconnects": np.zeros(STEP_S, dtype=np.int64),
                    "connect_failures": np.zeros(STEP_S, dtype=np.int64),
                    "skipped": np.zeros(STEP_S, dtype=np.int64),
                    "in_flight": chance.integers(0, users, STEP_S),
                }
            )
        )
    return polars.concat(frames)


def _server_columns(chance: np.random.Generator, tps: float) -> dict[str, object]:
    return {
        "threads_running.now": chance.integers(1, 30, STEP_S).astype(np.float64),
        "row_lock_time_s": chance.gamma(2, 0.1, STEP_S),
        "com_commit": 0.7 * tps * chance.normal(1, 0.05, STEP_S),
        "log_syncs": chance.normal(300, 20, STEP_S),
        "binlog_syncs": chance.normal(290, 20, STEP_S),
    }


def _host_columns(chance: np.random.Generator, tps: float) -> dict[str, object]:
    return {
        "cpu.user_s": chance.normal(2.8, 0.1, STEP_S),
        "cpu.system_s": chance.normal(1.0, 0.1, STEP_S),
        "cpu.iowait_s": chance.gamma(1, 0.05, STEP_S),
        "disk.sda.writes": chance.normal(1200, 100, STEP_S),
        "disk.sda.reads": chance.gamma(1, 20, STEP_S),
        "nic.eth0.bytes_in": tps * chance.normal(1000, 50, STEP_S),
        "nic.eth0.bytes_out": tps * chance.normal(9000, 500, STEP_S),
    }


Columns = Callable[[np.random.Generator, float], dict[str, object]]


def _observed(
    chance: np.random.Generator, role: str, made: tuple[Ladder, Columns]
) -> polars.DataFrame:
    ladder, columns = made
    frames = [
        polars.DataFrame(
            _places(number, users)
            | {"role": [role] * STEP_S, "target": np.zeros(STEP_S, dtype=np.int64)}
            | columns(chance, tps)
        )
        for number, (users, tps) in enumerate(ladder.items(), 1)
    ]
    return polars.concat(frames)


def _latencies(chance: np.random.Generator, path: Path, steps: int) -> None:
    """Some events in each ten seconds; the scripted engine's histograms are lists of values."""
    with path.open("w") as log:
        for number in range(1, steps + 1):
            began = (number - 1) * (STEP_S + 1.0)
            drawn = (chance.gamma(3, 4e6, (STEP_S // 10, 8)) + 1e6).astype(np.int64)
            for at, values in enumerate(drawn.tolist()):
                begin = began + 10.0 * at
                for kind in ("response", "service"):
                    log.write(hlog_line(f"step-{number}/{kind}", begin, begin + 10, values) + "\n")
