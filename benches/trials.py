"""Whether verdicts can be trusted: hundreds of comparisons with a known truth.

Each trial is an experiment with the program's own defaults, run in this process by the code of
`loadstone experiment`: the order of steps, units, noise guard, effects, verdicts, and how many more
repeats are requested. A null server is compared with itself, and with one whose answers take
longer; the truth is in its log of answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from benches import hog, stamps
from benches.place import Asked
from benches.processes import ProgramFailed
from benches.progress import announce
from benches.report import Report
from benches.stepping import Stepping
from benches.verdicts import (
    LONGER,
    NULL,
    SANDBOX,
    SIDES,
    STRICT,
    Drift,
    Trial,
    Word,
    alike_table,
    apart_table,
    drift_table,
    longer_by,
)
from loadstone import engine
from loadstone.analyse.comparison import compare
from loadstone.analyse.experimental_units import Observed, contrasts, sides
from loadstone.analyse.repeat_until import more_wanted
from loadstone.analyse.verdict import Unit, Unpaired, verdicts
from loadstone.experiments.order import cell_of, order
from loadstone.experiments.schedule import schedule
from loadstone.model.engine_plan import Layout, LoadPlan, load_document
from loadstone.model.experiment import Experiment, Factor, Level, Rules
from loadstone.model.null_server import NullServerSettings
from loadstone.model.plan import Uniform, WarmupSeconds, WorkloadSpec
from loadstone.model.records import LoadEnd
from loadstone.model.result import StepResult
from loadstone.model.target import Endpoint, Target, Tls
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, start_sandbox

T = TypeVar("T")

_ALIKE, _ALIKE_SANDBOX, _APART, _DRIFTS = 200, 20, 100, 10
_SERVICE_US = 4000
_NULL_USERS, _SANDBOX_USERS = 24, 4
_NULL_S, _NULL_WARMUP_S = 0.2, 0.03
_SANDBOX_S, _SANDBOX_WARMUP_S = 0.4, 0.1
_TABLES, _TABLE_SIZE = 2, 10_000
_DRIFT_REPEATS, _MOST_OF_A_CORE = 8, 0.9
_MOST_MORE = 100
"""Repeats; a trial that asks for more counts as one that found nothing."""


def measure(asked: Asked, folder: Path) -> Report:
    """All trials, or the requested part of them."""

    def some(all_of_them: int) -> int:
        return max(round(asked.part * all_of_them), 1)

    trials: list[Trial] = []
    drifts: list[Drift] = []
    missing = _take("A/A", _null_with_itself(some(_ALIKE), folder), trials)
    for longer in LONGER:
        slower = _null_with_a_slower_one(some(_APART), longer, folder)
        missing += _take(longer_by(longer), slower, trials)
    try:
        with start_sandbox(SandboxSpec(server="mariadb")) as sandbox:
            _load(sandbox)
            alike = _sandbox_with_itself(some(_ALIKE_SANDBOX), sandbox)
            missing += _take("A/A of MariaDB", alike, trials)
            missing += _take("drifts", _under_a_drift(some(_DRIFTS), sandbox), drifts)
    except SandboxError as error:
        missing.append(f"a sandbox with itself, and under a drift: {error.message}")
    return Report(
        title="Verdicts: comparisons whose truth is known",
        tables=(alike_table(trials), apart_table(trials), drift_table(drifts)),
        readings=[*map(asdict, trials), *map(asdict, drifts)],
        notes=(
            f"oltp_point_select, {Experiment.model_fields['repeats'].default} repeats. Null server:"
            f" {_NULL_USERS} users, windows of {_NULL_S:g} s, answers after {_SERVICE_US / 2000:g}"
            f" to {1.5 * _SERVICE_US / 1000:g} ms. MariaDB: {_SANDBOX_USERS} users, windows of"
            f" {_SANDBOX_S:g} s. The truth is the ratio of what the null servers logged, over all"
            " trials of a row. A false alarm is a p-value at or below the level.",
            *(f"Not evaluated: {what}" for what in missing),
        ),
    )


def _take(what: str, some: Iterator[T], into: list[T]) -> list[str]:
    """Trials of a kind; if one fails, those before it count, and the error is reported."""
    before = len(into)
    try:
        for one in some:
            into.append(one)
    except ProgramFailed as error:
        return [f"{what}, after {len(into) - before}: {error}"]
    return []


Logged = Callable[[], dict[str, list[float]]]
"""Ends the servers, and reads the rates of their steps from their logs."""


@contextmanager
def _null_servers(
    folder: Path, seed: int, longer: float
) -> Iterator[tuple[dict[str, Endpoint], Logged]]:
    """Two of them; the answers of B take this much longer."""
    logs = {side: folder / f"{side}.log" for side in SIDES}
    servers = {side: engine.null_server(NullServerSettings(log=logs[side])) for side in SIDES}

    def logged() -> dict[str, list[float]]:
        for server in servers.values():
            server.stop()
        return {side: stamps.rates(logs[side], _NULL_USERS) for side in SIDES}

    for place, (side, server) in enumerate(servers.items()):
        mean_us = _SERVICE_US * (1 + longer * (side == "b"))
        # Equally long answers would come in waves, which windows would cut at arbitrary points.
        service = {"kind": "uniform", "from_us": mean_us / 2, "to_us": 1.5 * mean_us}
        server.set_script(json.dumps({"seed": 2 * seed + place, "service": service}))
    endpoints = {side: _endpoint_of(server) for side, server in servers.items()}
    try:
        yield endpoints, logged
    finally:
        for log in logs.values():
            log.unlink(missing_ok=True)


def _endpoint_of(server: engine.NullServer) -> Endpoint:
    tls = Tls(mode="disabled")
    return Endpoint(
        target=Target(host="127.0.0.1", port=server.port, user="u", database="sbtest", tls=tls)
    )


def _load(sandbox: Sandbox) -> None:
    layout = Layout(tables=_TABLES, table_size=_TABLE_SIZE)
    job = engine.load(load_document(LoadPlan(layout=layout), sandbox.tcp))
    while not isinstance(job.next(1.0), LoadEnd):
        announce("trials: loading tables")


def experiment_of(
    endpoints: Mapping[str, Endpoint], users: int, times_s: tuple[float, float], **more: object
) -> Experiment:
    """An experiment as written in a file; `times_s`: of a window and of the warm-up before it."""
    levels = tuple(Level(name=side, target=endpoints[side].target) for side in SIDES)
    window_s, warmup_s = times_s
    asked = {
        "name": "trial",
        "factors": (Factor(name="server", levels=levels),),
        "workloads": (
            WorkloadSpec(
                name="oltp_point_select",
                tables=_TABLES,
                table_size=_TABLE_SIZE,
                distribution=Uniform(),
            ),
        ),
        "ladder": (users,),
        "duration_s": window_s,
        "warmup": WarmupSeconds(warmup_s=warmup_s),
    }
    return Experiment.model_validate(asked | more)


def _null_with_itself(trials: int, folder: Path) -> Iterator[Trial]:
    for number in range(trials):
        announce(f"trials: the null server with itself, {number + 1} of {trials}")
        yield _null_trial(NULL, number, folder, (0.0, STRICT))


def _null_with_a_slower_one(trials: int, longer: float, folder: Path) -> Iterator[Trial]:
    for number in range(trials):
        name = longer_by(longer)
        announce(f"trials: a null server whose answers take {name}, {number + 1} of {trials}")
        yield _null_trial(name, number, folder, (longer, Rules().level))


def _null_trial(kind: str, number: int, folder: Path, how: tuple[float, float]) -> Trial:
    longer, level = how
    # No two trials of a run have the same answers.
    seed = number + round(1000 * longer) * _ALIKE
    with _null_servers(folder, seed, longer) as (endpoints, logged):
        experiment = experiment_of(
            endpoints, _NULL_USERS, (_NULL_S, _NULL_WARMUP_S), rules=Rules(level=level), seed=seed
        )
        asks = longer == experiment.rules.margin
        done, first, last, repeats = _carried_out(experiment, endpoints, asks=asks)
        return Trial(kind, number, first, last, repeats, _rates(done), logged())


def _sandbox_with_itself(trials: int, sandbox: Sandbox) -> Iterator[Trial]:
    endpoints = dict.fromkeys(SIDES, sandbox.tcp)
    times_s = (_SANDBOX_S, _SANDBOX_WARMUP_S)
    for number in range(trials):
        announce(f"trials: MariaDB with itself, {number + 1} of {trials}")
        experiment = experiment_of(
            endpoints, _SANDBOX_USERS, times_s, rules=Rules(level=STRICT), seed=number
        )
        done, first, last, repeats = _carried_out(experiment, endpoints, asks=False)
        yield Trial(SANDBOX, number, first, last, repeats, _rates(done), {})


def _carried_out(
    experiment: Experiment, endpoints: Mapping[str, Endpoint], *, asks: bool
) -> tuple[list[StepResult], Word, Word, int]:
    """Steps, their verdict, and with `asks` the verdict after the requested repeats."""
    stepping = Stepping(experiment, {f"server={side}": endpoints[side] for side in SIDES})
    done: list[StepResult] = []
    try:
        _go_on(experiment, stepping, done)
        first = last = judged(experiment, done)
        if asks and first.more and first.more <= _MOST_MORE:
            experiment = experiment.model_copy(update={"repeats": experiment.repeats + first.more})
            _go_on(experiment, stepping, done)
            last = judged(experiment, done)
    finally:
        stepping.close()
    return done, first, last, experiment.repeats


def _go_on(experiment: Experiment, stepping: Stepping, done: list[StepResult]) -> None:
    """Run all missing steps, and those that noise makes necessary."""
    for planned in order(experiment, done, more_wanted(experiment), lambda number, why: None):
        done.append(stepping.drive(planned.step))


def judged(experiment: Experiment, done: Sequence[StepResult]) -> Word:
    """The verdict of `loadstone experiment` on these steps."""
    (cell,) = compare(experiment, done, {}).cells
    (compared,) = cell.compared
    return Word.of(compared.verdict)


def _rates(done: Sequence[StepResult]) -> dict[str, list[float]]:
    return {
        side: [step.tps or 0.0 for step in done if step.variant == f"server={side}"]
        for side in SIDES
    }


def _under_a_drift(runs: int, sandbox: Sandbox) -> Iterator[Drift]:
    endpoints = dict.fromkeys(SIDES, sandbox.tcp)
    times_s = (_SANDBOX_S, _SANDBOX_WARMUP_S)
    for number in range(runs):
        announce(f"trials: a hog that grows, {number + 1} of {runs}")
        experiment = experiment_of(
            endpoints,
            _SANDBOX_USERS,
            times_s,
            repeats=_DRIFT_REPEATS,
            rules=Rules(level=STRICT),
            seed=number,
        )
        steps = schedule(experiment)
        stepping = Stepping(experiment, {f"server={side}": endpoints[side] for side in SIDES})
        try:
            with hog.growing(len(steps) * sum(times_s), _MOST_OF_A_CORE):
                rates = tuple(stepping.drive(each.step).tps or 0.0 for each in steps)
        finally:
            stepping.close()
        yield Drift(number, rates, *in_both_orders(experiment, rates))


def in_both_orders(experiment: Experiment, rates: Sequence[float]) -> tuple[Word, Word]:
    """The same steps of the same server, called A and B alternately, or A first and then B."""
    seen = [
        Observed(
            variant=planned.step.variant,
            cell=cell_of(planned.step),
            unit=planned.unit,
            forward=planned.forward,
            rate=rate,
        )
        for planned, rate in zip(schedule(experiment), rates, strict=True)
    ]
    (contrast,) = contrasts(experiment)
    (turns,) = verdicts(list(sides(seen, contrast).values()), experiment.rules)
    units = [Unit(rate) for rate in rates]
    middle = len(units) // 2
    after = Unpaired(tuple(units[:middle]), tuple(units[middle:]))
    (blocks,) = verdicts([after], experiment.rules)
    return Word.of(turns), Word.of(blocks)
