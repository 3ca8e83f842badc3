"""Others use the cores: processes on the host, or other guests of its hypervisor."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import cpu_of, server_cores
from loadstone.diagnosis.holds import Holds, part_of_stolen_cores, part_of_waits
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.waits_for_threads import with_waits_for
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say

OTHERS = 0.2
"""[P] Share of the cores. Kernel threads that work for the server count as others: on two quiet
cores they took 0.05 to 0.1 of the cores.
"""

CROWDED = 0.85
"""[P] Use of the cores from which others take something from the server."""

STEAL = 0.05
"""[P] Share of the cores (DIAGNOSIS 18)."""


def judge(case: Case) -> Finding | None:
    """Busy cores minus those of server, generator and interrupts, on a host that is full."""
    case.needed(server_cores(case))
    cpu = cpu_of(case)
    others = cpu.others or 0.0
    if others < OTHERS or cpu.busy < CROWDED:
        return None
    return Finding(
        cause="noisy-neighbour",
        group="validity",
        sentence=say(
            "Other programs use {others} of the server host's {cores} cores, and none is free "
            "({level}: {busy} busy, the server {own}): do not compare these figures.",
            others=Percent(others),
            cores=Number(cpu.cores),
            level=case.level,
            busy=Percent(cpu.busy),
            own=Percent(cpu.server or 0.0),
        ),
        evidence=(
            case.seen(say("CPU of others"), others, say("of the cores"), OTHERS),
            case.seen(say("CPU busy"), cpu.busy, say("of the cores"), CROWDED),
            case.seen(say("CPU of the server"), cpu.server or 0.0, say("of the cores")),
        ),
        share=others,
        confidence=0.9,
        remedy=say(
            "Stop what else runs on the server's host, or give the server cores of its own."
        ),
        acts_on="server CPU",
    )


def judge_steal(case: Case) -> Finding | None:
    """The hypervisor gave the cores to other guests."""
    steal = case.needed(case.host("cpu_steal"))
    if steal < STEAL:
        return None
    return Finding(
        cause="steal",
        group="validity",
        sentence=say(
            "The hypervisor gave {steal} of the server host's cores to other guests: the "
            "figures are those of a smaller machine, and change with its neighbours.",
            steal=Percent(steal),
        ),
        evidence=(case.seen(plain("cpu.steal_s"), steal, say("of the cores"), STEAL),),
        share=steal,
        confidence=0.9,
        remedy=say(
            "Measure on a host whose cores are not overcommitted and not of a burstable class."
        ),
    )


def _holds(case: Case) -> Holds | None:
    """Of the wait for a core their part, and of the waits for threads that wait for one."""
    account, others = case.step.account, cpu_of(case).others
    if account is None or others is None:
        return None
    return part_of_waits(with_waits_for(account, {}, {"waiting for a core": others}))


RULE = Rule(
    "noisy-neighbour",
    say("other programs on the host"),
    judge,
    holds=part_of_waits(),
    holds_in=_holds,
)
STEAL_RULE = Rule(
    "steal",
    say("CPU time goes to other virtual machines"),
    judge_steal,
    holds=part_of_stolen_cores(),
)
