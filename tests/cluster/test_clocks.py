"""The offset of another machine's clock, estimated from requests and replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.cluster.clocks import Exchange, offset_of

A_DAY_NS = 86_400_000_000_000


@given(
    ahead_ns=st.integers(-A_DAY_NS, A_DAY_NS),
    ways_ns=st.lists(
        st.tuples(st.integers(0, 50_000_000), st.integers(0, 50_000_000)), min_size=1, max_size=9
    ),
)
def test_the_truth_is_within_the_bound_however_uneven_the_way(
    ahead_ns: int, ways_ns: list[tuple[int, int]]
) -> None:
    exchanges, now = [], 1_000_000
    for there, back in ways_ns:
        exchanges.append(Exchange(now, now + there + ahead_ns, now + there + back))
        now += there + back + 1
    found = offset_of(exchanges)
    assert abs(found.offset_ns - ahead_ns) <= found.bound_ns
    assert found.bound_ns <= min(there + back for there, back in ways_ns) / 2 + 1


def test_the_shortest_exchange_counts() -> None:
    slow, quick = Exchange(0, 1_000_900, 1_000), Exchange(5_000, 1_005_010, 5_020)
    found = offset_of([slow, quick])
    assert (found.offset_ns, found.bound_ns) == (1_000_000, 10)
    assert found.there(7) == 1_000_007


def test_no_exchange_says_nothing() -> None:
    with pytest.raises(ValueError, match="exchanges"):
        offset_of([])
