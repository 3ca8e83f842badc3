"""For whom the servers worked: cores, disks and memory by the sessions that used them."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.account import Cores, DiskBytes, Disks, Memory, MemoryOf
from loadstone.runs.source_figures import SourceSums

_OTHERS = "others_"
"""Before the counters of other clients' sessions."""


def ran_in(looked: Sequence[SourceSums], counter: str) -> float:
    """The mean number of threads of the users' sessions that ran or waited, at all servers."""
    return sum(ran(sums, counter) or 0.0 for sums in looked)


def ran(sums: SourceSums, counter: str) -> float | None:
    """The mean number at one server, over the seconds in which that was counted.

    That is not while the server was away, nor while all its sessions were new.
    """
    whose = _OTHERS if counter.startswith(_OTHERS) else ""
    return _per_second(sums, counter, f"{whose}counted_s")


def queued(looked: Sequence[SourceSums]) -> float | None:
    """The mean number of users before poolers; `None`: no pooler counts them."""
    found = [_per_second(sums, "queued_s", "queue_counted_s") for sums in looked]
    known = [each for each in found if each is not None]
    return sum(known) if known else None


def cores_of(looked: Sequence[SourceSums], hosts: Sequence[SourceSums | None]) -> Cores:
    """Whose sessions used the servers' cores.

    Args:
        looked: the sums of the looks at each server.
        hosts: those of the host of each server; `None`: not observed.
    """
    users, others = ran_in(looked, "core_s"), ran_in(looked, f"{_OTHERS}core_s")
    process = _of_processes(hosts, "cpu_user_s", "cpu_sys_s")
    return Cores(users=users, others=others, own=_left(process, users + others))


def disks_of(looked: Sequence[SourceSums], hosts: Sequence[SourceSums | None]) -> Disks | None:
    """Whose sessions moved bytes from and to disks; `None`: no server's sessions were counted."""
    if not any(sums.deltas.get("bytes_counted_s") for sums in looked):
        return None
    users, others = _moved(looked), _moved(looked, _OTHERS)
    read = _left(_of_processes(hosts, "read_bytes"), users.read + others.read)
    written = _left(_of_processes(hosts, "written_bytes"), users.written + others.written)
    own = None if read is None or written is None else DiskBytes(read=read, written=written)
    return Disks(users=users, others=others, own=own)


def memory_of(looked: Sequence[SourceSums]) -> Memory | None:
    """What sessions have for themselves; `None`: no server's sessions were read."""
    users = _memory(looked)
    return None if users is None else Memory(users=users, others=_memory(looked, _OTHERS))


def _memory(looked: Sequence[SourceSums], whose: str = "") -> MemoryOf | None:
    """Of all servers together; `None`: of none of them any session was read."""

    def mean(counter: str) -> float:
        of = whose + "memory_looks"
        return sum(_per_second(sums, whose + counter, of) or 0.0 for sums in looked)

    sessions = mean("memory_sessions")
    if not sessions:
        return None
    each, tables = mean("memory_bytes") / sessions, mean("page_table_bytes") / sessions
    return MemoryOf(sessions=sessions, each=each, page_tables=tables)


def _moved(looked: Sequence[SourceSums], whose: str = "") -> DiskBytes:
    def rate(counter: str) -> float:
        of = whose + "bytes_counted_s"
        return sum(_per_second(sums, whose + counter, of) or 0.0 for sums in looked)

    return DiskBytes(read=rate("read_bytes"), written=rate("written_bytes"))


def _per_second(sums: SourceSums, counter: str, seconds: str) -> float | None:
    """Or by look, where `seconds` counts these."""
    counted_s = sums.deltas.get(seconds)
    return sums.deltas.get(counter, 0.0) / counted_s if counted_s else None


def _of_processes(hosts: Sequence[SourceSums | None], *counters: str) -> float | None:
    """The rate of the servers' processes; `None` unless all of them were observed."""
    total = 0.0
    for host in hosts:
        for counter in counters:
            rate = host.rate(f"process.{counter}") if host else None
            if rate is None:
                return None
            total += rate
    return total


def _left(whole: float | None, part: float) -> float | None:
    """What remains of a process for its own threads; sums that were read apart may be less."""
    return None if whole is None else max(whole - part, 0.0)
