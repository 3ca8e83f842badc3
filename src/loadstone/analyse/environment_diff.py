"""The surroundings of one part of a run, for comparison: the work, the settings and the hosts.

They are read from the run's folder, which may have been copied from anywhere: what is missing, or
has the wrong type, is unknown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from loadstone.analyse.known_settings import KNOWN, by_newest_name
from loadstone.analyse.paired_sides import Part
from loadstone.model.error_codes import MYSQL
from loadstone.model.experiment import Level
from loadstone.model.host_environment import HostSurroundings
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.model.target_url import family_in

_SHORTEST_PLACE = 3
"""The shortest path or host name to replace: a shorter one (`/`, `a`) would match in every
value."""


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of one variant of one run."""

    work: Mapping[str, str]
    """The work: what was driven, and how."""
    variables: Mapping[str, str]
    """Variables of the first target's server."""
    host: HostSurroundings
    """Facts of the first target's host."""
    generator: Mapping[str, str]
    """The machine that drove the load."""
    family: str = MYSQL
    """The family of the first target's server."""

    @property
    def own_places(self) -> tuple[tuple[str, str], ...]:
        """The server's own paths and host name, longest first, each with its placeholder."""
        found = [
            (value.rstrip("/"), f"<{name}>")
            for name in KNOWN[self.family].own_places
            if len((value := self.variables.get(name, "")).rstrip("/")) >= _SHORTEST_PLACE
        ]
        return tuple(sorted(found, key=lambda pair: -len(pair[0])))


def surroundings_of(part: Part) -> Surroundings:
    """The surroundings, from environment.json, the plan and the steps."""
    document = part.run.environment
    steps = [step for step in part.run.result.steps if step.variant == part.variant]
    target = target_of(document, part.variant, steps)
    variables = target.get("variables")
    family = family_in(str(target.get("target", "")))
    return Surroundings(
        work={name: text for name, text in _work(part, steps) if text},
        variables=by_newest_name(_texts(variables), family),
        host=host_of(target.get("host")),
        generator=dict(_generator(_mapping(document.get("generator")), part)),
        family=family,
    )


def target_of(
    document: Mapping[str, Any], variant: str, steps: Sequence[StepResult]
) -> Mapping[str, Any]:
    """The variant's own target in the document, else the server of its first step."""
    own = _mapping(document.get("variants")).get(variant)
    known = [each for each in _list(own) or _list(document.get("targets")) if _is_mapping(each)]
    wanted = next((step.targets[0].target for step in steps if step.targets), None)
    return next((each for each in known if each.get("target") == wanted), known[0] if known else {})


def _work(part: Part, steps: Sequence[StepResult]) -> Iterator[tuple[str, str | None]]:
    plan = part.run.result.run.plan or {}
    workloads = _workloads(part, plan)
    yield "workload", _listed(each.get("name") for each in workloads)
    yield "tables", _listed(each.get("tables") for each in workloads)
    yield "rows", _listed(each.get("table_size") for each in workloads)
    yield "warehouses", _listed(each.get("warehouses") or None for each in workloads)
    yield "template", _listed(_fingerprint(each.get("template")) for each in workloads)
    yield "options", _listed(_pairs(each.get("options")) for each in workloads)
    yield "distribution", _listed(_pairs(each.get("distribution")) for each in workloads)
    drive = _mapping(plan.get("drive"))
    yield "protocol", _protocol(part, drive)
    yield "arrivals", _pairs(drive.get("arrival"))
    session = _mapping(drive.get("session"))
    yield "isolation", _text(session.get("isolation"))
    yield "mix", _listed(_part_of(each) for each in _list(plan.get("mix")))
    yield "phases", _listed(_pairs(each) for each in _list(plan.get("phases")))
    yield "new connection after", _text(drive.get("reconnect_after"))
    yield "idle connections", _text(drive.get("idle") or None)
    yield "init-sql", _listed(_list(session.get("init_sql")))
    yield (
        "duration of a step",
        f"{_text(plan.get('duration_s'))} s" if plan.get("duration_s") else None,
    )
    yield "warm-up", _warmup(plan.get("warmup"))
    yield "encryption", _agreed(steps)
    yield "compression", _compression(steps)
    for name, level in part.run.variant(part.variant).levels:
        yield from ((f"{name}, {what}", text) for what, text in _asked(level))


def _workloads(part: Part, plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    experiment = part.run.experiment
    if experiment:
        return [each.model_dump(mode="json") for each in experiment.workloads]
    members = [_mapping(_mapping(each).get("workload")) for each in _list(plan.get("mix"))]
    return members or [_mapping(plan.get("workload"))]


def _part_of(member: object) -> str | None:
    """The part of one workload in a mix: `report: users=2`."""
    known = _mapping(member)
    has = {name: known.get(name) for name in ("users", "weight", "think_s")}
    return f"{known.get('name')}: {_pairs({k: v for k, v in has.items() if v is not None})}"


def _protocol(part: Part, drive: Mapping[str, Any]) -> str | None:
    """The protocol; in an experiment that of the variant, as the plan is only the first step's."""
    for _, level in part.run.variant(part.variant).levels:
        if level.client and level.client.protocol is not None:
            return level.client.protocol
        if level.client and level.client.prepared is not None:
            return "prepared" if level.client.prepared else "text"
    return _text(drive.get("protocol")) if not part.run.experiment else "prepared"


def _asked(level: Level) -> Iterator[tuple[str, str | None]]:
    """What a level changes, except server variables and what other facts already show."""
    for name, value in level.per_session.items():
        yield f"session {name}", value
    if level.client:
        yield "connect", level.client.connect
        yield "hosts", ", ".join(level.client.hosts)
    for limit in filter(None, (level.cgroup, level.network)):
        for name, value in limit.model_dump(exclude_none=True).items():
            yield name, f"{value:g}"


def _agreed(steps: Sequence[StepResult]) -> str | None:
    known = {
        (step.tls or "encrypted") if step.encrypted_users else "none"
        for step in steps
        if step.encrypted_users is not None
    }
    return _listed(sorted(known))


def _compression(steps: Sequence[StepResult]) -> str | None:
    known = {
        (step.compression or "compressed") if step.compressed_users else "none"
        for step in steps
        if step.compressed_users is not None
    }
    return _listed(sorted(known))


def host_of(told: object) -> HostSurroundings:
    """A target's host in environment.json."""
    if told is None:
        return HostSurroundings.nothing(say("the run did not look at it"))
    try:
        return HostSurroundings.model_validate(told)
    except ValidationError:
        return HostSurroundings.nothing(say("environment.json is damaged"))


def _generator(machine: Mapping[str, Any], part: Part) -> Iterator[tuple[str, str]]:
    cpu, kernel = _mapping(machine.get("cpu")), _mapping(machine.get("kernel"))
    found = {
        "OS": _mapping(machine.get("os")).get("name"),
        "kernel": kernel.get("release"),
        "libc": machine.get("libc"),
        "CPU": cpu.get("model"),
        "cores": cpu.get("cores_allowed"),
        "Loadstone": part.run.result.run.loadstone,
    }
    for name, value in found.items():
        if text := _text(value):
            yield name, text


def _pairs(value: object) -> str | None:
    """A mapping as text, its kind first: `special, hits=75`."""
    pairs = _mapping(value)
    kind = _text(pairs.get("kind"))
    others = (f"{name}={_text(each)}" for name, each in pairs.items() if name != "kind")
    return ", ".join((*([kind] if kind else []), *others)) or None


def _warmup(value: object) -> str | None:
    known = _mapping(value)
    seconds = _text(known.get("warmup_s"))
    return f"{seconds} s" if seconds else _text(known.get("kind"))


def _fingerprint(document: object) -> str | None:
    """A short hash of the document."""
    if not document:
        return None
    text = json.dumps(document, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _listed(values: Iterator[Any] | Sequence[Any] | Any) -> str | None:
    known = dict.fromkeys(text for value in values if (text := _text(value)))
    return "; ".join(known) or None


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


def _texts(value: object) -> dict[str, str]:
    return {name: each for name, each in _mapping(value).items() if isinstance(each, str)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
