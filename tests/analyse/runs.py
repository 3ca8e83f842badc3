"""Makes runs: steps of known figures, with an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analyse.made import a_step
from loadstone.analyse.paired_sides import Run
from loadstone.model.experiment import Experiment, Factor, Level
from loadstone.model.host_environment import HOST_FACTS
from loadstone.model.plan import WarmupSeconds, WorkloadSpec
from loadstone.model.result import Result, RunInfo, StepResult, TargetShare

VARIABLES = {
    "version": "10.11.6-MariaDB-log",
    "version_comment": "Debian 12",
    "datadir": "/srv/a/data/",
    "hostname": "alpha",
    "port": "3306",
    "log_bin": "ON",
    "log_bin_basename": "/srv/a/data/binlog",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_doublewrite": "ON",
    "innodb_buffer_pool_size": "134217728",
    "innodb_buffer_pool_chunk_size": "2097152",
    "long_query_time": "10.000000",
    "aria_block_size": "8192",
    "optimizer_switch": "index_merge=on,mrr=off",
}
HOST = {name: "as ever" for name in HOST_FACTS} | {
    "libc": "glibc 2.36 (Debian GLIBC 2.36-9)",
    "os": "Debian GNU/Linux 12 (bookworm)",
}


def environment(
    variables: Mapping[str, str] | None = None, host: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """environment.json of a run against one server."""
    return {
        "version": 1,
        "generator": {"os": {"name": "Debian"}, "libc": "glibc 2.36", "cpu": {"cores_allowed": 2}},
        "targets": [
            {
                "target": "mysql://bench@db1/sbtest",
                "variables": {**VARIABLES, **(variables or {})},
                "host": {"known": {**HOST, **(host or {})}, "not_evaluated": {}},
            }
        ],
    }


def a_run(
    label: str,
    steps: Sequence[StepResult],
    *,
    named: tuple[str, int] = ("nightly", 1),
    around: Mapping[str, Any] | None = None,
    experiment: Experiment | None = None,
) -> Run:
    """A finished run; `named`: its name, and the day on which it started."""
    name, day = named
    plan = {
        "workload": {"name": "oltp_read_write", "tables": 4, "table_size": 1000, "options": {}},
        "drive": {
            "protocol": "prepared",
            "seed": 42,
            "arrival": {"kind": "closed", "think_s": 0.0},
        },
        "warmup": {"kind": "seconds", "warmup_s": 2.0},
        "duration_s": 10.0,
        "repeats": 1,
    }
    info = RunInfo(
        id=label,
        name=name,
        state="finished",
        started_at=f"2026-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00.000+00:00",
        ended_at=None,
        loadstone="0.1.0",
        plan=plan,
        steps_planned=len(steps),
        search=None,
        steps_finished=len(steps),
        notes=(),
    )
    return Run(
        label,
        Result(run=info, steps=tuple(steps)),
        experiment,
        environment() if around is None else around,
        {},
    )


def repeats(*rates: float, users: int = 8, first: int = 1, **changes: Any) -> list[StepResult]:
    """A plain run's steps at one level."""
    return [
        a_step(users=users, tps=rate, step=first + at, repeat=1 + at, **changes)
        for at, rate in enumerate(rates)
    ]


def at_target(target: str) -> dict[str, Any]:
    """The figures of a step at this target."""
    share = TargetShare(
        target=target, server_version="10.11", events=1, queries=1, errors=0,
        connect_failures=0, users=8,
    )  # fmt: skip
    return {"targets": (share,)}


def an_experiment(repeats: int = 4) -> Experiment:
    """One factor that is set while the server runs, so that a unit is a round of two repeats."""
    levels = (Level(name="full"), Level(name="relaxed", dynamic={"sync_binlog": "0"}))
    return Experiment(
        name="durability",
        workloads=(WorkloadSpec(name="oltp_read_write", tables=4, table_size=1000),),
        factors=(Factor(name="durability", levels=levels),),
        ladder=(8,),
        duration_s=10.0,
        warmup=WarmupSeconds(warmup_s=0.0),
        repeats=repeats,
    )
