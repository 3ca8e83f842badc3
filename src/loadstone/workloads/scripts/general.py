"""The options that a script finds in `sysbench.opt` in addition to its own."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.plan import Distribution, Plan, Rate
from loadstone.model.target import Target
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import BLOCKS, Kind, Option, for_all_tests

General = dict[str, bool | float | str | tuple[str, ...]]

# The engine's documents add the password, because the stored run must not contain it.
_HIDDEN = (
    "config_file",
    "mysql_password",
    "pgsql_password",
    *(one.key for one in BLOCKS["ours"]),
)
_PARAMETERS = {
    "special": {
        "iterations": "rand_spec_iter",
        "percent": "rand_spec_pct",
        "hits": "rand_spec_res",
    },
    "gaussian": {"iterations": "rand_spec_iter"},
    "pareto": {"h": "rand_pareto_h"},
    "zipfian": {"exponent": "rand_zipfian_exp"},
}


def general_options(given: Values) -> General:
    """All general options, each in the type that it has in a script."""
    known = {key: one for key, one in for_all_tests().items() if key not in _HIDDEN}
    return {key: _value(option, given) for key, option in known.items()}


def _value(option: Option, given: Values) -> bool | float | str | tuple[str, ...]:
    text = given.text(option.key)
    match option.kind:
        case Kind.BOOL:
            return given.switch(option.key)
        case Kind.INT:
            return given.integer(option.key)
        case Kind.SIZE:
            return values.size(text)
        case Kind.DOUBLE:
            return given.number(option.key)
        case Kind.LIST:
            return tuple(given.words(option.key))
        case _:
            return text


def with_general_options(plan: Plan, users: int, rate: Rate | None = None) -> Plan:
    """The plan with its script's options as an equivalent sysbench command line would set them.

    Args:
        plan: its workload is a script.
        users: virtual users of the step, which are sysbench's threads.
        rate: events per second that are due, in an open loop.
    """
    script = plan.workload.script
    assert script is not None, "another workload has no such options"
    given = {
        "threads": str(users),
        "time": f"{plan.duration_s:.0f}",
        "warmup_time": f"{plan.warmup_s:.0f}",
        "rate": f"{rate.rate:.0f}" if rate else "0",
        "rand_seed": str(plan.drive.seed),
        "db_ps_mode": "disable" if plan.drive.protocol == "text" else "auto",
        **_of_distribution(script.distribution),
        **_of_targets(plan.targets),
    }
    general = general_options(Values(for_all_tests(), given))
    arguments = ("sysbench", script.path, script.command or "")
    update = {"general": general, "arguments": arguments}
    workload = plan.workload.model_copy(update={"script": script.model_copy(update=update)})
    return plan.model_copy(update={"workload": workload})


def _of_distribution(distribution: Distribution) -> dict[str, str]:
    parameters = _PARAMETERS.get(distribution.kind, {})
    named = {key: str(getattr(distribution, field)) for field, key in parameters.items()}
    return {"rand_type": distribution.kind, **named}


def _of_targets(targets: Sequence[Target]) -> dict[str, str]:
    given = {
        "mysql_user": targets[0].user or "",
        "mysql_db": targets[0].database or "",
    }
    if sockets := [str(target.socket) for target in targets if target.socket]:
        return given | {"mysql_socket": ",".join(sockets)}
    hosts = dict.fromkeys(target.host for target in targets)
    ports = dict.fromkeys(str(target.tcp_port) for target in targets)
    return given | {"mysql_host": ",".join(hosts), "mysql_port": ",".join(ports)}
