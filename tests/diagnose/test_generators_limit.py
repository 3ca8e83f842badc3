"""The generator is named as the limit only with a figure that reached its threshold."""

from __future__ import annotations

import pytest

from diagnose.examples import FULL_OF_SERVER, IDLE
from diagnose.healthy import Made, a_case
from loadstone.analyse.ladder import levels
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules import client_bound
from loadstone.model.language import ENGLISH
from loadstone.model.plan import Rate
from loadstone.report.sentences import answer

QUIET: dict[str, float | None] = {"threads_running": 1.3}
LATE: dict[str, float | None] = {
    "cpu_share": 0.3,
    "run_delay_share": 0.3,
    "dispatch_p99_us": 30_000.0,
}
BOUND = Made(users=16, host=IDLE, means=QUIET, generator=LATE)
AT_ITS_MAXIMUM: dict[str, float | None] = {"cpu_share": 0.3, "ceiling_share": 0.95}


@pytest.mark.parametrize(
    "generator",
    [
        {"cpu_share": 0.95},
        {"cpu_share": 0.08, "run_delay_share": 0.83},
        {"cpu_share": 0.08, "held_p99_us": 40_000.0},
        LATE,
        AT_ITS_MAXIMUM,
    ],
)
def test_the_evidence_has_the_figure_that_reached_its_threshold(
    generator: dict[str, float | None],
) -> None:
    found = client_bound.judge(a_case(Made(host=IDLE, means=QUIET, generator=generator)))
    assert found
    compared = [one for one in found.evidence if one.threshold is not None]
    assert any(one.counter != "users outside the server" for one in compared)
    assert all(one.value >= (one.threshold or 0.0) for one in compared)
    assert " 0 % of the latency" not in found.sentence


def test_users_without_a_due_event_are_not_outside_the_server() -> None:
    # 50 a second of 40 ms each: two under way, and two run in the server.
    busy: dict[str, float | None] = {"threads_running": 3.0}
    step = {"rate": Rate(rate=50)}
    rate = Made(users=64, tps=50.0, mean_ms=40.0, means=busy, generator=LATE, step=step)
    late = rate.but(generator={"dispatch_p99_us": 60_000.0})
    assert client_bound.judge(a_case(late)) is None
    assert client_bound.judge(a_case(late.but(means=QUIET)))


def test_the_answer_names_no_cause_of_the_server_where_the_generator_was_the_limit() -> None:
    full = Made(users=16, tps=2000.0, host=FULL_OF_SERVER, means=QUIET)
    peak = full.but(generator={"cpu_share": 0.95})
    below = Made(users=8, tps=1900.0, host=IDLE, means=QUIET, generator={"cpu_share": 0.95})
    for case, names_generator in ((a_case(below, peak), True), (a_case(below, full), False)):
        found = diagnosis_of(case)
        said = " ".join(answer(levels(case.ladder), found, None, ENGLISH))
        said = f"{said} {found.answer}"
        assert ("the load generator itself" in said) == names_generator, said
        assert ("load generator is the limit" in said) == names_generator, said
        assert ("the CPU is used up" in said) != names_generator, said
