"""The disk that holds the data is at its limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from loadstone.diagnosis.context import Case, HostField
from loadstone.diagnosis.cpu import IDLE, outside, own_share
from loadstone.diagnosis.holds import (
    PAGE_READS,
    PAGE_WAITS,
    SYNC_WAITS,
    Holds,
    part_of,
    parts_of,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.waits_for_threads import with_waits_for
from loadstone.model.account import Place
from loadstone.model.ceilings import DISK, RESOURCES, Ceiling, Resource
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in

USED = 0.8
"""[P] Use of the device's measured limit, or of its group's limit."""

PART = 0.2
"""[P] Share of a group's limit that the server itself requests: one sync is several operations."""

IN_THE_QUEUE = 0.1
"""[P] Requests in the disk's queue for each thread that waits for one, below which a limit keeps
them from it."""

AWAY = 0.5
"""[P] Share of the users' time outside the server above which it does not wait for a disk."""

FLAT = 0.1
"""[P] Operations per second that differ by less count as the same."""

RISES = 1.1
"""[P] Growth of the rate from which as many operations mean larger groups, not a limit."""

SLOWER = 1.5
"""[P] Growth of an operation's time from which a level with the same operations queues."""

QUEUE = 1.5
"""[P] Requests in flight: above one, the disk always has the next one waiting."""

BUSY = 0.9
"""[P] Share of the time with a request in flight; alone it says nothing about a disk that does many
at once.
"""

SLOW_MS = 5.0
"""[P] Time of an operation, including the queue, that no healthy solid-state disk takes."""


@dataclass(frozen=True)
class _Limit:
    """A limit that a control group may set on a disk."""

    name: str
    figure: HostField
    unit: Message
    places: tuple[Place, ...]
    """Where users are who wait for such operations."""

    asked: tuple[str, ...] = ()
    """Counters of the operations that the server itself requests; empty if bytes are limited."""


_WRITES = (*SYNC_WAITS, *PAGE_WAITS)
_AT_DISKS: frozenset[Place] = frozenset(("disk read", "disk write", "log sync", "binlog sync"))
"""Where a thread itself waits for a disk."""

_LIMITS = (
    _Limit(
        "write_iops",
        "disk_write_iops",
        say_in("unit", "writes/s"),
        _WRITES,
        ("log_syncs", "binlog_syncs", "pages_flushed"),
    ),
    _Limit(
        "read_iops", "disk_read_iops", say_in("unit", "reads/s"), PAGE_READS, ("buffer_pool_reads",)
    ),
    _Limit(
        "write_bytes_per_s", "disk_write_bytes_per_s", say_in("unit", "bytes written/s"), _WRITES
    ),
    _Limit("read_bytes_per_s", "disk_read_bytes_per_s", say_in("unit", "bytes read/s"), PAGE_READS),
)


class _Reached(NamedTuple):
    """A limit of the group that is reached."""

    of: _Limit
    limit: float
    used: float


def judge(case: Case) -> Finding | None:
    """A limit of its group or of the device is reached, or requests queue at a flat rate."""
    return _group_limit(case) or _measured_limit(case) or _queueing(case)


def _group_limit(case: Case) -> Finding | None:
    """The group's limit is reached."""
    found = _reached(case)
    if found is None:
        return None
    values = {
        "limit": Number(found.limit),
        "unit": found.of.unit,
        "disk": case.step.host.disk if case.step.host else None,
        "used": Number(found.used),
    }
    sentence = (
        say(
            "The server's control group allows {limit} {unit} on {disk}; together with others the "
            "disk does {used}, and the server's own work leaves cores free.",
            **values,
        )
        if found.used >= USED * found.limit
        else say(
            "The server's control group allows {limit} {unit} on {disk}. The disk does {used} on "
            "average, but they come in bursts: threads wait for operations that are not in its "
            "queue.",
            **values,
        )
    )
    weight = (min(found.used / found.limit, 1.0), 0.85)
    figure = (found.used, found.limit, found.of.unit)
    return _finding(case, sentence, figure, weight, is_limited=True)


def _reached(case: Case) -> _Reached | None:
    """The limit of the group that is reached.

    The whole disk is counted, so the server must use a part of it, and wait rather than work. Where
    operations come in bursts, a limit keeps threads waiting that is not used on average.
    """
    disk = case.step.host.disk if case.step.host else None
    own = own_share(case)
    if (own is not None and own > IDLE) or (outside(case) or 0.0) > AWAY:
        return None
    for each in _LIMITS:
        limit = case.host_mean(f"cgroup.disk.{disk}.{each.name}")
        used = case.host(each.figure)
        if not limit or not used:
            continue
        before = _waits_before(case, each)
        is_asked = not each.asked or _asked(case, each) >= PART * limit
        if before or (used >= USED * limit and is_asked):
            return _Reached(each, limit, used)
    return None


def _holds(case: Case) -> Holds | None:
    """Of the waits for such operations what is none of the disk's own time.

    What waits for the limit is not in the disk's queue yet (Little's law for both). A cause of many
    operations has what the disk itself takes for them. `None`: no limit of a group is reached.
    """
    found, account = _reached(case), case.step.account
    queue = _queue(case, found.of) if found else None
    if found is None or account is None or queue is None:
        return None
    waiting = account.users * account.share_of(*found.of.places)
    if not waiting:
        return None
    part = max(1 - queue / waiting, 0.0)
    parts: dict[Place, float] = dict.fromkeys(found.of.places, part)
    if found.of.places == PAGE_READS:
        parts = with_waits_for(account, parts, parts)
    return parts_of(parts, outer=True)


def _waits_before(case: Case, limit: _Limit) -> bool:
    """Whether threads wait for such operations that are not in the disk's queue yet.

    The group keeps them from it (Little's law for both).
    """
    account, queue = case.step.account, _queue(case, limit)
    if account is None or account.view != "threads" or queue is None:
        return False
    waiting = account.users * account.share_of(*(one for one in limit.places if one in _AT_DISKS))
    return queue < IN_THE_QUEUE * waiting


def _queue(case: Case, limit: _Limit) -> float | None:
    """Mean number of such operations in the disk's queue; of all, where one counter has both."""
    disk = case.step.host.disk if case.step.host else None
    ways = ("read",) if limit.places == PAGE_READS else ("write", "flush")
    first, *more = (case.host_rate(f"disk.{disk}.{way}_s") for way in ways)
    if first is None:
        return case.host("disk_queue")
    return first + sum(each or 0.0 for each in more)


def _asked(case: Case, limit: _Limit) -> float:
    """Operations per second that the server itself requests; it may be more."""
    return sum(case.rate(name) or 0.0 for name in limit.asked)


def _measured_limit(case: Case) -> Finding | None:
    for resource in DISK:
        ceiling = case.ceiling(resource)
        if ceiling and ceiling.used is not None and ceiling.used >= USED:
            figure = (ceiling.used, USED, say("of the limit"))
            return _finding(case, _at(ceiling), figure, (min(ceiling.used, 1.0), 0.85))
    return None


def _at(ceiling: Ceiling) -> Message:
    values = {
        "used": Percent(ceiling.used),
        "resource": RESOURCES[ceiling.resource],
        "how": ceiling.how,
    }
    if ceiling.by_hand:
        return say("The disk is at its limit: {used} of its {resource}: {how}.", **values)
    return say(
        "The disk is at its limit: {used} of the {resource} that loadstone probe measured ({how}).",
        **values,
    )


def _queueing(case: Case) -> Finding | None:
    """Utilization law, limit unknown: always busy, always a queue, slow answers, idle cores."""
    busy = case.needed(case.host("disk_busy"))
    queue = case.needed(case.host("disk_queue"))
    cores = own_share(case)
    if busy < BUSY or queue < QUEUE or (cores is not None and cores > IDLE):
        return None
    await_ms = max(case.host("disk_write_await_ms") or 0.0, case.host("disk_read_await_ms") or 0.0)
    flat = _is_flat(case, await_ms)
    if await_ms < SLOW_MS and not flat:
        return None
    sentence = _queues(case, (busy, queue, await_ms), flat=flat)
    figure = (busy, BUSY, say("of the time"))
    return _finding(case, sentence, figure, (min(busy, 1.0), 0.85 if flat else 0.7))


def _queues(case: Case, seen: tuple[float, float, float], *, flat: bool) -> Message:
    busy, queue, await_ms = seen
    operations = (case.host("disk_write_iops") or 0.0) + (case.host("disk_read_iops") or 0.0)
    values = {
        "busy": Percent(busy),
        "queue": Number(queue),
        "operations": Number(operations),
        "each": Number(await_ms),
    }
    if flat:
        return say(
            "The disk is busy {busy} of the time with {queue} requests in flight: it does "
            "{operations} operations a second of {each} ms each, no more than with fewer users.",
            **values,
        )
    return say(
        "The disk is busy {busy} of the time with {queue} requests in flight: it does {operations} "
        "operations a second of {each} ms each.",
        **values,
    )


def _is_flat(case: Case, await_ms: float) -> bool:
    now = (case.host("disk_write_iops") or 0.0) + (case.host("disk_read_iops") or 0.0)
    for step in case.ladder:
        if step.concurrency >= case.users:
            break
        host = step.host
        if host is None or not now or case.tps >= RISES * (step.tps or 0.0):
            continue
        before = (host.disk_write_iops or 0.0) + (host.disk_read_iops or 0.0)
        slow = max(host.disk_write_await_ms or 0.0, host.disk_read_await_ms or 0.0)
        if abs(before - now) <= FLAT * now and slow and await_ms >= SLOWER * slow:
            return True
    return False


def _finding(
    case: Case,
    sentence: Message,
    figure: tuple[float, float, Message],
    weight: tuple[float, float],
    *,
    is_limited: bool = False,
) -> Finding:
    """The finding: a configured limit is the cause itself; otherwise what makes the operations."""
    value, threshold, unit = figure
    reads = (case.host("disk_read_iops") or 0.0) > (case.host("disk_write_iops") or 0.0)
    acts_on: Resource | None = None if is_limited else "disk reads" if reads else "disk writes"
    evidence = [case.seen(say("disk"), value, unit, threshold)]
    queue = case.host("disk_queue")
    if queue is not None:
        requests = say_in("unit", "requests")
        evidence.append(case.seen(plain("disk_queue"), queue, requests, QUEUE))
    return Finding(
        cause="disk-cap",
        group="ceiling",
        sentence=sentence,
        evidence=tuple(evidence),
        share=weight[0],
        confidence=weight[1],
        remedy=say(
            "Raise the group's limit (io.max, blkio.throttle.*), or make do with fewer operations: "
            "a larger {cache} and more log between checkpoints, larger commit groups.",
            cache=case.page_cache,
        )
        if is_limited
        else say(
            "A disk or a volume class with more operations or bandwidth; fewer operations: a "
            "larger {cache} and more log between checkpoints, larger commit groups.",
            cache=case.page_cache,
        ),
        acts_on=acts_on,
    )


RULE = Rule(
    "disk-cap",
    say("the disk is at its limit"),
    judge,
    holds=part_of(*SYNC_WAITS, *PAGE_READS, *PAGE_WAITS),
    holds_in=_holds,
)
