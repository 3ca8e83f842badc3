"""The disk that holds the data gives no more."""

from __future__ import annotations

from loadstone.diagnosis.context import Case, HostField
from loadstone.diagnosis.cpu import IDLE, outside, own_share
from loadstone.diagnosis.rule import Rule
from loadstone.model.ceilings import Resource
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

USED = 0.8
"""[P] of what the device was measured to do, or of its group's limit."""

PART = 0.2
"""[P] of a group's limit that the server asks for by itself: one sync is several operations."""

AWAY = 0.5
"""[P] share of the users' time outside the server above which it does not wait for a disk."""

FLAT = 0.1
"""[P] operations a second that differ by less are the same."""

RISES = 1.1
"""[P] growth of the rate from which as many operations are larger groups, and no limit."""

SLOWER = 1.5
"""[P] growth of an operation's time from which a level of the same operations queues."""

QUEUE = 1.5
"""[P] requests on their way: above one the disk always has the next one waiting."""

BUSY = 0.9
"""[P] of the time with a request on its way; alone it says nothing of a disk that does many."""

SLOW_MS = 5.0
"""[P] time of an operation, queue included, that no healthy solid-state disk takes."""

_RESOURCES: tuple[Resource, ...] = ("disk writes", "disk reads", "disk write bandwidth")
_LIMITS: tuple[tuple[str, HostField, str], ...] = (
    ("write_iops", "disk_write_iops", "writes/s"),
    ("read_iops", "disk_read_iops", "reads/s"),
    ("write_bytes_per_s", "disk_write_bytes_per_s", "bytes written/s"),
    ("read_bytes_per_s", "disk_read_bytes_per_s", "bytes read/s"),
)


def judge(case: Case) -> Finding | None:
    """A limit of its group or of the device is reached, or requests queue at a flat rate."""
    return _group_limit(case) or _measured_limit(case) or _queueing(case)


def _group_limit(case: Case) -> Finding | None:
    """The disk is counted whole: the server must have a part in it, and wait rather than work."""
    disk = case.step.host.disk if case.step.host else None
    own = own_share(case)
    if (own is not None and own > IDLE) or (outside(case) or 0.0) > AWAY:
        return None
    for limit_name, figure, unit in _LIMITS:
        limit = case.host_mean(f"cgroup.disk.{disk}.{limit_name}")
        used = case.host(figure)
        if not limit or not used or used < USED * limit:
            continue
        if unit.endswith("s/s") and _asked(case, unit) < PART * limit:
            continue
        sentence = (
            f"The server's control group allows {num(limit)} {unit} of {disk}; with what others "
            f"do the disk does {num(used)}, and the server's own work leaves cores free."
        )
        weight = (min(used / limit, 1.0), 0.85)
        return _finding(case, sentence, (used, limit, unit), weight, is_told=True)
    return None


def _asked(case: Case, unit: str) -> float:
    """Operations a second that the server itself asks for, at least."""
    if unit.startswith("read"):
        return case.rate("buffer_pool_reads") or 0.0
    names = ("log_syncs", "binlog_syncs", "pages_flushed")
    return sum(case.rate(name) or 0.0 for name in names)


def _measured_limit(case: Case) -> Finding | None:
    for resource in _RESOURCES:
        ceiling = case.ceiling(resource)
        if ceiling and ceiling.used is not None and ceiling.used >= USED:
            sentence = (
                f"The disk does no more: {resource} are at {pct(ceiling.used)} of what "
                f"loadstone probe measured ({ceiling.how})."
            )
            return _finding(
                case, sentence, (ceiling.used, USED, "of the limit"), (min(ceiling.used, 1.0), 0.85)
            )
    return None


def _queueing(case: Case) -> Finding | None:
    """Utilization law without the limit: always busy, always a queue, slow answers, idle cores."""
    busy = case.needed(case.host("disk_busy"))
    queue = case.needed(case.host("disk_queue"))
    cores = own_share(case)
    if busy < BUSY or queue < QUEUE or (cores is not None and cores > IDLE):
        return None
    await_ms = max(case.host("disk_write_await_ms") or 0.0, case.host("disk_read_await_ms") or 0.0)
    flat = _is_flat(case, await_ms)
    if await_ms < SLOW_MS and not flat:
        return None
    operations = (case.host("disk_write_iops") or 0.0) + (case.host("disk_read_iops") or 0.0)
    sentence = (
        f"The disk is busy {pct(busy)} of the time with {num(queue)} requests on their way: it "
        f"does {num(operations)} a second, each in {num(await_ms)} ms"
        + (", no more than with fewer users." if flat else ".")
    )
    return _finding(
        case, sentence, (busy, BUSY, "of the time"), (min(busy, 1.0), 0.85 if flat else 0.7)
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
    sentence: str,
    figure: tuple[float, float, str],
    weight: tuple[float, float],
    *,
    is_told: bool = False,
) -> Finding:
    """What is told as a limit is the cause itself; else it is what makes for the operations."""
    value, threshold, unit = figure
    reads = (case.host("disk_read_iops") or 0.0) > (case.host("disk_write_iops") or 0.0)
    acts_on: Resource | None = None if is_told else "disk reads" if reads else "disk writes"
    evidence = [case.seen("disk", value, unit, threshold)]
    queue = case.host("disk_queue")
    if queue is not None:
        evidence.append(case.seen("disk_queue", queue, "requests", QUEUE))
    return Finding(
        cause="disk-cap",
        group="ceiling",
        sentence=sentence,
        evidence=tuple(evidence),
        share=weight[0],
        confidence=weight[1],
        remedy=(
            "A disk or a volume class with more operations or bandwidth; fewer operations: a "
            "larger buffer pool and redo log, larger commit groups."
        ),
        acts_on=acts_on,
    )


RULE = Rule("disk-cap", say("the disk is at its limit"), judge)
