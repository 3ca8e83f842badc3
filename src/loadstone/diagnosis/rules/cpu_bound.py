"""The server host's cores are used up."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, Cpu, cpu_of
from loadstone.diagnosis.holds import CORES, rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import cheaper_way
from loadstone.model.figure import Number, Percent, Short
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Joined, Message, say

SURE = 0.95
"""[S] Huawei's "high pressure"."""

NEARLY = 0.85
"""[P] Use of all cores from which they are too few if users wait longer for one than they have it.
Of 40 healthy runs one was at 0.79, with 4 users on two cores who waited a third of their time."""

ONE = 0.95
"""[P] Use of the busiest core from which that core is the limit."""

REST = 0.75
"""[P] Use of all cores together, below which one full core is the limit."""

ENOUGH_USERS = 2.0
"""[P] Users per core from which one full core is a limit: fewer users cannot fill all cores, and a
server and a generator that alternate often run on the same one.
"""

OWN = 0.3
"""[P] Smallest share of the cores with which the server (with what drives it) fills the host."""


def judge(case: Case) -> Finding | None:
    """All cores are busy, and the server (with what drives it) uses them."""
    cpu = cpu_of(case)
    waits = _waits_most(case) if NEARLY <= cpu.busy < FULL else None
    if cpu.busy < FULL and waits is None:
        return None
    if cpu.server is not None and cpu.server + (cpu.generator or 0.0) < OWN:
        return None
    return Finding(
        cause="cpu-bound",
        group="ceiling",
        sentence=_used_up(case, cpu) if waits is None else _too_few(case, cpu, waits.value),
        evidence=(
            case.seen(say("CPU busy"), cpu.busy, say("of the cores"), FULL)
            if waits is None
            else waits,
        ),
        share=cpu.busy,
        confidence=0.95 if cpu.busy >= SURE else 0.8,
        remedy=_remedy(cpu),
        trial=cheaper_way(case),
        acts_on="server CPU",
    )


def _waits_most(case: Case) -> Evidence | None:
    """The users' time without a core, if it is more than that on one, and both more than all else.

    A core goes to any thread that is ready, and is idle only when none is: where the queue is as
    long as what runs, the cores are full whenever they are wanted, however idle they are between.
    """
    waits, works = case.time_at("waiting for a core"), case.time_at("on core")
    if not waits or not works or waits < works:
        return None
    elsewhere = 1.0 - (case.time_at("idle") or 0.0) - waits - works
    if elsewhere > waits + works:
        return None
    unit = say("of the users' time")
    return case.seen(say("ready to run, without a core"), waits, unit, works)


def judge_one_core(case: Case) -> Finding | None:
    """One core is full while others are idle: a single hot thread, or interrupts on one core."""
    cpu, busiest = cpu_of(case), case.needed(case.host("busiest_core"))
    if busiest < ONE or cpu.busy > REST or cpu.cores < 2:
        return None
    if case.users < ENOUGH_USERS * cpu.cores:
        return None
    if cpu.others is not None and cpu.others * cpu.cores >= 0.8:
        return None  # others may fill that core
    if cpu.generator is not None and cpu.generator * cpu.cores >= 0.8:
        return None  # or the generator
    return Finding(
        cause="one-hot-core",
        group="ceiling",
        sentence=say(
            "One core is at {busiest} while all together are at {all}: a single thread or the "
            "interrupts of one queue hold the rest back.",
            busiest=Percent(busiest),
            all=Percent(cpu.busy),
        ),
        evidence=(
            case.seen(say("busiest core"), busiest, say("of its time"), ONE),
            case.seen(say("CPU busy"), cpu.busy, say("of the cores"), REST),
        ),
        share=busiest,
        confidence=0.6,
        remedy=say(
            "Spread the interrupts (irqbalance, receive packet steering), let the server use all "
            "cores (taskset, cpuset), look for a single-threaded part with perf top."
        ),
        acts_on="hottest core",
    )


def _used_up(case: Case, cpu: Cpu) -> Message:
    return say(
        "The server host's {cores} cores are used up ({use}): {cost}.",
        cores=Number(cpu.cores),
        use=_use(cpu),
        cost=_cost(case, cpu),
    )


def _too_few(case: Case, cpu: Cpu, waits: float) -> Message:
    return say(
        "Users are ready to run, without a core, {share} of their time, longer than on one: the "
        "server host's {cores} cores ({use}) are too few when they are needed; {cost}.",
        share=Percent(waits),
        cores=Number(cpu.cores),
        use=_use(cpu),
        cost=_cost(case, cpu),
    )


def _remedy(cpu: Cpu) -> Message:
    if (cpu.generator or 0.0) <= 0.1:
        return say(
            "More or faster cores, or less work for each event: fewer statements, better indexes."
        )
    return say(
        "More or faster cores, or less work for each event: fewer statements, better indexes. Move "
        "the generator to another host."
    )


def _use(cpu: Cpu) -> Joined:
    """The use of the cores: `97 % busy; the server 60 %, the generator 30 %`."""
    parts: list[Message] = []
    if _counts(cpu.server):
        parts.append(say("the server {share}", share=Percent(cpu.server)))
    if _counts(cpu.generator):
        parts.append(say("the generator {share}", share=Percent(cpu.generator)))
    if _counts(cpu.others):
        parts.append(say("other programs {share}", share=Percent(cpu.others)))
    if _counts(cpu.interrupts):
        parts.append(say("interrupts {share}", share=Percent(cpu.interrupts)))
    busy = say("{share} busy", share=Percent(cpu.busy))
    return Joined([busy, Joined(parts)] if parts else [busy], "clauses")


def _counts(part: float | None) -> bool:
    return part is not None and part >= 0.01


def _cost(case: Case, cpu: Cpu) -> Message:
    own = cpu.server if cpu.server is not None else cpu.busy
    if not case.tps:
        return say("no event succeeded meanwhile")
    micro = own * cpu.cores / case.tps * 1e6
    if micro >= 1000:
        milli = Short(micro / 1000)
        return say("each event takes {milliseconds} ms of the server's CPU", milliseconds=milli)
    return say("each event takes {microseconds} µs of the server's CPU", microseconds=Short(micro))


RULE = Rule("cpu-bound", say("the CPU is used up"), judge, holds=rest_of(*CORES))
ONE_CORE_RULE = Rule("one-hot-core", say("one core is full"), judge_one_core, holds=rest_of(*CORES))
