"""A drawn fault measured: the same load with and without it, and one run's findings with it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any

from benches.processes import ProgramFailed
from faults import injections
from faults.case import both
from faults.drawn.cost import ROUND, Cost, Rate, cost_of, needs_another_round
from faults.drawn.drawn import Drawn
from faults.drive import Asked, Driven, diagnosed, drive
from faults.ground import Ground, ReadyServer


@dataclass(frozen=True)
class Ran:
    """One run of the load."""

    with_fault: bool
    tps: float
    driven: Driven


@dataclass(frozen=True)
class Measured:
    """All runs of a drawn fault."""

    drawn: Drawn
    runs: tuple[Ran, ...]
    cost: Cost
    findings: tuple[dict[str, Any], ...]
    """Of the run with the fault that is judged, the most telling first."""
    took_s: float

    @property
    def judged(self) -> Ran:
        """The run with the fault that is judged."""
        return _judged(self.runs)

    @property
    def without(self) -> Ran:
        """The first run without it."""
        return next(run for run in self.runs if not run.with_fault)


def measure(ground: Ground, drawn: Drawn, asked: Asked) -> Measured:
    """As many rounds as it takes to know whether the fault counts.

    Raises:
        SandboxError, ProgramFailed: it cannot be done here.
    """
    begun = time.monotonic()
    runs: list[Ran] = []
    with ExitStack() as stack:
        # One server for all runs, where the fault comes and goes while it is up.
        standing = (
            None if drawn.own_server else stack.enter_context(_standing(ground, drawn, False))
        )
        while True:
            runs += [_run(ground, standing, drawn, there, asked) for there in ROUND]
            rates = [_rate(run) for run in runs]
            if not needs_another_round(rates):
                break
    findings = diagnosed(_judged(runs).driven.run, asked.runs)
    seconds = time.monotonic() - begun
    return Measured(drawn, tuple(runs), cost_of(rates), findings, seconds)


def _standing(ground: Ground, drawn: Drawn, there: bool) -> AbstractContextManager[ReadyServer]:
    settings = {**drawn.fault.settings, **(drawn.start if there else {})}
    return ground.standing(drawn.release, replace(drawn.fault, settings=settings))


def _run(
    ground: Ground, standing: ReadyServer | None, drawn: Drawn, there: bool, asked: Asked
) -> Ran:
    with ExitStack() as stack:
        server = standing or stack.enter_context(_standing(ground, drawn, there))
        fault = drawn.fault.inject if there else injections.nothing
        name = f"drawn-{drawn.number}-{'with' if there else 'without'}"
        driven = drive(server, drawn.fault.load, both(drawn.always, fault), asked, name)
    (tps,) = driven.tps
    if tps is None:
        raise ProgramFailed("a run has no rate")
    # A fault may stop everything: then less than one event came in the window.
    return Ran(there, max(tps, 1 / asked.seconds), driven)


def _judged(runs: Sequence[Ran]) -> Ran:
    """The first run with the fault in which it acted: another client may never have come to it."""
    there = [run for run in runs if run.with_fault]
    return next((run for run in there if run.driven.effect.bites), there[0])


def _rate(run: Ran) -> Rate:
    return run.with_fault, run.tps
