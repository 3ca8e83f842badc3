"""How much of the users' time parts of places are, the generator's wait for a core included."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.users_time import starved, time_of

FULL = {"cpu_user": 0.7, "cpu_sys": 0.27, "cpu_iowait": 0.01, "cpu_idle": 0.02}
WAITS = {"run_delay_share": 0.3, "cpu_share": 0.1}
SHARED = {"shared_with_generator": "yes"}
ACCOUNT = an_account(on_core=0.1, waiting_for_a_core=0.2, answer_unread=0.4)
MADE = Made(step={"account": ACCOUNT}, generator={**WAITS}, host=FULL, facts=SHARED)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({}, 0.75),
        ({"host": {"cpu_idle": 0.5, "cpu_user": 0.3, "cpu_sys": 0.2}}, 0.0),
        ({"facts": {"shared_with_generator": "no"}}, 0.0),
        ({"generator": {"run_delay_share": None}}, 0.0),
    ],
)
def test_a_generator_is_starved_by_the_cores_that_it_shares(
    changes: dict[str, dict[str, float]], part: float
) -> None:
    assert starved(a_case(MADE.but(**changes))) == pytest.approx(part)


def test_who_has_a_part_of_the_wait_for_a_core_has_that_of_the_generators() -> None:
    case = a_case(MADE)
    assert time_of(case, {"on core": 0.5}) == pytest.approx(0.05)
    assert time_of(case, {"waiting for a core": 0.5}) == pytest.approx(0.1 + 0.5 * 0.75 * 0.4)
    assert time_of(a_case(Made()), {"on core": 0.5}) is None
