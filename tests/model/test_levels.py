"""Levels of users as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.levels import InvalidLevels, levels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8", (8,)),
        ("1,8,64", (1, 8, 64)),
        ("64, 1k", (64, 1000)),
        ("1..128", (1, 2, 4, 8, 16, 32, 64, 128)),
        ("3..20", (3, 6, 12, 20)),
        ("1..4,16..64,500", (1, 2, 4, 16, 32, 64, 500)),
        ("1..1000/4", (1, 10, 100, 1000)),
        ("1..3/10", (1, 2, 3)),
        ("100..4k/2", (100, 4000)),
    ],
)
def test_levels(text: str, expected: tuple[int, ...]) -> None:
    assert levels(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a number of users: write 1,8,64, 1..128"),
        ("1,x", "'x' is not a number of users"),
        ("0", "'0' is not a number of users"),
        ("1.5", "'1.5' is not a number of users"),
        ("2m", "'2m' is too many: at most 1,000,000"),
        ("8,1..8", "8 is there twice: leave one out"),
        ("8..8", "'8..8' does not rise"),
        ("64..1", "'64..1' does not rise"),
        ("1..64/1", "'1..64/1' has too few or too many levels: write 2 to 100"),
        ("1..64/101", "'1..64/101' has too few or too many levels"),
        ("1..64/", "'1..64/' is not a number of users"),
        ("1..", "'1..' is not a number of users"),
        (",".join(str(level) for level in range(1, 102)), "101 levels are too many: at most 100"),
    ],
)
def test_what_is_no_level(text: str, said: str) -> None:
    with pytest.raises(InvalidLevels) as refused:
        levels(text)
    assert str(refused.value).startswith(said)


@given(st.integers(1, 1000), st.integers(1, 999_000), st.integers(2, 100))
def test_a_range_rises_from_its_first_level_to_its_last(first: int, more: int, count: int) -> None:
    last = first + more
    for text in (f"{first}..{last}", f"{first}..{last}/{count}"):
        found = levels(text)
        assert found[0] == first
        assert found[-1] == last
        assert list(found) == sorted(set(found))
