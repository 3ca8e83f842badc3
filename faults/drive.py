"""A load on a server that is up, with a fault; one case from the server's start to its findings."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benches.place import LOADSTONE
from benches.processes import run
from faults.case import Case, Draw, Effect, Fault, Inject, Load, Removal, Server
from faults.ground import Ground, ReadyServer
from faults.injections import nothing
from faults.scene import Used, Watch


@dataclass(frozen=True)
class Asked:
    """How much time there is, and where runs are kept."""

    seed: int
    seconds: float
    """Of a level."""
    runs: Path


@dataclass(frozen=True)
class Carried:
    """What came of one case."""

    case: Case
    server: Server
    fault: Fault
    effect: Effect
    used: Used | None
    tps: tuple[float | None, ...]
    """Of each level."""
    findings: tuple[dict[str, Any], ...]
    run: str
    """The folder of the run."""
    took_s: float
    tps_without: tuple[float | None, ...] = ()
    """The same once the fault was taken away; empty, where the case does not say how."""


@dataclass(frozen=True)
class Driven:
    """One `loadstone run`, and what was seen from outside meanwhile."""

    result: dict[str, Any]
    """result.json"""
    effect: Effect
    used: Used | None

    @property
    def run(self) -> str:
        """The name of the run's folder."""
        return str(self.result["run"]["id"])

    @property
    def tps(self) -> tuple[float | None, ...]:
        """Of each level."""
        return tuple(step["tps"] for step in self.result["steps"])


def carry_out(ground: Ground, case: Case, server: Server, asked: Asked) -> Carried:
    """Draw, start, inject, drive, diagnose; nothing of it is left but the run's folder.

    Raises:
        SandboxError, ProgramFailed: it cannot be done here.
    """
    begun = time.monotonic()
    fault = case.make(Draw.of(asked.seed, case.name, server))
    with ExitStack() as stack:
        standing = stack.enter_context(ground.standing(server, fault))
        driven = drive(standing, fault.load, fault.inject, asked, case.name)
        removal = fault.removal
        without: tuple[float | None, ...] = ()
        if removal and not removal.starts_again:
            without = _mended(standing, fault, removal, asked, case.name)
    if removal and removal.starts_again:
        without = _restarted(ground, server, fault, asked, case.name)
    return Carried(
        case=case,
        server=server,
        fault=fault,
        effect=driven.effect,
        used=driven.used,
        tps=driven.tps,
        findings=diagnosed(driven.run, asked.runs),
        run=driven.run,
        took_s=time.monotonic() - begun,
        tps_without=without,
    )


def _without_settings(fault: Fault) -> Fault:
    return replace(fault, settings=fault.other_settings, pooler=fault.other_pooler)


def _mended(
    standing: ReadyServer, fault: Fault, removal: Removal, asked: Asked, name: str
) -> tuple[float | None, ...]:
    """The rates of the load once the fault was taken away from the server that had it."""
    standing.scene(Watch(standing.sandbox.pid)).execute(removal.statements)
    load = removal.load or fault.load
    return drive(standing, load, nothing, asked, f"{name}-removed").tps


def _restarted(
    ground: Ground, server: Server, fault: Fault, asked: Asked, name: str
) -> tuple[float | None, ...]:
    """The same on a server that never had it."""
    with ground.standing(server, _without_settings(fault)) as standing:
        return drive(standing, fault.load, nothing, asked, f"{name}-removed").tps


def drive(standing: ReadyServer, load: Load, inject: Inject, asked: Asked, name: str) -> Driven:
    """The load on a server that is up, once, with what is injected while it lasts.

    Raises:
        ProgramFailed: the load or the injection failed.
    """
    watch = Watch(standing.sandbox.pid)
    with inject(standing.scene(watch)) as proof:
        result = _drive(standing, load, watch, asked, name)
        effect = proof()
    return Driven(result, effect, watch.used())


def _drive(
    standing: ReadyServer, load: Load, watch: Watch, asked: Asked, name: str
) -> dict[str, Any]:
    command = (
        _script(standing, load, asked) if load.is_script else _run(standing, load, asked, name)
    )
    before = set(asked.runs.glob("*"))
    try:
        ran = run(command, environment=standing.environment, look=watch.look)
    finally:
        watch.end()
    if not load.is_script:
        return dict(json.loads(ran.stdout))
    (kept,) = set(asked.runs.glob("*")) - before
    return dict(json.loads((kept / "result.json").read_text()))


def _run(standing: ReadyServer, load: Load, asked: Asked, name: str) -> list[str]:
    options = {
        "--target": standing.url(tls=load.tls),
        "--concurrency": ",".join(map(str, load.ladder)),
        "--duration": f"{load.times * asked.seconds:g}s",
        "--warmup": f"{load.warmup_s:g}s",
        "--out": str(asked.runs),
        "--name": name,
    }
    words = [word for option in options.items() for word in option]
    return [LOADSTONE, "run", load.workload, *words, *load.words, "--json"]


def _script(standing: ReadyServer, load: Load, asked: Asked) -> list[str]:
    """Over TCP, as `loadstone run` does it."""
    state = standing.sandbox.state
    driver = "pgsql" if standing.server == "postgresql" else "mysql"
    tls = {
        "mysql": {"mysql-ssl": "required" if load.tls else "disabled"},
        "pgsql": {"pgsql-sslmode": "require" if load.tls else "disable"},
    }
    options = {
        "db-driver": driver,
        f"{driver}-host": standing.host,
        f"{driver}-port": str(standing.port),
        f"{driver}-user": state.accounts[0].user,
        f"{driver}-password": standing.sandbox.tcp.credentials.reveal(),
        f"{driver}-db": state.database,
        **tls[driver],
        "threads": str(load.ladder[-1]),
        "time": f"{load.times * asked.seconds:.0f}",
        "warmup-time": f"{load.warmup_s:.0f}",
        "loadstone-out": str(asked.runs),
    }
    words = [f"--{option}={value}" for option, value in options.items()]
    return [LOADSTONE, "sysbench", load.workload, *words, *load.words, "run"]


def diagnosed(name: str, runs: Path) -> tuple[dict[str, Any], ...]:
    """The findings of the run's one ladder, the most telling first."""
    ran = run([LOADSTONE, "diagnose", name, "--json", "--out", str(runs)])
    (ladder,) = json.loads(ran.stdout)["ladders"]
    return tuple(ladder["findings"])
