"""The amounts of entries, without a server."""

from __future__ import annotations

import pytest

from loadstone.lab.tables.ledger_check import amount_of, sum_of_amounts


def test_amounts_are_those_that_the_engine_writes() -> None:
    # The same four stand in the engine's own test, crates/workload/src/ledger.rs.
    entries = [(0, 1), (1, 1), (63, 1_000), (4_000, 123_456_789)]
    assert [amount_of(user, number) for user, number in entries] == [18, 49, 954, 414]


@pytest.mark.parametrize("numbers", [0, 1, 999, 1000, 1001, 4321])
def test_the_sum_of_many_entries_is_that_of_each(numbers: int) -> None:
    for user in (0, 7, 63):
        each = [amount_of(user, number) for number in range(1, numbers + 1)]
        assert sum_of_amounts(user, numbers) == sum(each)
