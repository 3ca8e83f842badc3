"""The host has too little memory."""

from __future__ import annotations

from loadstone.diagnosis import session_memory
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, PAGE_READS, PAGE_WAITS, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Bytes, Number
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

FAULTS = 10.0
"""[P] Page faults per second of the server's own process that read a disk: if it has fewer, others
on the host swap.
"""

FAULT_S = 100e-6
"""[P] Time of one such fault: swap in memory (zram) takes 20 to 50 µs, a solid-state disk 100 to
1000.
"""

OF_THE_DISK = 0.5
"""[P] Reads of the data's disk for each fault, from which faults read it: neighbours are merged."""

MANY = 200.0
"""[P] Such faults per second from which the server's program itself is read repeatedly, because its
control group lacks memory, or there is no swap.
"""

PAGES = 100.0
"""[P] Pages per second to and from swap: for USE any is saturation; a few are history."""


def judge(case: Case) -> Finding | None:
    """Pages go to swap and come back, or mapped files are read repeatedly."""
    into = case.needed(case.host_rate("memory.swap_in_pages"))
    out = case.needed(case.host_rate("memory.swap_out_pages"))
    faults = case.host("major_faults_per_s")
    swaps = into >= PAGES and out >= PAGES / 10 and (faults is None or faults >= FAULTS)
    if not swaps and (faults or 0.0) < MANY:
        return None
    waiting = (into if faults is None else faults) * _fault_s(case, faults)
    limit = case.host_mean("cgroup.memory_limit_bytes")
    evidence = [case.seen(plain("memory.swap_in_pages"), into, say_in("unit", "pages/s"), PAGES)]
    if faults is not None:
        evidence.append(
            case.seen(plain("major_faults_per_s"), faults, say_in("unit", "/s"), FAULTS)
        )
    if limit:
        evidence.append(case.seen(plain("cgroup.memory_limit_bytes"), limit, say_in("unit", "B")))
    sessions = session_memory.of_users(case)
    return Finding(
        cause="swapping",
        group="validity",
        sentence=sentences(
            _sentence(into, out, faults) if swaps else _thrashes(faults or 0.0, limit),
            *session_memory.said(sessions),
        ),
        evidence=(*evidence, *session_memory.evidence(case, sessions)),
        share=min(waiting / max(case.users, 1), 1.0),
        confidence=0.8,
        remedy=say(
            "A smaller {cache} or fewer connections, or more memory.", cache=case.page_cache
        ),
    )


def _fault_s(case: Case, faults: float | None) -> float:
    """The time of a fault: that of the disk's reads, where these are the faults' at least in part.

    Else swap is elsewhere, or in memory.
    """
    reads, await_ms = case.host("disk_read_iops"), case.host("disk_read_await_ms")
    if not faults or not await_ms or (reads or 0.0) < OF_THE_DISK * faults:
        return FAULT_S
    return max(FAULT_S, await_ms / 1000)


def _sentence(into: float, out: float, faults: float | None) -> Message:
    back, away = Number(into), Number(out)
    if not faults:
        return say(
            "The server's host swaps: {back} pages a second come back from swap and {out} go "
            "there: the figures are those of a machine with too little memory.",
            back=back,
            out=away,
        )
    return say(
        "The server's host swaps: {back} pages a second come back from swap and {out} go there, "
        "and the server itself waits for {faults} page faults a second: the figures are those of "
        "a machine with too little memory.",
        back=back,
        out=away,
        faults=Number(faults),
    )


def _thrashes(faults: float, limit: float | None) -> Message:
    """Without swap the kernel drops the pages of programs, and reads them from files again."""
    if not limit:
        return say(
            "The server has too little memory: it waits for {faults} page faults a second that "
            "read a disk.",
            faults=Number(faults),
        )
    return say(
        "The server has too little memory within its control group's {limit}: it waits for "
        "{faults} page faults a second that read a disk.",
        limit=Bytes(limit),
        faults=Number(faults),
    )


RULE = Rule(
    "swapping",
    say("memory is swapped to disk"),
    judge,
    holds=time_at(*PAGE_READS, *PAGE_WAITS, *CORES),
)
