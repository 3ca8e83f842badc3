"""The requirements of a variant: its server, the client options, and the variables to set.

Pure: combines the levels of its factors. That they do not contradict each other was checked when
the file was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from loadstone.experiments.workloads import in_sql_of
from loadstone.families import family_of
from loadstone.lab.protection.whereabouts import with_listener
from loadstone.model.experiment import (
    CgroupLimit,
    ClientOptions,
    Experiment,
    NetworkLimit,
    Variant,
)
from loadstone.model.frozen import Frozen
from loadstone.model.plan import Drive, Load, Open, Plan, StatementProtocol, WorkloadSpec
from loadstone.model.target import PORTS, Endpoint, Target
from loadstone.sandbox import SandboxSpec

P = TypeVar("P", bound=Frozen)

_USERS_UNASKED = 4000
_CONNECTIONS_BESIDE_USERS = 50


class Place(Frozen):
    """A server that variants are measured on; variants with equal places share it."""

    target: Target | None = None
    """`None`: a throwaway server."""
    sandbox: SandboxSpec | None = None
    cgroup: CgroupLimit | None = None
    apart: bool = False
    """In its own network namespace. If any line is limited, this holds for all throwaway servers,
    as the line without limits must be the same line.
    """

    @property
    def key(self) -> str:
        """A key that equal places share."""
        return self.model_dump_json()


def place_of(experiment: Experiment, variant: Variant) -> Place:
    """The server that a variant needs."""
    levels = [level for _, level in variant.levels]
    target = next((level.target for level in levels if level.target), None)
    choice = next((level.sandbox for level in levels if level.sandbox), None)
    if target or (experiment.target and choice is None):
        return Place(target=target or experiment.target)
    base = experiment.sandbox
    settings = (base.settings if base else {}) | (choice.settings if choice else {})
    pooled = next((each for each in (choice, base) if each and each.pooler), None)
    users = experiment.most_users + experiment.drive.idle
    spec = SandboxSpec(
        server=(choice and choice.server) or (base and base.server) or None,
        root=(choice and choice.root) or (base and base.root) or None,
        settings=settings | variant.startup,
        pooler=pooled.pooler if pooled else None,
        pooler_settings=pooled.pooler_settings if pooled else {},
        max_connections=None if users <= _USERS_UNASKED else users + _CONNECTIONS_BESIDE_USERS,
    )
    apart = any(level.network for factor in experiment.factors for level in factor.levels)
    return Place(sandbox=spec, cgroup=limit_of(variant), apart=apart)


def limit_of(variant: Variant) -> CgroupLimit | None:
    """The combined limits of all its levels."""
    return _together(CgroupLimit, (level.cgroup for _, level in variant.levels))


def line_of(variant: Variant) -> NetworkLimit | None:
    """The combined limits of the line to its server."""
    return _together(NetworkLimit, (level.network for _, level in variant.levels))


def client_of(variant: Variant) -> ClientOptions:
    """The combined client options of all its levels."""
    options = (level.client for _, level in variant.levels)
    return _together(ClientOptions, options) or ClientOptions()


def protocol_of(client: ClientOptions) -> StatementProtocol | None:
    """How statements are sent; `None`: as usual."""
    if client.protocol is None and client.prepared is not None:
        return "prepared" if client.prepared else "text"
    return client.protocol


def _together(kind: type[P], parts: Iterable[P | None]) -> P | None:
    found: dict[str, object] = {}
    for part in parts:
        found |= part.model_dump(exclude_defaults=True) if part else {}
    return kind.model_validate(found) if found else None


def spoken_to(endpoint: Endpoint, client: ClientOptions) -> tuple[Endpoint, ...]:
    """The server or its hosts, with the client options applied except `connect`."""
    target = endpoint.target
    update: dict[str, object] = {}
    wanted = {
        "mode": client.tls,
        "versions": client.tls_version,
        "ciphers": client.tls_cipher,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    if given:
        update["tls"] = target.tls.model_copy(update=given)
    if client.compression is not None:
        update["compression"] = client.compression
    changed = target.model_copy(update=update)
    if not client.hosts:
        return (endpoint.model_copy(update={"target": changed}),)
    targets = [_at(changed, host) for host in client.hosts]
    return tuple(with_listener(endpoint.model_copy(update={"target": one})) for one in targets)


def _at(target: Target, address: str) -> Target:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, str(PORTS[target.family])
    return target.model_copy(update={"host": host.strip("[]"), "port": int(port), "socket": None})


def step_plan(
    experiment: Experiment, workload: WorkloadSpec, targets: Sequence[Target], drive: Drive
) -> Plan:
    """The plan that one step is a part of: the same load, for one workload on one variant.

    What sessions set for themselves becomes statements of the servers' family here.
    """
    load = {name: getattr(experiment, name) for name in Load.model_fields}
    workload = in_sql_of(experiment, workload, targets[0].family)
    return Plan(
        **load
        | {
            "targets": tuple(targets),
            "workload": workload.model_copy(update={"mix": ()}),
            "mix": workload.mix,
            "ladder": tuple(users + workload.own_users for users in experiment.ladder),
            "drive": _with_session(drive.at(targets[0].family), targets[0]),
        }
    )


def _with_session(drive: Drive, target: Target) -> Drive:
    """A level's variables come after the file's own `init_sql`: they are what is compared."""
    session = drive.session
    if not session.variables:
        return drive
    words = family_of(target).words_of_session
    init_sql = (*session.init_sql, *(words(*each) for each in session.variables.items()))
    update = {"session": session.model_copy(update={"init_sql": init_sql, "variables": {}})}
    return drive.model_copy(update=update)


def drive_of(experiment: Experiment, variant: Variant, cores: int, users_a_shard: int) -> Drive:
    """The load settings of a variant on this number of cores."""
    update: dict[str, object] = {
        "seed": experiment.seed,
        "shards": cores,
        "users_a_shard": users_a_shard,
        "protocol": protocol_of(client_of(variant)) or "prepared",
    }
    if experiment.rates or (experiment.search and experiment.search.objective):
        update["arrival"] = Open()
    return with_own_variables(experiment.drive.model_copy(update=update), variant)


def with_own_variables(drive: Drive, variant: Variant) -> Drive:
    """With the variables that each session of a variant sets for itself."""
    if not variant.per_session:
        return drive
    session = drive.session.model_copy(update={"variables": variant.per_session})
    return drive.model_copy(update={"session": session})
