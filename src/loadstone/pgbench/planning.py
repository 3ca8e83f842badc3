"""Makes the engine's plan from what a command line asks for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.model.control import HIGHEST_RATE
from loadstone.model.pgbench import PgbenchSpec
from loadstone.model.plan import (
    Arrival,
    Closed,
    ConnectPolicy,
    Drive,
    MixMember,
    Open,
    Plan,
    Rate,
    WarmupSeconds,
    WorkloadSpec,
)
from loadstone.model.quantity import LONGEST_S
from loadstone.model.target import Endpoint
from loadstone.pgbench.figures import DEADLOCK, SERIALIZATION, Kinds
from loadstone.pgbench.settings import Benchmark, Protocol

NAME = "pgbench"
_MOST_WAITING = 10_000_000
"""pgbench has no limit; this one only protects memory."""
_SEED_BITS = 62
_ANY_NUMBER = 2**32 - 1
"""More tries than any run has. Where they have a limit, none begins after the run's end."""

_PROTOCOLS: Mapping[Protocol, Literal["text", "extended", "prepared"]] = {
    "simple": "text",
    "extended": "extended",
    "prepared": "prepared",
}


@dataclass(frozen=True)
class Planned:
    """A run's plan, and how its figures become those of pgbench."""

    plan: Plan
    kinds: Kinds
    scripts: tuple[int, ...]
    """The place on the command line of each workload: those of weight 0 are never drawn."""
    draws: random.Random | None
    """Draws which transactions are logged, where the engine reports all of them."""


def plan_of(asked: Benchmark, endpoint: Endpoint, scale: int, seed: int) -> Planned:
    """The plan of a run on tables of this scale.

    Raises:
        ValidationError: a value cannot be used.
    """
    scripts = tuple(place for place, script in enumerate(asked.scripts) if script.weight)
    names = tuple(f"script-{place + 1}" for place in scripts) if len(asked.scripts) > 1 else ()
    variables = _variables(asked, scale, seed)
    specs = [_workload(place, asked, variables) for place in scripts]
    mix = tuple(
        MixMember(name=name, workload=spec, weight=asked.scripts[place].weight)
        for name, spec, place in zip(names, specs, scripts, strict=False)
    )
    target = endpoint.target
    drive = _drive(asked, seed)
    plan = Plan(
        name=NAME,
        targets=(target,),
        workload=specs[0].model_copy(update={"name": "+".join(names)}) if mix else specs[0],
        mix=mix,
        ladder=(asked.clients,),
        rates=(Rate(rate=min(asked.rate, HIGHEST_RATE)),) if asked.rate is not None else (),
        duration_s=asked.duration_s or LONGEST_S,
        events=asked.transactions,
        events_of_each_user=asked.transactions is not None,
        warmup=WarmupSeconds(warmup_s=0),
        drive=drive.beside_the_server(target.family) if target.is_local else drive,
    )
    kinds = Kinds(
        latency="service" if asked.rate is None else "response",
        limit_ns=asked.limit_ms * 1e6 if asked.limit_ms is not None else Kinds.limit_ns,
        members=names,
        retries=asked.tries.is_retrying,
    )
    return Planned(plan, kinds, scripts, random.Random(seed) if _draws_here(asked) else None)


def _workload(place: int, asked: Benchmark, variables: dict[str, str]) -> WorkloadSpec:
    spec = PgbenchSpec(
        script=asked.scripts[place].text,
        variables=variables,
        in_text=asked.protocol == "simple",
        repeats_draws=asked.tries.is_retrying,
        number=place,
        shows_errors=asked.tries.verbose,
        traces=asked.debug,
    )
    return WorkloadSpec(name=NAME, tables=1, table_size=1, pgbench=spec)


def _variables(asked: Benchmark, scale: int, seed: int) -> dict[str, str]:
    """The variables that scripts have from the start; the engine adds each client's number."""
    drawn = random.Random(seed).getrandbits(_SEED_BITS)
    own = {"scale": scale, "random_seed": seed, "default_seed": drawn}
    return {name: str(value) for name, value in own.items()} | dict(asked.defined)


def _drive(asked: Benchmark, seed: int) -> Drive:
    limit_s = asked.limit_ms / 1e3 if asked.limit_ms is not None else None
    tries = asked.tries
    return Drive(
        protocol=_PROTOCOLS[asked.protocol],
        arrival=_arrival(asked),
        connect=ConnectPolicy(retries=0),
        on_error="end_user",
        restart_on=(SERIALIZATION, DEADLOCK),
        max_tries=tries.most or (_ANY_NUMBER if limit_s is None else None),
        # Where nothing is tried again, messages alone need it.
        tries_within_s=limit_s if tries.is_retrying or tries.verbose else None,
        # Transactions in flight at the end are waited for, however long they take.
        drain_s=LONGEST_S,
        reconnect_after=1 if asked.reconnects else None,
        figures_by_command=asked.by_command,
        event_log=asked.logging is not None or _needs_outcomes(asked),
        event_log_share=1.0 if asked.logging is None or _draws_here(asked) else asked.logging.share,
        seed=seed,
        shards=min(asked.threads, cores()),
        users_a_shard=USERS_A_SHARD,
    )


def _needs_outcomes(asked: Benchmark) -> bool:
    """Whether errors alone do not show which transactions failed: some are tried again."""
    return asked.tries.detailed and asked.tries.is_retrying


def _draws_here(asked: Benchmark) -> bool:
    """Whether the engine reports all transactions although a share of them is logged."""
    logging = asked.logging
    return logging is not None and logging.share < 1.0 and _needs_outcomes(asked)


def _arrival(asked: Benchmark) -> Arrival:
    if asked.rate is None:
        return Closed()
    latest_s = asked.limit_ms / 1e3 if asked.limit_ms is not None else None
    return Open(max_backlog=_MOST_WAITING, latest_start_s=latest_s)
