"""What the cores of the server's host work on, and where the users spend their time.

All shares are of the host's cores or of the users, 0 to 1, as means over time. By PASTA and
Little's law (P. J. Denning, J. P. Buzen, ACM Computing Surveys 10(3), 1978) the mean number of
users at a place, divided by the number of users, is the share of their time that they spend there.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analyse.cores import interrupt_cores, other_cores, process_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES
from loadstone.model.account import Place
from loadstone.model.message import say
from loadstone.model.observed import SHARED_HOST

IDLE = 0.7
"""[P] Use of its cores below which a server could do more: DIAGNOSIS 1 and 10."""

FULL = 0.9
"""[P] Use from which the cores are used up; 0.95 is [S] Huawei's, and means over a second hide
peaks.
"""

OBSERVERS = 1.0
"""Our own connection runs a statement while it counts the running ones."""

PLUGIN = "loaded-dynamically"
"""The value of thread_handling that means the thread pool of a plugin of MySQL's."""

POOLS = ("pool-of-threads", PLUGIN)
"""Values of thread_handling that mean a thread pool."""


@dataclass(frozen=True)
class Cpu:
    """Shares of all cores."""

    cores: float
    busy: float
    """Neither idle, nor waiting for a disk, nor taken by another guest."""
    server: float | None
    generator: float | None
    """`None` if it runs on another host, or was not measured."""
    others: float | None
    """Neither server, generator nor interrupts; `None` if the server's share is not known."""
    interrupts: float
    """What no program's time has."""


def cpu_of(case: Case) -> Cpu:
    """The shares in one step.

    Raises:
        Missing: the host was not observed.
    """
    cores = case.needed(case.host("cores"))
    idle = case.needed(case.host("cpu_idle"))
    away = (case.host("cpu_iowait") or 0.0) + (case.host("cpu_steal") or 0.0)
    busy = min(max(1.0 - idle - away, 0.0), 1.0)
    server = server_cores(case)
    generator = _generator_cores(case)
    own = (server or 0.0) + (generator or 0.0)
    others = None if server is None else _others(case, busy, own) / cores
    return Cpu(
        cores,
        busy,
        None if server is None else server / cores,
        None if generator is None else generator / cores,
        others,
        _interrupts(case, busy, own) / cores,
    )


def server_cores(case: Case) -> float | None:
    """Cores that the server's process used."""
    user, system = case.host("process_cpu_user"), case.host("process_cpu_sys")
    return None if user is None or system is None else process_cores(case.step)


def _others(case: Case, busy: float, own: float) -> float:
    """Busy cores minus those of server, generator and interrupts."""
    host, cores = case.step.host, case.host("cores") or 0.0
    return other_cores(host, busy * cores, own) if host else 0.0


def _interrupts(case: Case, busy: float, own: float) -> float:
    host, cores = case.step.host, case.host("cores") or 0.0
    return interrupt_cores(host, busy * cores, own) if host else 0.0


def is_shared(case: Case) -> bool:
    """Whether the generator runs on the server's host."""
    return case.fact(SHARED_HOST) == "yes"


def outside(case: Case) -> float | None:
    """Share of the users' time outside the server: on the network or in the generator.

    In an open loop only users with an event under way count; the others wait until one is due.

    The account knows it, where there is one. Otherwise a thread counts as running while it executes
    or is blocked on a lock or a disk, but not while it waits for the client's next statement. With
    a thread pool, statements in the pool's queue do not count either, so the share is unknown.
    """
    if has_pool(case):
        case.reads.append(say("users in the thread pool's queue"))
        return None
    if case.step.account:
        return _outside_by_looks(case)
    under_way = _under_way(case)
    running = case.mean("threads_running")
    if running is None or not under_way:
        return None
    return min(max(1.0 - max(running - OBSERVERS, 0.0) / under_way, 0.0), 1.0)


def _outside_by_looks(case: Case) -> float | None:
    away = case.time_at("generator", "answer unread", "connecting")
    way, idle = case.time_at("way"), case.time_at("idle") or 0.0
    if away is None or way is None or idle >= 1.0:
        return None
    # What is sent to a stopped server is there, but no look sees that: they wait as well.
    way *= 1.0 - min(case.host_mean("process.stopped") or 0.0, 1.0)
    return min((away + way) / (1.0 - idle), 1.0)


def _under_way(case: Case) -> float:
    """Mean number of users with an event under way: Little's law in an open loop."""
    mean_ms = case.mean_ms if case.step.rate else None
    return float(case.users) if mean_ms is None else min(case.tps * mean_ms / 1000, case.users)


def has_pool(case: Case) -> bool:
    """Whether connections share the threads of a pool."""
    return case.variable("thread_handling") in POOLS or bool(case.is_on("thread_pool_enabled"))


def busy_share(case: Case) -> float | None:
    """Share of the host's cores that is used; `None` if the host was not observed."""
    idle = case.host("cpu_idle")
    if idle is None:
        return None
    away = (case.host("cpu_iowait") or 0.0) + (case.host("cpu_steal") or 0.0)
    return min(max(1.0 - idle - away, 0.0), 1.0)


def own_share(case: Case) -> float | None:
    """The load's own share of the server host's cores, without the work of others."""
    busy = busy_share(case)
    if busy is None:
        return None
    cores, server = case.host("cores"), server_cores(case)
    if not cores or server is None:
        return busy
    others = _others(case, busy, server + (_generator_cores(case) or 0.0)) / cores
    return busy - others


def part_of_cores(case: Case, used: float) -> float | None:
    """The part of the server's work that so many cores' is, 0 to 1; `None`: nothing is known.

    Where its host is not observed, of the users' time in the server.
    """
    cores = server_cores(case)
    if cores is None and (account := case.step.account) is not None:
        cores = account.users * account.share_of(*CORES)
    if cores is None:
        return None
    return min(used / cores, 1.0) if cores else 0.0


def parts_of_work(case: Case, used: float) -> dict[Place, float]:
    """By place of the cores, the part of the users' time there that so many cores' work takes.

    Who waits for a core waits for all that runs, so that work has its part of the wait. Where
    threads are not looked at, work and waits are one place: if the cores are full, the work has its
    part of it, else its own time alone. Empty without an account.
    """
    account = case.step.account
    if account is None:
        return {}
    on_core = account.users * account.share_of("on core")
    parts: dict[Place, float] = {}
    if on_core:
        part = min(used / on_core, 1.0)
        parts |= {"on core": part, "waiting for a core": part}
    inside = account.users * account.share_of("in the server")
    if inside:
        cores = server_cores(case)
        time = used / inside
        parts["in the server"] = min(used / cores if cores and is_full(case) else time, 1.0)
    return parts


def state_share(case: Case, *names: str) -> float | None:
    """Share of the users whose connection's state contains one of these texts."""
    states = case.states()
    if states is None or not case.users:
        return None
    found = sum(value for state, value in states.items() if any(name in state for name in names))
    return min(found / case.users, 1.0)


def _generator_cores(case: Case) -> float | None:
    if not is_shared(case):
        return None
    share, shards = case.generator("cpu_share"), case.generator("shards")
    return None if share is None or shards is None else share * shards


def is_full(case: Case) -> bool:
    """Whether the host's cores are known to be used up."""
    busy = busy_share(case)
    return busy is not None and busy >= FULL
