"""Others use the cores: processes on the host, or other guests of its hypervisor."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import cpu_of, server_cores
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

OTHERS = 0.2
"""[P] kernel threads that work for the server count as others: on two quiet cores that came to
0.05 to 0.1 of the cores."""

CROWDED = 0.85
"""[P] while cores are free, others take nothing from the server."""

STEAL = 0.05
"""[P] DIAGNOSIS 18."""


def judge(case: Case) -> Finding | None:
    """Cores at work less those of server, generator and interrupts, on a host that is full."""
    case.needed(server_cores(case))
    cpu = cpu_of(case)
    others = cpu.others or 0.0
    if others < OTHERS or cpu.busy < CROWDED:
        return None
    return Finding(
        cause="noisy-neighbour",
        group="validity",
        sentence=(
            f"Other processes use {num(others * cpu.cores)} of the server host's "
            f"{num(cpu.cores)} cores, and none is free ({pct(cpu.busy)} busy; the server has "
            f"{num((cpu.server or 0.0) * cpu.cores)}): do not compare these figures."
        ),
        evidence=(
            case.seen("CPU of others", others, "of the cores", OTHERS),
            case.seen("CPU busy", cpu.busy, "of the cores", CROWDED),
            case.seen("CPU of the server", cpu.server or 0.0, "of the cores"),
        ),
        share=others,
        confidence=0.9,
        remedy="Stop what else runs on the server's host, or give the server cores of its own.",
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
        sentence=(
            f"The hypervisor gave {pct(steal)} of the server host's cores to other guests: the "
            "figures are those of a smaller machine, and change with its neighbours."
        ),
        evidence=(case.seen("cpu.steal_s", steal, "of the cores", STEAL),),
        share=steal,
        confidence=0.9,
        remedy="Measure on a host without overcommitted cores, of no burstable class.",
    )


RULE = Rule("noisy-neighbour", say("other programs on the host"), judge)
STEAL_RULE = Rule("steal", say("CPU time goes to other virtual machines"), judge_steal)
