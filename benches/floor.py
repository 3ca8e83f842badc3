"""The floor: the least that a query costs a client (benches/floor), on one thread."""

from __future__ import annotations

import json
from typing import Any

from benches.place import Place
from benches.processes import run
from benches.workload import Outcome, Step


def drive(place: Place, step: Step) -> Outcome:
    """Drive a step."""
    options = {
        "--users": str(step.users),
        "--seconds": f"{step.seconds:g}",
        "--tables": str(step.tables),
        "--table-size": str(step.table_size),
        "--mode": place.floor_mode(mode(step)),
    }
    words = [word for option in options.items() for word in option]
    # Scheduled as the engine's event loops are, so that the remaining difference is their work.
    command = ["chrt", "--batch", "0", place.floor, *place.floor_login(), *words]
    ran = run(command, environment={"LOADSTONE_PASSWORD": place.password})
    return outcome_of_report(json.loads(ran.stdout), ran.cpu_s)


def mode(step: Step) -> str:
    """The floor's name for the step.

    Raises:
        ValueError: it has no equivalent.
    """
    match (step.workload, step.protocol, step.tls):
        case ("oltp_point_select", protocol, False):
            return protocol
        case ("oltp_read_write", "prepared", False):
            return "read_write"
    raise ValueError(f"the floor has no {step}")


def outcome_of_report(report: dict[str, Any], cpu_s: float) -> Outcome:
    """Parse its output. Its clock starts when all users have connected and prepared."""
    load = report["load"]
    return Outcome(
        queries=load["queries"],
        queries_per_s=load["queries_per_second"],
        cpu_s=cpu_s,
        errors=report["restarts"],
        shards=1,
        own_cpu_us=load["cpu_us_per_query"],
    )
