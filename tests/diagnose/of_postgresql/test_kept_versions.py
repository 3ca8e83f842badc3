"""An event's CPU that grows with the age of a snapshot, seen over the seconds of a step."""

from __future__ import annotations

import pytest

from diagnose.healthy import per_second
from diagnose.of_postgresql.example_versions import KEEPER, seen, spots
from diagnose.of_postgresql.figures import a_case
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rules.postgresql.long_transaction import RULE

AGE = "pg_stat_activity.oldest_xmin_age"
OWN_S = 60e-6
EACH_S = 6e-9
CORES = 1.8


def a_load(ages: list[float], *, cpu_of: list[float] | None = None) -> Case:
    """Of a step whose events take 60 µs, and 6 µs for each thousand transactions that are kept."""
    between = [(one + other) / 2 for one, other in zip([ages[0], *ages], ages, strict=False)]
    each = cpu_of or [OWN_S + EACH_S * age for age in between]
    made = seen(
        spots(keepers=(KEEPER,)), highest={AGE: ages[-1], "pg_stat_activity.oldest_xmin_s": 60.0}
    )
    return a_case(
        made,
        seconds={
            ("server", f"{AGE}.now"): per_second(*ages),
            ("load", "tps"): per_second(*(CORES / one for one in each)),
            ("host", "process.cpu_user_s"): per_second(*[CORES] * len(ages)),
        },
    )


def share(case: Case) -> float:
    found = RULE.judge(case)
    assert found is not None and found.share is not None
    return found.share


def test_what_grows_with_the_snapshot_s_age_is_followed_back_to_its_beginning() -> None:
    ages = [20_000.0 + 5_000 * second for second in range(11)]
    mean = OWN_S + EACH_S * (sum(ages[1:]) / 10 - 2_500)
    assert share(a_load(ages)) == pytest.approx(1 - OWN_S / mean, abs=0.02)


def test_a_line_that_begins_far_away_says_what_came_within_the_window() -> None:
    ages = [10_000_000.0 + 5_000 * second for second in range(11)]
    uneven = [100e-6, 130e-6, 90e-6, 120e-6, 105e-6, 125e-6, 95e-6, 110e-6, 130e-6, 100e-6, 115e-6]
    assert share(a_load(ages, cpu_of=uneven)) < 0.2


def test_cpu_that_does_not_grow_is_the_load_s_own() -> None:
    ages = [20_000.0 + 5_000 * second for second in range(11)]
    assert share(a_load(ages, cpu_of=[100e-6] * 11)) == 0.0
