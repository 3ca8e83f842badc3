"""Shown, the opposite, or not shown here: on made-up steps whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from analyse.made import a_step
from loadstone.analyse.comparison import compare
from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import PlannedStep, schedule
from loadstone.model.language import in_language
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import HostFigures, ServerFigures, StepResult
from loadstone.recipes.answer import Found, answer, answer_of, named
from loadstone.recipes.filling import Filled, fill
from loadstone.recipes.recipe import recipe

Make = Callable[[PlannedStep], StepResult]
Seconds = Callable[[PlannedStep], list[float]]


def filled_of(name: str, *given: str, is_root: bool = True) -> Filled:
    return fill(recipe(name), given, quick=True, is_root=is_root)


def answered(filled: Filled, make: Make, seconds: Seconds | None = None) -> list[str]:
    """The line `here` for each observation of the field."""
    machine = Machine(is_root=True, cores=64)
    experiment = parse_experiment(filled.text, filled.name, machine).experiment
    steps = [made(planned, make) for planned in schedule(experiment)]
    known = {each.step.number: seconds(each) for each in schedule(experiment)} if seconds else {}
    found = Found(experiment, compare(experiment, steps, known))
    lines = list(answer(filled, found))
    assert {line[:8] for line in lines} <= {"field:  ", "here:   ", "        "}
    told = "\n".join(lines).replace("\n        ", "; ").splitlines()
    assert [line[:8] for line in told] == ["field:  ", "here:   "] * len(filled.expect)
    return [line[8:] for line in told[1::2]]


def made(planned: PlannedStep, make: Make) -> StepResult:
    step = planned.step
    named = {
        "step": step.number,
        "variant": step.variant,
        "workload": step.workload,
        "concurrency": step.concurrency,
        "repeat": step.repeat,
    }
    return make(planned).model_copy(update=named)


def wobble(planned: PlannedStep) -> float:
    """A tenth of a percent up and down, so that there is a spread to judge by."""
    return 1 + 0.001 * (planned.step.number % 3)


def by_users(sizes: dict[int, float]) -> Make:
    def make(planned: PlannedStep) -> StepResult:
        carried = sizes[planned.step.concurrency] * wobble(planned)
        server = ServerFigures(
            seconds=10.0, transactions_per_sync=carried, bytes_per_sync=1000 * carried
        )
        return a_step(tps=1000 * wobble(planned), server=server)

    return make


def test_a_ladder_that_rises_is_shown_with_its_ends() -> None:
    grouped, larger = answered(
        filled_of("group-commit"), by_users({1: 1.0, 4: 1.5, 16: 4.0, 64: 9.0})
    )
    assert grouped == "shown: transactions/sync: 1.00 with 1 user, 9.01 with 64 users"
    assert larger.startswith("shown: log KB/sync: ")


@pytest.mark.parametrize("highest", [1.0, 1.02, 0.5])
def test_a_ladder_that_does_not_rise_by_the_margin_is_not_shown(highest: float) -> None:
    lines = answered(filled_of("group-commit"), by_users({1: 1.0, 4: 1.0, 16: 1.0, 64: highest}))
    assert {line.split(":")[0] for line in lines} == {"not so here"}


def test_a_ladder_that_was_not_observed_is_not_evaluated() -> None:
    lines = answered(filled_of("group-commit"), lambda planned: a_step(tps=100.0))
    assert {line.split(":")[0] for line in lines} == {"not evaluated"}


def by_variant(rates: dict[str, float], cpu: dict[str, float]) -> Make:
    def make(planned: PlannedStep) -> StepResult:
        (name,) = (key for key in rates if key in planned.step.variant)
        cores = cpu[name] * wobble(planned)
        host = HostFigures(seconds=10.0, process_cpu_user=cores, process_cpu_sys=0.0)
        return a_step(tps=rates[name] * wobble(planned), host=host)

    return make


@pytest.mark.parametrize(
    ("encrypted", "head"),
    [(800.0, "shown"), (1000.0, "no difference here"), (1300.0, "the opposite")],
)
def test_verdicts_are_held_against_what_the_field_saw(encrypted: float, head: str) -> None:
    rates = {"tls=off": 1000.0, "tls=on": encrypted}
    verdict, cost = answered(filled_of("tls"), by_variant(rates, {"tls=off": 1.0, "tls=on": 1.0}))
    assert verdict.startswith(f"{head}: 32 users: ")
    if head == "no difference here":
        assert "no difference within 3 %" in verdict
    more_by_event = encrypted < 1000
    assert cost.startswith("shown" if more_by_event else "not so here")


@pytest.mark.parametrize(
    ("outliers", "head"), [(1, "shown: "), (3, "undecided: ")], ids=["one", "half"]
)
def test_a_figure_that_overlaps_in_some_repeats_is_judged_by_chance(
    outliers: int, head: str
) -> None:
    """Each event takes 15 % more of the server's CPU with TLS, but not in all repeats."""

    def make(planned: PlannedStep) -> StepResult:
        is_late = planned.step.variant.startswith("tls=off") and planned.step.repeat <= outliers
        cores = 1.15 if "tls=on" in planned.step.variant else 1.3 if is_late else 1.0
        host = HostFigures(seconds=10.0, process_cpu_user=cores, process_cpu_sys=0.0)
        return a_step(tps=1000.0 * wobble(planned), host=host)

    _, cost = answered(filled_of("tls", "repeats=8"), make)
    assert cost.startswith(head), cost


def test_two_repeats_are_too_few_for_a_figure() -> None:
    rates = {"tls=off": 1000.0, "tls=on": 800.0}
    make = by_variant(rates, {"tls=off": 1.0, "tls=on": 1.0})
    _, cost = answered(filled_of("tls", "repeats=2"), make)
    few = "undecided: server CPU µs/event (fewer than 3 repeats that count): "
    assert cost.startswith(few)
    heading = in_language("zh").value(named("server_us"))
    assert heading == "服务器 CPU µs/事件"


def test_what_a_line_carries_is_reckoned_from_the_bytes() -> None:
    def make(planned: PlannedStep) -> StepResult:
        # 10 s of 200 events, 62,500 bytes each: 100 Mbit/s.
        return a_step(tps=200.0, bytes_in=125_000_000, bytes_out=1_000_000)

    slow, fast = answered(filled_of("network", "slow_rate=50Mbit", is_root=False), make)
    assert slow == (
        "a network of 50Mbit, without what TCP and IP add: oltp_read_write, 32 users: "
        "200 tps are 100 Mbit/s, so the network carries 100 tps at most"
    )
    assert "the network carries 2,000 tps at most" in fast


def test_a_sale_tells_what_it_waits_for_and_each_factor_has_its_verdict() -> None:
    def make(planned: PlannedStep) -> StepResult:
        relaxed = "durability=relaxed" in planned.step.variant
        tps = (2000.0 if relaxed else 1000.0) * wobble(planned)
        server = ServerFigures(
            seconds=10.0,
            rates={"row_lock_time_s": 80.0, "redo_file_wait_s": 0.5, "binlog_file_wait_s": 0.5},
        )
        host = HostFigures(seconds=10.0, process_cpu_user=0.5, process_cpu_sys=0.5)
        return a_step(tps=tps, server=server, host=host)

    costs, detection, durability = answered(filled_of("flash-sale"), make)
    assert "; detection=on,durability=full: " in costs
    assert "40.0 wait for the row and 0.500 for the log's flush" in costs
    assert detection.startswith(
        "no difference here; detection=off,durability=full, 96 users: no diff"
    )
    assert durability.startswith("shown; detection=on,durability=relaxed, 96 users: faster, +")


@pytest.mark.parametrize(
    ("lowest", "once_even", "said"),
    [
        (20.0, None, "shown; oltp_read_write, 32 users: "),
        (20.0, 2, "not so here; oltp_read_write, 32 users: "),  # so it may have been chance
        (92.0, None, "not so here; oltp_read_write, 32 users: "),
        (None, None, "not evaluated: no level has 3 repeats that count"),
    ],
)
def test_swings_are_told_where_a_level_varies_more_than_the_first(
    lowest: float | None, once_even: int | None, said: str
) -> None:
    def seconds(planned: PlannedStep) -> list[float]:
        lower = lowest if planned.step.variant == "database=c" else 95.0
        if planned.step.repeat == once_even:
            lower = 95.0
        return [] if lowest is None or lower is None else [100.0, 100.0, lower, 100.0]

    rates = {f"database={name}": 100.0 for name in "abc"}
    make = by_variant(rates, dict.fromkeys(rates, 1.0))
    *_, told = answered(filled_of("three-databases"), make, seconds)
    assert told.startswith(said)
    if lowest == 20.0:
        varies = "seconds vary by 2.5 % of the mean with database=a, by 50 % with database=c"
        assert told.count(varies) == 3


def test_what_is_not_said_of_a_version_is_only_told() -> None:
    rates = {"server=a": 1000.0, "server=b": 900.0}
    (told,) = answered(filled_of("versions"), by_variant(rates, {"server=a": 1.0, "server=b": 1.0}))
    assert told.startswith("b against the first; oltp_point_select, 32 users: ")


def test_a_step_that_may_not_be_quoted_is_no_evidence() -> None:
    def make(planned: PlannedStep) -> StepResult:
        return by_users({1: 1.0, 4: 1.0, 16: 1.0, 64: 9.0})(planned).model_copy(
            update={"steady": False}
        )

    lines: Sequence[str] = answered(filled_of("group-commit"), make)
    assert {line.split(":")[0] for line in lines} == {"not evaluated"}


def test_a_recipe_that_has_changed_since_gives_no_answer() -> None:
    filled = filled_of("group-commit")
    machine = Machine(is_root=True, cores=64)
    experiment = parse_experiment(filled.text, filled.name, machine).experiment
    asked = RecipeAsked(name="group-commit", quick=True, given=("gone=1",), as_root=True)
    lines = list(answer_of(asked, experiment, compare(experiment, [], {})))
    assert lines == ["note  no answer: the recipe group-commit has changed since"]


def test_an_answer_can_be_said_in_chinese() -> None:
    filled = filled_of("versions")
    machine = Machine(is_root=True, cores=64)
    experiment = parse_experiment(filled.text, filled.name, machine).experiment
    make = by_variant(
        dict.fromkeys(("server=a", "server=b"), 900.0), {"server=a": 1, "server=b": 1}
    )
    steps = [made(planned, make) for planned in schedule(experiment)]
    lines = list(answer(filled, Found(experiment, compare(experiment, steps, {}))))
    field, here, first, *_ = map(in_language("zh"), lines)
    assert field == "实践：  哪个更快取决于负载；b 与 a 比较。"
    assert here == "这里：  b 与第一个相比"
    assert first.startswith("        oltp_point_select、32 并发：差异在 3% 以内")
