"""The server host's cores are used up."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, Cpu, cpu_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import cheaper_way
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SURE = 0.95
"""[S] Huawei's "high pressure"."""

ONE = 0.95
"""[P] use of the busiest core from which it is a limit of its own."""

REST = 0.75
"""[P] while all cores together are below this."""

ENOUGH_USERS = 2.0
"""[P] users by core from which one full core is a limit: fewer cannot fill more cores than they
are, and server and generator that take turns are often put on the same one."""

OWN = 0.3
"""[P] the server's least part of the cores for which the host can be said to be full of it."""


def judge(case: Case) -> Finding | None:
    """All cores at work, and the server (with what drives it) is who uses them."""
    cpu = cpu_of(case)
    if cpu.busy < FULL:
        return None
    if cpu.server is not None and cpu.server + (cpu.generator or 0.0) < OWN:
        return None
    return Finding(
        cause="cpu-bound",
        group="ceiling",
        sentence=(
            f"The server host's {num(cpu.cores)} cores are used up ({pct(cpu.busy)} busy"
            f"{_whose(cpu)}): {_cost(case, cpu)}."
        ),
        evidence=(case.seen("CPU busy", cpu.busy, "of the cores", FULL),),
        share=cpu.busy,
        confidence=0.95 if cpu.busy >= SURE else 0.8,
        remedy=(
            "More or faster cores, or less work for each event: fewer statements, better indexes."
            + (" Move the generator to another host." if (cpu.generator or 0.0) > 0.1 else "")
        ),
        trial=cheaper_way(case),
        acts_on="server CPU",
    )


def judge_one_core(case: Case) -> Finding | None:
    """One core is full while others rest: a single hot thread, or interrupts on one core."""
    cpu, busiest = cpu_of(case), case.needed(case.host("busiest_core"))
    if busiest < ONE or cpu.busy > REST or cpu.cores < 2:
        return None
    if case.users < ENOUGH_USERS * cpu.cores:
        return None
    if cpu.others is not None and cpu.others * cpu.cores >= 0.8:
        return None  # that core may be theirs
    if cpu.generator is not None and cpu.generator * cpu.cores >= 0.8:
        return None  # or the generator's
    return Finding(
        cause="one-hot-core",
        group="ceiling",
        sentence=(
            f"One core is at {pct(busiest)} while all together are at {pct(cpu.busy)}: a single "
            "thread or the interrupts of one queue hold the rest back."
        ),
        evidence=(
            case.seen("busiest core", busiest, "of its time", ONE),
            case.seen("CPU busy", cpu.busy, "of the cores", REST),
        ),
        share=busiest,
        confidence=0.6,
        remedy=(
            "Spread the interrupts (irqbalance, receive packet steering), let the server use all "
            "cores (taskset, cpuset), look for a single-threaded part with perf top."
        ),
        acts_on="hottest core",
    )


def _whose(cpu: Cpu) -> str:
    parts = [("the server", cpu.server), ("the generator", cpu.generator), ("others", cpu.others)]
    known = [f"{who} {pct(part)}" for who, part in parts if part is not None and part >= 0.01]
    return f"; {', '.join(known)}" if known else ""


def _cost(case: Case, cpu: Cpu) -> str:
    own = cpu.server if cpu.server is not None else cpu.busy
    if not case.tps:
        return "no event succeeded meanwhile"
    micro = own * cpu.cores / case.tps * 1e6
    time = f"{micro / 1000:.3g} ms" if micro >= 1000 else f"{micro:.3g} µs"
    return f"each event takes {time} of the server's CPU"


RULE = Rule("cpu-bound", say("the CPU is used up"), judge)
ONE_CORE_RULE = Rule("one-hot-core", say("one core is full"), judge_one_core)
