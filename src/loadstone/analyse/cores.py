"""Who used a host's cores: one definition for ceilings, predictions, findings and notes."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.observed import BETWEEN_CPU, SHARED_HOST
from loadstone.model.result import HostFigures, StepResult

_INTERRUPTS = ("cpu.irq_s", "cpu.softirq_s")

NEIGHBOURS = 0.1
"""Share of the cores above which the work of other processes is separated from the load's."""


@dataclass(frozen=True)
class LoadCores:
    """The cores that a load may use, and those that it used. All are means over the window."""

    allowed: float
    """Cores that it may use: a limit, or those of the host without other processes' work."""
    used: float
    """Cores that it used."""
    others: float
    """Cores that other processes used, if these were separated from the load's, and other clients'
    sessions in the server."""
    total: float
    """Cores that it could use if nobody else did: the limit, or all of the host."""
    is_limited: bool
    """Whether a limit below the host's cores applies, which is the server's alone."""
    is_shared: bool
    """Whether the generator uses the same cores."""


def load_cores(
    step: StepResult, limit: float | None = None, *, is_limited: bool = True
) -> LoadCores | None:
    """The cores of a step's load; `None` if its host does not report them.

    Args:
        step: with the figures of the server's host.
        limit: cores that the server may use; `None`: as the host reports it.
        is_limited: whether what the host reports holds.
    """
    host = step.host
    if host is None:
        return None
    process = process_cores(step)
    if limit is None and is_limited:
        limit = cores_allowed(host)
    clients = client_cores(step)
    if limit is not None and process:
        used = max(process - clients, 0.0)
        allowed = max(limit - clients, used)
        return LoadCores(allowed, used, clients, limit, is_limited=True, is_shared=False)
    busy = busy_cores(host)
    if busy is None or host.cores is None:
        return None
    shared = host.facts.get(SHARED_HOST) == "yes"
    others = _others_of(step, host, busy, shared=shared)
    if others <= NEIGHBOURS * host.cores:
        others = 0.0
    others = min(others + clients, busy)
    capacity = host.cores * (1 - (host.cpu_steal or 0.0))
    allowed = max(capacity - others, 0.0)
    return LoadCores(
        allowed, busy - others, others, float(host.cores), is_limited=False, is_shared=shared
    )


def cores_allowed(host: HostFigures) -> float | None:
    """The server's cores, where a cgroup quota or an affinity limits them."""
    found = [host.means.get(name) for name in ("cgroup.cpu_cores", "process.cpus_allowed")]
    least = min((cores for cores in found if cores is not None), default=None)
    return least if least is not None and host.cores and least < host.cores else None


def process_cores(step: StepResult) -> float | None:
    """Cores that the server's process used; `None`: not observed.

    At least as many as its sessions: those of a server with thousands of processes are read in
    turn, in ticks, and what most of them use in a step is less than one.
    """
    host = step.host
    if host is None or host.process_cpu_user is None or host.process_cpu_sys is None:
        return None
    known = step.account.cores if step.account and not step.other_targets else None
    sessions = known.users + known.others if known else 0.0
    return max(host.process_cpu_user + host.process_cpu_sys, sessions)


def client_cores(step: StepResult) -> float:
    """Cores that other clients' sessions used in the server, as the kernel counts their threads.

    0 where nobody looked at the threads.
    """
    known = step.account.cores if step.account else None
    return known.others if known else 0.0


def busy_cores(host: HostFigures) -> float | None:
    """Busy cores, without the time that the hypervisor gave to others."""
    if host.cores is None or host.cpu_idle is None:
        return None
    idle = host.cpu_idle + (host.cpu_iowait or 0.0) + (host.cpu_steal or 0.0)
    return max(host.cores * (1 - idle), 0.0)


def interrupt_cores(host: HostFigures, busy: float, own: float) -> float:
    """Cores that handled interrupts: of disks and network, so mostly for the load.

    `busy` and `own` are as for `other_cores`. What programs' time has is left out: a kernel that
    does not take interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING) also counts their time for the
    program that was interrupted.
    """
    handling = sum(host.rates.get(name, 0.0) for name in _INTERRUPTS)
    return min(handling, _beside_the_load(host, busy, own))


def other_cores(host: HostFigures, busy: float, own: float) -> float:
    """Cores that other programs used: the busy ones minus those of the load and of interrupts.

    `busy` and `own` (the server's and the generator's processes) are numbers of cores. A pooler or
    proxy on that host that the load goes through is the load's.
    """
    others = _beside_the_load(host, busy, own) - interrupt_cores(host, busy, own)
    return min(others, float(host.cores or 0))


def _beside_the_load(host: HostFigures, busy: float, own: float) -> float:
    return max(busy - own - host.rates.get(BETWEEN_CPU, 0.0), 0.0)


def _others_of(step: StepResult, host: HostFigures, busy: float, *, shared: bool) -> float:
    """Cores that other processes use; interrupts count as the load's own."""
    process = process_cores(step)
    if process is None:
        return 0.0
    generator = step.generator
    drives = (generator.cpu_share or 0.0) * (generator.shards or 0) if shared else 0.0
    return other_cores(host, busy, process + drives)
