"""Statements are compiled that are over sooner than that takes.

A plan whose estimated cost is above jit_above_cost is compiled each time that it is executed, which
is only worth it for statements that work for long.

Source: https://www.postgresql.org/docs/current/jit-decision.html
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import part_of_cores, parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import counted
from loadstone.diagnosis.rules.postgresql.versions import ROW_S
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in, sentences

LEAST_MS = 2.0
"""[P] CPU that compiling a statement takes at least: measured 2.8 ms for a lookup by its key, 35 ms
with optimization and inlining (PostgreSQL 15 with LLVM 14, an EPYC)."""

USUAL = 100_000.0
"""The default of jit_above_cost: few plans that look so expensive are over soon."""

PART = 0.5
"""[P] Part of the CPU that reading rows must leave unexplained."""

TIMES = 3.0
"""[P] A row that is sorted, joined or aggregated takes several times as long as reading it."""


LLVM_BYTES = 5 * 2**20
"""[P] Memory that a session has for itself, at least, once it has compiled a statement: measured
11.2 MiB, and 1.3 MiB in the same load without compiling (PostgreSQL 15 with LLVM 14)."""

MATTERS = 0.05
"""[P] Part of the CPU from which compiling counts where the server times it."""

_REMEDY = say(
    "Set jit=off, or raise jit_above_cost; EXPLAIN (ANALYZE) shows what compiling takes "
    "(JIT: Timing). Statistics that are out of date make plans look expensive: ANALYZE."
)


def judge(case: Case) -> Finding | None:
    """Compiling as pg_stat_statements times it, else CPU that no row explains."""
    on = case.needed(case.is_on("jit"))
    cost = case.needed(case.number("jit_above_cost"))
    timed = counted.cores_of(case, counted.compiling(case))
    if timed is not None:
        return _timed(case, cost, timed) if on and cost >= 0 else None
    return _estimated(case, cost, on=on)


def _timed(case: Case, cost: float, used: float) -> Finding | None:
    """What compiling takes is known, whatever the plans cost."""
    part = case.needed(part_of_cores(case, used))
    if part < MATTERS:
        return None
    return Finding(
        cause="jit",
        group="setting",
        sentence=sentences(
            say(
                "Statements are compiled (jit=on, jit_above_cost={cost}), which takes {share} of "
                "the server's CPU, as pg_stat_statements times it.",
                cost=Number(cost),
                share=Percent(part),
            )
            if server_cores(case)
            else say(
                "Statements are compiled (jit=on, jit_above_cost={cost}), which takes {share} of "
                "the users' time in the server, as pg_stat_statements times it.",
                cost=Number(cost),
                share=Percent(part),
            ),
            *counted.most_by(case, lambda one: one.jit_s),
        ),
        evidence=(
            case.seen(say("compiling's part of the CPU"), part, plain(""), MATTERS),
            case.seen(plain("jit_above_cost"), cost, plain("")),
        ),
        share=part,
        confidence=0.9,
        remedy=_REMEDY,
        trial=_without(case),
        acts_on="server CPU",
    )


def _without(case: Case) -> Trial | None:
    return dynamic(case, {"jit": "off"}, say("compiling statements"))


def _estimated(case: Case, cost: float, *, on: bool) -> Finding | None:
    """CPU per statement that the rows it reads do not explain, while plans may be compiled."""
    statements, work = case.step.qps, case.needed(_unexplained(case))
    cores = case.needed(server_cores(case))
    if not on or cost < 0 or not statements or not cores or _has_no_compiler(case):
        return None
    each, part = work / statements, min(work / cores, 1.0)
    if 1000 * each < LEAST_MS or part < PART:
        return None
    return Finding(
        cause="jit",
        group="setting" if cost < USUAL else "note",
        sentence=say(
            "Statements may be compiled each time (jit=on, jit_above_cost={cost}): each takes "
            "{each} ms of the server's CPU, and the rows that they read explain {rows} of it. "
            "Compiling one takes {least} ms or more.",
            cost=Number(cost),
            each=Number(1000 * cores / statements),
            rows=Percent(1 - part),
            least=Number(LEAST_MS),
        ),
        evidence=(
            case.seen(
                say("CPU without rows, per statement"), 1000 * each, say_in("unit", "ms"), LEAST_MS
            ),
            case.seen(plain("jit_above_cost"), cost, plain("")),
        ),
        share=part,
        # What functions, sorts and triggers of the load do is not counted.
        confidence=0.5,
        remedy=_REMEDY,
        trial=_without(case),
        acts_on="server CPU",
    )


def _has_no_compiler(case: Case) -> bool:
    """Whether sessions have so little memory that the compiler cannot have been loaded."""
    memory = case.step.account.memory if case.step.account else None
    return memory is not None and memory.users.each < LLVM_BYTES


def _unexplained(case: Case) -> float | None:
    """Cores that work on something else than reading rows."""
    cores, rows = server_cores(case), case.rate("pg_stat_database.target.tup_returned")
    return None if cores is None or rows is None else max(cores - TIMES * rows * ROW_S, 0.0)


def _holds(case: Case) -> Holds | None:
    timed = counted.cores_of(case, counted.compiling(case))
    if timed is None and _has_no_compiler(case):
        return None
    work = _unexplained(case) if timed is None else timed
    parts = parts_of_work(case, work) if work else {}
    return parts_of(parts) if parts else None


RULE = Rule("jit", say("statements are compiled"), judge, holds=part_of(*CORES), holds_in=_holds)
