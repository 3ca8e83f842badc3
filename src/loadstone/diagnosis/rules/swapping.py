"""The host has too little memory."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, size

FAULTS = 10.0
"""[P] page faults a second of the server's own process that read a disk: where it has fewer, it is
others on the host that swap."""

FAULT_S = 100e-6
"""[P] of one such fault: swap in memory (zram) 20 to 50 µs, a solid-state disk 100 to 1000."""

MANY = 200.0
"""[P] such faults a second from which it is the server's program that is read again and again, for
want of memory in its control group or of swap."""

PAGES = 100.0
"""[P] pages a second to and from swap: USE's saturation of memory is any; a few are history."""


def judge(case: Case) -> Finding | None:
    """Pages go to swap and come back, or what is mapped is read from its files again and again."""
    into = case.needed(case.host_rate("memory.swap_in_pages"))
    out = case.needed(case.host_rate("memory.swap_out_pages"))
    faults = case.host("major_faults_per_s")
    swaps = into >= PAGES and out >= PAGES / 10 and (faults is None or faults >= FAULTS)
    if not swaps and (faults or 0.0) < MANY:
        return None
    waiting = (into if faults is None else faults) * FAULT_S
    limit = case.host_mean("cgroup.memory_limit_bytes")
    evidence = [case.seen("memory.swap_in_pages", into, "pages/s", PAGES)]
    if faults is not None:
        evidence.append(case.seen("major_faults_per_s", faults, "/s", FAULTS))
    if limit:
        evidence.append(case.seen("cgroup.memory_limit_bytes", limit, "B"))
    return Finding(
        cause="swapping",
        group="validity",
        sentence=_sentence(into, out, faults) if swaps else _thrashes(faults or 0.0, limit),
        evidence=tuple(evidence),
        share=min(waiting / max(case.users, 1), 1.0),
        confidence=0.8,
        remedy="A smaller innodb_buffer_pool_size or fewer connections, or more memory.",
    )


def _sentence(into: float, out: float, faults: float | None) -> str:
    return (
        f"The server's host swaps: {num(into)} pages/s come back, {num(out)} go"
        + (f", and the server itself waits for {num(faults)} a second" if faults else "")
        + ": the figures are those of a machine with too little memory."
    )


def _thrashes(faults: float, limit: float | None) -> str:
    """Without swap the kernel takes the pages of programs, which it reads again from files."""
    within = f" within its control group's {size(limit)}" if limit else ""
    return (
        f"The server has too little memory{within}: it waits for {num(faults)} page faults a "
        "second that read a disk."
    )


RULE = Rule("swapping", say("memory is swapped to disk"), judge)
