"""Ceilings: the events a second that each resource would allow at a step's own cost per event.

The operational laws (P. J. Denning, J. P. Buzen, "The operational analysis of queueing network
models", ACM Computing Surveys 10(3), 1978) make it arithmetic. If an event needs D of a resource of
capacity C, it allows C / D events a second (utilization law), and N users who wait at least R for
an event complete N / R (Little's law). D is measured in the step itself, so it is the cost at that
concurrency: a step with larger commit groups needs fewer flushes per event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loadstone.analyse.cores import busy_cores, load_cores
from loadstone.analyse.queues import completed, most_events
from loadstone.model.account import Account
from loadstone.model.attached import FIGURES
from loadstone.model.ceilings import Ceiling, Limits, Resource, StepCeilings
from loadstone.model.error_codes import MYSQL
from loadstone.model.figure import Bytes, Count, Number, Percent, Seconds, Short
from loadstone.model.message import Message, say, user_count
from loadstone.model.observed import line_bytes_per_s
from loadstone.model.result import HostFigures, StepResult
from loadstone.model.target_url import family_in

HOTTER = 0.15
"""How much busier than the mean the busiest core must be to count as a resource of its own."""

NEXT_TO_NONE = 1000.0
"""A ceiling this many times the rate is not evaluated: the load needed next to nothing, and what
was counted may come from others on the disk."""

EXCEEDED = 1.2
"""[P] Use of a limit that the user stated above which it is not the one in force: no resource gives
more than it has, but a volume may do so for as long as its burst credits last."""

FEWEST_WAITS = 0.02
"""With fewer waits per write, the waits are too rare to compute a ceiling from."""


@dataclass(frozen=True)
class Measured:
    """A step that has a rate, with the figures of its ladder that ceilings need."""

    step: StepResult
    tps: float
    limits: Limits
    shortest_s: float | None
    """The shortest mean response time of any step of the ladder."""
    fewest: int
    """Virtual users of the ladder's lowest step."""

    @property
    def host(self) -> HostFigures | None:
        """The figures of the server's host."""
        return self.step.host

    def by_event(self, per_second: float | None) -> float | None:
        """Convert a rate per second into a cost per event."""
        return None if per_second is None else per_second / self.tps


def ceilings(steps: Iterable[StepResult], limits: Limits) -> list[StepCeilings]:
    """All ceilings of each step that has a rate, in the order of the steps."""
    rated = [(step, step.tps) for step in steps if step.tps]
    shortest = _shortest([step for step, _ in rated])
    fewest: dict[str, int] = {}
    for step, _ in rated:
        users = step.concurrency
        fewest[step.workload] = min(users, fewest.get(step.workload, users))
    return [
        _of_step(Measured(step, tps, limits, shortest.get(step.workload), fewest[step.workload]))
        for step, tps in rated
    ]


def _of_step(measured: Measured) -> StepCeilings:
    found = [one for resource in _RESOURCES if (one := resource(measured))]
    if measured.step.other_targets:
        found = [_of_several(ceiling) for ceiling in found]
    known = [ceiling for ceiling in found if ceiling.events_per_s is not None]
    unknown = [ceiling for ceiling in found if ceiling.events_per_s is None]
    known.sort(key=lambda ceiling: ceiling.events_per_s or 0.0)
    return StepCeilings(
        step=measured.step.step,
        variant=measured.step.variant,
        workload=measured.step.workload,
        concurrency=measured.step.concurrency,
        rate=measured.step.rate,
        repeat=measured.step.repeat,
        tps=measured.tps,
        ceilings=(*known, *unknown),
    )


def _of_several(ceiling: Ceiling) -> Ceiling:
    """With several targets, keep only the generator's ceilings: the others are of one target."""
    if ceiling.resource in ("generator", "concurrency"):
        return ceiling
    return _not(ceiling.resource, say("several targets share the load"))


def _shortest(steps: Sequence[StepResult]) -> dict[str, float]:
    """The shortest mean response time of each workload, in seconds."""
    found: dict[str, float] = {}
    for step in steps:
        if mean_s := _mean_s(step):
            found[step.workload] = min(mean_s, found.get(step.workload, mean_s))
    return found


def _mean_s(step: StepResult) -> float | None:
    """The mean response time; in a closed loop no longer than Little's law has it, users / rate.

    Events that began before the window took part of their time there, so that the mean of a short
    window may be longer than that: the users would complete more than they can.
    """
    mean = step.latency.service.mean
    if not mean or step.rate is not None or not step.tps:
        return mean / 1000 if mean else None
    return min(mean / 1000, step.concurrency / step.tps)


def _server_cpu(measured: Measured) -> Ceiling:
    host = measured.host
    if host is None:
        why = too_coarse(measured.step, "cpu_idle") or say("the server's host was not observed")
        return _not("server CPU", why)
    cores = load_cores(measured.step, measured.limits.cores)
    if cores is None:
        return _by_share(measured, host)
    cost = cores.used / measured.tps
    if cost <= 0:
        return _not("server CPU", say("the host's cores were busy for others only"))
    allows = most_events(cores.allowed, cost)
    if cores.is_limited:
        how = say(
            "{cores} cores ÷ {cost} of the server's CPU per event",
            cores=Short(cores.allowed),
            cost=_time(cost),
        )
        return _reached(measured, "server CPU", allows, how, "cores")
    capacity = host.cores * (1 - (host.cpu_steal or 0.0)) if host.cores else cores.allowed
    how = _cores_by_cost(capacity, cores.others, _time(cost), shared=cores.is_shared)
    found = _reached(measured, "server CPU", allows, how)
    found = _coarse(found, host, ("cpu_idle",))
    return found.model_copy(update={"others": cores.others or None})


def _by_share(measured: Measured, host: HostFigures) -> Ceiling:
    """The ceiling of a host that does not say how many cores it has."""
    if host.cpu_idle is None:
        why = too_coarse(measured.step, "cpu_idle") or say(
            "the host does not report how busy it is"
        )
        return _not("server CPU", why)
    busy = max(1 - host.cpu_idle - (host.cpu_iowait or 0.0) - (host.cpu_steal or 0.0), 0.0)
    if not busy:
        return _not("server CPU", say("none was needed"))
    how = say("its cores are busy {used} of the time", used=Percent(busy))
    found = _reached(measured, "server CPU", most_events(1.0, busy / measured.tps), how)
    return _coarse(found, host, ("cpu_idle",))


def _cores_by_cost(capacity: float, others: float, cost: Message, *, shared: bool) -> Message:
    figures = {"capacity": Short(capacity), "cost": cost}
    match bool(others), shared:
        case True, True:
            return say(
                "{capacity} cores, of which others use {others}, ÷ {cost} of the server's and "
                "generator's CPU per event",
                others=Short(others),
                **figures,
            )
        case True, False:
            return say(
                "{capacity} cores, of which others use {others}, ÷ {cost} of the server host's CPU "
                "per event",
                others=Short(others),
                **figures,
            )
        case False, True:
            return say(
                "{capacity} cores ÷ {cost} of the server's and generator's CPU per event", **figures
            )
    return say("{capacity} cores ÷ {cost} of the server host's CPU per event", **figures)


def _hottest_core(measured: Measured) -> Ceiling:
    host = measured.host
    busy = busy_cores(host) if host else None
    if host is None or host.busiest_core is None or busy is None or not host.cores:
        return _not("hottest core", say("cores were not counted separately"))
    if host.busiest_core < busy / host.cores + HOTTER:
        return _not("hottest core", say("no core is much busier than the others"))
    return _reached(
        measured,
        "hottest core",
        most_events(1.0, host.busiest_core / measured.tps),
        say(
            "the busiest core is at {busiest}, all cores together at {all}",
            busiest=Percent(host.busiest_core),
            all=Percent(busy / host.cores),
        ),
    )


def _flushes(measured: Measured) -> Ceiling:
    """The ceiling of syncs as the server counts them, else of flushes as the device counts them.

    A count is only compared with a limit of the same kind.
    """
    limits, host = measured.limits, measured.host
    flushes = host.disk_flushes_per_s if host else None
    for name, rate, how in (
        ("syncs_per_s", log_syncs(measured.step), _by_syncs),
        ("flushes_per_s", flushes, _by_flushes),
    ):
        limit, cost = getattr(limits, name), measured.by_event(rate)
        if limit is not None and cost:
            if limit / cost > NEXT_TO_NONE * measured.tps:
                return _not("flushes", say("next to none were needed"))
            return _reached(measured, "flushes", most_events(limit, cost), how(limit, cost), name)
    if limits.syncs_per_s is None:
        return _not(
            "flushes",
            say(
                "the device's sync rate is not known: loadstone probe measures it, --limit states "
                "it"
            ),
        )
    return _not("flushes", say("no syncs were counted"))


def _by_syncs(limit: float, cost: float) -> Message:
    return say("{limit} syncs/s ÷ {cost} per event", limit=Count(round(limit)), cost=Short(cost))


def _by_flushes(limit: float, cost: float) -> Message:
    return say("{limit} flushes/s ÷ {cost} per event", limit=Count(round(limit)), cost=Short(cost))


def log_syncs(step: StepResult) -> float | None:
    """The syncs of all logs as the server counts them; `None` where a log is not counted."""
    server = step.server
    if server is None or server.log_syncs_per_s is None:
        return None
    family = family_in(step.targets[0].target if step.targets else "")
    if family != MYSQL or server.means.get("setting.log_bin", 1.0) < 0.5:
        return server.log_syncs_per_s
    if server.binlog_syncs_per_s is None:
        # The server does not sync it itself: the kernel decides when to write it.
        lazy = server.means.get("setting.sync_binlog") == 0
        return server.log_syncs_per_s if lazy else None
    return server.log_syncs_per_s + server.binlog_syncs_per_s


def _disk(
    resource: Resource,
    name: str,
    figures: tuple[str, ...],
    how: Callable[[float, float], Message],
) -> Callable[[Measured], Ceiling]:
    """The ceiling of a disk by the limit of this name, for the sum of these figures of the host."""

    def found(measured: Measured) -> Ceiling:
        limit = getattr(measured.limits, name)
        if limit is None:
            return _not(
                resource,
                say(
                    "what the device can do is not known: loadstone probe measures it, --limit "
                    "states it"
                ),
            )
        cost = measured.by_event(_total(measured.host, figures))
        if cost is None:
            return _not(resource, _unseen(measured.step, figures))
        if not cost:
            return _not(resource, say("none was needed"))
        if limit / cost > NEXT_TO_NONE * measured.tps:
            return _not(resource, say("next to none was needed"))
        found = _reached(measured, resource, most_events(limit, cost), how(limit, cost), name)
        return _coarse(found, measured.host, figures)

    return found


def _total(host: HostFigures | None, figures: Sequence[str]) -> float | None:
    values = [getattr(host, name) for name in figures] if host else [None]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _unseen(step: StepResult, figures: Sequence[str]) -> Message:
    """Why a figure of the disk is not known."""
    why = next((found for name in figures if (found := too_coarse(step, name))), None)
    return why or say("the server's disk was not observed")


def too_coarse(step: StepResult, field: str) -> Message | None:
    """Why an attached file does not say this figure of the host; `None`: none has it."""
    for one in step.attached:
        known = FIGURES.get(one.figure or "")
        if one.why_not and known and known.field == field:
            return say("{file}: {why}", file=one.file, why=one.why_not)
    return None


def _coarse(found: Ceiling, host: HostFigures | None, figures: Sequence[str]) -> Ceiling:
    """The ceiling, marked where its use is known only by means of longer times than a second."""
    known = [host.coarse[name] for name in figures if host and host.coarse.get(name)]
    return _by_means(found, max(known)) if known else found


def _by_means(found: Ceiling, granularity_s: float) -> Ceiling:
    if found.how is None:
        return found
    said = say("{how}, by means of {time}", how=found.how, time=Seconds(granularity_s))
    return found.model_copy(update={"how": said, "granularity_s": granularity_s})


def _operations(measured: Measured) -> Ceiling | None:
    """Reads and writes together: how cloud volumes are limited; no disk is, so few have a limit."""
    limit = measured.limits.disk_iops
    if limit is None:
        return None
    found = _of_operations(measured)
    attached = next((one for one in measured.step.attached if one.figure == "disk_iops"), None)
    if found.events_per_s is not None or attached is None:
        return found
    if not attached.mean:
        why = attached.why_not or say("none was needed")
        return _not("disk operations", say("{file}: {why}", file=attached.file, why=why))
    cost = attached.mean / measured.tps
    how = _by_operations(limit, cost)
    found = _reached(measured, "disk operations", most_events(limit, cost), how, "disk_iops")
    return _by_means(found, attached.granularity_s)


def _by_operations(limit: float, cost: float) -> Message:
    return say(
        "{limit} operations/s ÷ {cost} operations per event", limit=Number(limit), cost=Number(cost)
    )


_of_operations = _disk(
    "disk operations",
    "disk_iops",
    ("disk_read_iops", "disk_write_iops"),
    _by_operations,
)


def _network(resource: Resource, incoming: bool) -> Callable[[Measured], Ceiling]:
    def found(measured: Measured) -> Ceiling:
        line = measured.limits.line_bytes_per_s or _line(measured.host)
        if line is None:
            return _not(
                resource,
                say(
                    "the line speed is not known: the interface reports none, or is virtual; "
                    "--limit states it"
                ),
            )
        cost = measured.by_event(_bytes(measured, incoming=incoming))
        if not cost:
            return _not(resource, say("no bytes were counted"))
        how = say("{mbit} Mbit/s ÷ {cost} per event", mbit=Number(line / 125_000), cost=Bytes(cost))
        reached = _reached(measured, resource, most_events(line, cost), how, "line_bytes_per_s")
        field = "net_bytes_in_per_s" if incoming else "net_bytes_out_per_s"
        return _coarse(reached, measured.host, (field,))

    return found


def _line(host: HostFigures | None) -> float | None:
    """The capacity of the interface that carries the traffic, in bytes a second."""
    return line_bytes_per_s(host.facts, host.nic) if host else None


def _bytes(measured: Measured, *, incoming: bool) -> float | None:
    """Bytes a second on the line as the interface counted them, else those of the protocol."""
    host, step = measured.host, measured.step
    if host and host.nic != "lo":
        counted = host.net_bytes_in_per_s if incoming else host.net_bytes_out_per_s
        if host.nic or counted is not None:
            return counted
    if not step.seconds:
        return None
    return (step.bytes_out if incoming else step.bytes_in) / step.seconds


def _row_locks(measured: Measured) -> Ceiling:
    """The ceiling of row locks.

    An arrival finds a lock held with the probability that it is held at any time (PASTA). So waits
    per locking statement are the utilization of the locks, for one hot row as for several that are
    equally hot.
    R. W. Wolff, "Poisson arrivals see time averages", Operations Research 30(2), 1982.
    """
    step, server = measured.step, measured.step.server
    if server is None or server.row_lock_waits_per_s is None:
        return _not("row locks", say("the server does not count row lock waits"))
    if not step.writes or not step.seconds:
        return _not("row locks", say("nothing was written"))
    held = min(server.row_lock_waits_per_s / (step.writes / step.seconds), 1.0)
    if held < FEWEST_WAITS:
        few = say("only {held} of the writes waited for a row", held=Percent(held))
        return _not("row locks", few)
    how = _found_locked(held, step.account)
    return _reached(measured, "row locks", most_events(1.0, held / measured.tps), how)


def _found_locked(held: float, account: Account | None) -> Message:
    """How much the locks are in use, and next to it what waiting for them takes of the users' time.

    They are no measures of the same: of one hot row that is locked half of the time, many users
    wait most of theirs.
    """
    if account is None:
        return say("{held} of the writes found their row locked", held=Percent(held))
    return say(
        "{held} of the writes found their row locked; waiting for it took {share} of the users' "
        "time",
        held=Percent(held),
        share=Percent(account.share_of("row lock")),
    )


def _generator(measured: Measured) -> Ceiling:
    own, step = measured.step.generator, measured.step
    if own.ceiling_qps and step.qps:
        statements = step.qps / measured.tps
        how = say(
            "{rate} statements/s (calibrated) ÷ {statements} per event",
            rate=Count(round(own.ceiling_qps)),
            statements=Short(statements),
        )
        return _reached(measured, "generator", most_events(own.ceiling_qps, statements), how)
    if own.cpu_share:
        how = say("its event loops are busy {used} of the time", used=Percent(own.cpu_share))
        return _reached(measured, "generator", most_events(1.0, own.cpu_share / measured.tps), how)
    return _not("generator", say("its CPU was not measured"))


def _concurrency(measured: Measured) -> Ceiling:
    step = measured.step
    if step.rate is not None:
        return _not("concurrency", say("events are due at a set rate (open loop)"))
    if measured.shortest_s is None:
        return _not("concurrency", say("no response time was measured"))
    alone = step.concurrency <= max(measured.fewest, 1) and step.concurrency > 1
    if alone and measured.limits.answer_s is None:
        # N / R of the step itself is always its own rate, so it says nothing.
        return _not(
            "concurrency",
            say("a step with fewer users is needed to know the shortest response time"),
        )
    added = (measured.limits.answer_s or 0.0) * (step.qps or 0.0) / measured.tps
    time_s = measured.shortest_s + added
    how = say(
        "{users} ÷ {time} ms, the shortest response time",
        users=user_count(step.concurrency),
        time=Short(1000 * time_s),
    )
    return _reached(measured, "concurrency", completed(step.concurrency, time_s), how)


def _time(seconds: float) -> Message:
    """CPU time per event, in microseconds, or in milliseconds from 1000 microseconds on."""
    if seconds >= 0.001:
        return say("{number} ms", number=Short(seconds * 1e3))
    return say("{number} µs", number=Short(seconds * 1e6))


_RESOURCES: tuple[Callable[[Measured], Ceiling | None], ...] = (
    _server_cpu,
    _hottest_core,
    _flushes,
    _disk(
        "disk writes",
        "disk_write_iops",
        ("disk_write_iops",),
        lambda limit, cost: say(
            "{limit} writes/s ÷ {cost} writes per event", limit=Number(limit), cost=Number(cost)
        ),
    ),
    _disk(
        "disk reads",
        "disk_read_iops",
        ("disk_read_iops",),
        lambda limit, cost: say(
            "{limit} reads/s ÷ {cost} reads per event", limit=Number(limit), cost=Number(cost)
        ),
    ),
    _operations,
    _disk(
        "disk write bandwidth",
        "disk_write_bytes_per_s",
        ("disk_write_bytes_per_s",),
        lambda limit, cost: say(
            "{limit}/s ÷ {cost} per event", limit=Bytes(limit), cost=Bytes(cost)
        ),
    ),
    _network("network to the server", incoming=True),
    _network("network from the server", incoming=False),
    _row_locks,
    _generator,
    _concurrency,
)


def _reached(
    measured: Measured, resource: Resource, events_per_s: float, how: Message, limit: str = ""
) -> Ceiling:
    """The ceiling of a resource; `limit` is the field of the limits that it comes from."""
    by_hand = limit in measured.limits.by_hand
    if by_hand and measured.tps > EXCEEDED * events_per_s:
        used = Percent(measured.tps / events_per_s) if events_per_s else Percent(None)
        return _not(
            resource, say("{used} of the limit stated by hand: it is not in force", used=used)
        )
    if by_hand:
        how = say("{how} (limit stated by hand)", how=how)
    return Ceiling(
        resource=resource,
        events_per_s=events_per_s,
        used=measured.tps / events_per_s if events_per_s else None,
        how=how,
        by_hand=by_hand,
    )


def _not(resource: Resource, why: Message) -> Ceiling:
    return Ceiling(resource=resource, events_per_s=None, used=None, how=None, why_not=why)
