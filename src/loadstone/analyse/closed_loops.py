"""A step as a closed loop whose rate after a change can be predicted, and its rate under limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from loadstone.analyse.ceilings import ceilings, log_syncs
from loadstone.analyse.closed_systems import ClosedLoop, Remedy, Servers, Share
from loadstone.analyse.cores import LoadCores, interrupt_cores, load_cores
from loadstone.analyse.foretelling import foretell
from loadstone.model.account import Account, Place
from loadstone.model.ceilings import Limits, Resource, StepCeilings
from loadstone.model.observed import BETWEEN_CPU
from loadstone.model.result import StepResult

NORMAL_95 = 1.96
"""Half the width of a 95 % interval, in standard errors."""

_FIXED: tuple[Resource, ...] = (
    "disk writes",
    "disk reads",
    "disk operations",
    "disk write bandwidth",
    "network to the server",
    "network from the server",
    "generator",
)
"""Resources of which an event needs as much at any rate. Cores and locks are part of the model; the
flushes of an event become fewer as commit groups grow, and the hottest core may be another one."""

_OF_LIMIT: dict[str, Resource] = {
    "disk_write_iops": "disk writes",
    "disk_read_iops": "disk reads",
    "disk_iops": "disk operations",
    "disk_write_bytes_per_s": "disk write bandwidth",
}


def closed_loop(
    step: StepResult,
    found: StepCeilings | None,
    changed: Collection[Resource] = (),
    *,
    is_limited: bool = True,
) -> ClosedLoop | None:
    """The closed loop of a step; `None` in an open loop, with a changing load, without an account.

    Args:
        step: the step.
        found: its ceilings.
        changed: resources that the change is about, whose ceilings do not hold after it.
        is_limited: whether the server is still kept to fewer cores than its host has.
    """
    account = step.account
    is_closed = step.rate is None and not step.phases and not step.held
    if account is None or not step.tps or not is_closed or step.other_targets:
        return None
    cores, own = load_cores(step, is_limited=is_limited), step.generator
    loops = None
    if own.shards and own.cpu_share is not None:
        loops = Servers(float(own.shards), min(own.cpu_share, 1.0) * own.shards)
    drives = loops.used if loops and cores and cores.is_shared else 0.0
    beside = _beside(step, cores, drives)
    return ClosedLoop(
        users=account.users,
        tps=step.tps,
        shares=_shares(account),
        tps_error=(step.tps_half_width or 0.0) / NORMAL_95,
        cores=_usable(cores, account) if cores else None,
        loops=loops,
        generator_cores=drives,
        server_cores=beside.server,
        other_cores=beside.others,
        lock_use=_lock_use(found),
        bounds=tuple(_bounds(found, step.tps, [one for one in _FIXED if one not in changed])),
    )


class _Beside(NamedTuple):
    """Used cores that neither users' sessions, event loops nor a pooler between them have."""

    server: float = 0.0
    """The server's own threads and interrupts."""
    others: float = 0.0


def _beside(step: StepResult, cores: LoadCores | None, drives: float) -> _Beside:
    """Nothing if it was not counted, and where sessions begin all the time: that is for users.

    `drives`: cores that the event loops use on the server's host.
    """
    known, host = step.account.cores if step.account else None, step.host
    is_unknown = step.connects or (cores is not None and cores.is_shared and drives <= 0)
    if cores is None or known is None or host is None or is_unknown:
        return _Beside()
    loads = known.users + drives + host.rates.get(BETWEEN_CPU, 0.0)
    beside = max(cores.used - loads, 0.0)
    server = min((known.own or 0.0) + interrupt_cores(host, cores.used, loads), beside)
    return _Beside(server, beside - server)


def _usable(cores: LoadCores, account: Account) -> Servers:
    most = cores.total if cores.others else None
    return Servers(usable_cores(cores, account), cores.used, most)


def usable_cores(cores: LoadCores, account: Account, gone: float = 0.0) -> float:
    """The cores that the load can have, also if others use so many less (`gone`).

    A scheduler takes cores from other programs as more of the load's threads want them. It divides
    them among the threads that are ready to run, of which the others have at least one for each
    core that they use.
    """
    ready = account.users * account.share_of("on core", "waiting for a core")
    others = max(cores.others - gone, 0.0)
    fair = cores.total * ready / (ready + others) if ready else 0.0
    return max(cores.allowed + gone, cores.used, fair)


def under_limits(steps: Iterable[StepResult], found: Limits, given: Limits) -> list[StepCeilings]:
    """The ceilings under given limits, each closed loop with the rate that it would have."""
    known = tuple(steps)
    before = {one.step: one for one in ceilings(known, found)}
    by_number = {step.step: step for step in known}
    return [
        _with_rate(one, by_number[one.step], before[one.step], given)
        for one in ceilings(known, found.but(given))
    ]


def _with_rate(
    limited: StepCeilings, step: StepResult, before: StepCeilings, given: Limits
) -> StepCeilings:
    loop = closed_loop(step, before)
    if loop is None or given == Limits():
        return limited
    remedy = Remedy(
        cores=given.cores,
        sync_times=_sync_times(step, given),
        adds_s=(given.answer_s or 0.0) * (step.qps or 0.0) / loop.tps,
        bounds=tuple(_allowed(limited, given)),
    )
    if given.cores is not None:
        loop = _of_the_server(loop, step, given.cores)
    return limited.model_copy(update={"foretold": foretell(loop, remedy)})


def _of_the_server(loop: ClosedLoop, step: StepResult, limit: float) -> ClosedLoop:
    """The loop with the server's cores alone, as a limit applies to these."""
    cores, limited = load_cores(step), load_cores(step, limit)
    if cores is None or limited is None or not limited.is_limited:
        return loop
    free = cores.allowed - (cores.used - limited.used)
    servers = Servers(max(free, limited.used), limited.used, cores.total)
    beside = _beside(step, limited, 0.0)
    return replace(
        loop,
        cores=servers,
        generator_cores=0.0,
        server_cores=beside.server + beside.others,
        other_cores=0.0,
    )


def _sync_times(step: StepResult, given: Limits) -> float:
    """By how much longer a sync takes on a device that does so many a second, one at a time."""
    syncs, account = log_syncs(step), step.account
    if given.syncs_per_s is None or not syncs or account is None:
        return 1.0
    takes = account.share_of("log sync", "binlog sync") * account.users / syncs
    return 1 / given.syncs_per_s / takes if takes else 1.0


def _allowed(limited: StepCeilings, given: Limits) -> Iterator[float]:
    """The ceilings of the resources that were given a limit."""
    names: list[Resource] = [
        resource for name, resource in _OF_LIMIT.items() if getattr(given, name) is not None
    ]
    if given.line_bytes_per_s is not None:
        names += ["network to the server", "network from the server"]
    for one in limited.ceilings:
        if one.resource in names and one.events_per_s is not None:
            yield one.events_per_s


def _lock_use(found: StepCeilings | None) -> float | None:
    """The use of row locks, where it was counted."""
    for one in found.ceilings if found else ():
        if one.resource == "row locks":
            return one.used
    return None


def _bounds(
    found: StepCeilings | None, tps: float, resources: Collection[Resource]
) -> Iterator[float]:
    """Ceilings, each at least at the measured rate: that is possible."""
    for one in found.ceilings if found else ():
        if one.resource in resources and one.events_per_s is not None:
            yield max(one.events_per_s, tps)


def _shares(account: Account) -> dict[Place, Share]:
    return {
        one.place: Share(one.share, max((one.high or one.share) - one.share, 0.0) / NORMAL_95)
        for one in account.entries
    }
