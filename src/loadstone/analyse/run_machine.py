"""The machine of a run's server, for a review of the server's settings from the run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from loadstone.analyse.advice import Machine, is_rotating, usable_memory
from loadstone.analyse.environment_diff import host_of, target_of
from loadstone.model.ceilings import Limits
from loadstone.model.observed import SHARED_HOST
from loadstone.model.result import HostFigures, StepResult


def machine_of(
    step: StepResult, environment: Mapping[str, Any], limits: Limits, today: date | None = None
) -> Machine:
    """The machine of a step's first target, as it was observed; `environment`: environment.json.

    `today`: the day as of which a version's support is judged; `None`: it is not judged.
    """
    host = step.host
    if host is None:
        return Machine(today=today)
    known = host_of(target_of(environment, step.variant, [step]).get("host")).known
    reported = {"yes": True, "no": False}.get(known.get("rotational", ""))
    here = (environment.get("generator") or {}) if _is_shared(host) else {}
    return Machine(
        memory_bytes=usable_memory(host.means) or _memory(here),
        cores=host.cores or (here.get("cpu") or {}).get("cores_online"),
        rotational=is_rotating(limits.disk_read_iops, reported),
        today=today,
    )


def _is_shared(host: HostFigures) -> bool:
    """Whether it is the generator's machine as well."""
    return host.facts.get(SHARED_HOST) == "yes"


def _memory(machine: Mapping[str, Any]) -> int | None:
    """A machine's memory in bytes, of a run from before it was observed with each step."""
    total = (machine.get("memory") or {}).get("total_kb")
    return 1024 * total if total else None
