"""Percentiles that depend on events which had not ended when the window did."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.records import LatencyNs
from loadstone.model.result import LatencyMs
from loadstone.runs.unfinished import WithUnfinished, with_unfinished

MS = 1_000_000
WINDOW_S = 10.0


def _summary(values: list[int]) -> LatencyNs:
    """The summary of values in nanoseconds, as the engine makes it."""
    if not values:
        return LatencyNs()
    ranked = sorted(values)
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    quantiles = {name: ranked[math.ceil(q * len(ranked)) - 1] for name, q in shares.items()}
    mean = sum(values) / len(values)
    return LatencyNs(count=len(values), min=ranked[0], mean=mean, max=ranked[-1], **quantiles)


def _found(ended_s: list[float], ages_s: list[float]) -> tuple[dict[str, float], set[str]]:
    """The figures that depend on those without an end, in seconds, and which are lower bounds."""
    ended, ages = [round(1e9 * s) for s in ended_s], [round(1e9 * s) for s in ages_s]
    found = with_unfinished(
        _summary(ended),
        lambda: sorted(Counter(ended).items()),
        WINDOW_S * 1e9,
        sorted(Counter(ages).items()),
        lambda: _summary(ended + ages),
    )
    known = found.model_dump(exclude_none=True) if found else {}
    figures = {name: value / 1e9 for name, value in known.items() if name.startswith(("p", "m"))}
    return figures, set(found.at_least) if found else set()


def _closed_loop(draw: random.Random, users: int, heavy: float) -> tuple[list[float], list[float]]:
    """A steady closed loop: what ended in the window, and the ages at its end.

    One event in a hundred takes `heavy` times as long.
    """
    ended, ages = [], []
    for _ in range(users):
        now, due = -5.0, -5.0
        while now < WINDOW_S:
            took = draw.expovariate(1 / 0.02) * (heavy if draw.random() < 0.01 else 1.0)
            due, now = now, now + took
            if 0 <= now < WINDOW_S:
                ended.append(took)
        ages.append(WINDOW_S - due)
    return ended, ages


@pytest.mark.parametrize("heavy", [1.0, 100.0])
def test_a_load_in_balance_depends_on_no_event_in_flight(heavy: float) -> None:
    """Not even where the few long events are most of those in flight."""
    draw = random.Random(29)
    found = [_found(*_closed_loop(draw, 100, heavy))[0] for _ in range(20)]
    # Seven figures of each are judged at 95 %, and they depend on each other.
    assert sum(map(bool, found)) <= 4


def test_users_that_hang_when_the_window_ends_raise_the_percentiles_that_they_reach() -> None:
    ended = [0.01 + i * 1e-6 for i in range(3_000)]
    figures, bounds = _found(ended, [4.0] * 64)
    assert bounds == {"p99", "p999", "max"}
    assert all(figures[name] == 4.0 for name in bounds)
    # Of 3,064 events, of which 64 are above: no bound, but not those of 3,000 either.
    assert figures["p95"] == pytest.approx(0.01291)
    assert _found(ended, []) == ({}, set())


def test_in_a_closed_loop_it_is_not_the_number_that_tells_who_hangs() -> None:
    """At any moment each user has an event in flight; at the end all of them are old."""
    users = 64
    ended = [0.01] * round(users * 0.8 * WINDOW_S / 0.01)
    figures, bounds = _found(ended, [0.2 * WINDOW_S] * users)
    assert bounds == {"p999", "max"}
    assert figures["p999"] == figures["max"] == 2.0


def test_of_a_server_that_answered_nothing_every_percentile_is_a_bound() -> None:
    figures, bounds = _found([], [9.0, 9.5])
    assert figures["p50"] == 9.0
    assert figures["p99"] == figures["max"] == 9.5
    assert bounds == {"p50", "p90", "p95", "p99", "p999", "max"}


def test_where_the_backlog_grows_all_percentiles_are_bounds() -> None:
    """Due at twice the capacity, in their order: who is due at s has an answer at 2 s."""
    due = [i / 2_000 for i in range(20_000)]
    ended = [s for s in due if 2 * s < WINDOW_S]
    figures, bounds = _found(ended, [WINDOW_S - s for s in due if 2 * s >= WINDOW_S])
    assert bounds == {"p50", "p90", "p95", "p99", "p999", "max"}
    # The true one, of all that were due, is 9.9 s.
    assert figures["p99"] == pytest.approx(0.495 * WINDOW_S, rel=0.01)


def test_a_few_events_that_wait_when_the_window_ends_are_within_chance() -> None:
    ended = [0.01 + i * 1e-6 for i in range(100_000)]
    assert _found(ended, [0.2] * 20 + [0.001] * 200)[1] <= {"p999", "max"}


_TIMES = st.lists(st.sampled_from([0.001, 0.02, 0.1, 1.0, 9.0]), max_size=400)


@given(ended=_TIMES, ages=_TIMES)
def test_whatever_has_ended_and_has_not_has_its_figures(
    ended: list[float], ages: list[float]
) -> None:
    """Young events without an end lower the upper percentiles."""
    figures, bounds = _found(ended, ages)
    assert bounds <= figures.keys()


def test_young_events_without_an_end_may_lower_a_percentile() -> None:
    """The 95th percentile of those that ended is 9 s, that of all 6 s or more: no law has a root of
    what is less than nothing."""
    ended = [3.0, 3.0, 4.0, 4.0, 6.0, 6.0, 6.0, 9.0, 9.0]
    figures, bounds = _found(ended, [0.5, 1.0, 1.0, 3.0, 4.0, 4.0, 6.0, 9.0, 9.0, 9.0, 9.0])
    assert bounds <= figures.keys()


def test_a_bound_is_written_as_one() -> None:
    known = LatencyMs.from_ns(LatencyNs(count=9, min=MS, mean=2.0 * MS, p50=2 * MS, p99=4 * MS))
    bounds = WithUnfinished(count=3, p99=56 * MS, max=60 * MS, at_least=("p99", "max"))
    changed = known.changed(LatencyMs.from_ns(bounds))
    assert (str(changed.figure("p50")), str(changed.figure("p99"))) == ("2.00", "≥56.0")
    assert (changed.at_least, changed.count, changed.mean) == (("p99", "max"), 9, 2.0)
