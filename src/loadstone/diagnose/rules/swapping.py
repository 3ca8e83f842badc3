"""The host has too little memory."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.words import num
from loadstone.model.finding import Finding

FAULTS = 10.0
"""[P] page faults a second of the server's own process that read a disk: where it has fewer, it is
others on the host that swap."""

FAULT_S = 100e-6
"""[P] of one such fault: swap in memory (zram) 20 to 50 µs, a solid-state disk 100 to 1000."""

PAGES = 100.0
"""[P] pages a second to and from swap: USE's saturation of memory is any; a few are history."""


def judge(case: Case) -> Finding | None:
    """Pages go to swap and come back."""
    into = case.needed(case.host_rate("memory.swap_in_pages"))
    out = case.needed(case.host_rate("memory.swap_out_pages"))
    faults = case.host("major_faults_per_s")
    if into < PAGES or out < PAGES / 10 or (faults is not None and faults < FAULTS):
        return None
    waiting = (into if faults is None else faults) * FAULT_S
    return Finding(
        cause="swapping",
        group="validity",
        sentence=(
            f"The server's host swaps: {num(into)} pages/s come back, {num(out)} go"
            + (f", and the server itself waits for {num(faults)} a second" if faults else "")
            + ": the figures are those of a machine with too little memory."
        ),
        evidence=(
            case.seen("memory.swap_in_pages", into, "pages/s", PAGES),
            *([case.seen("major_faults_per_s", faults, "/s", FAULTS)] if faults else []),
        ),
        share=min(waiting / max(case.users, 1), 1.0),
        confidence=0.8,
        remedy="A smaller innodb_buffer_pool_size or fewer connections, or more memory.",
    )


RULE = Rule("swapping", judge)
