"""Sources that are read seldom: a mean of many seconds is not divided, and may say too little."""

from __future__ import annotations

from loadstone.model.observed import Observation, SourceName
from loadstone.model.result import Window
from loadstone.runs.source_figures import SourceSums, sums_of, too_coarse

HOST = SourceName(role="server-host")


def sums(every_s: float, window: Window, until_s: float = 120.0) -> SourceSums:
    """A counter that grows by 1 a second in the window, and by 100 outside."""

    def grown(at_s: float) -> float:
        inside = min(max(at_s, window.from_s), window.to_s) - window.from_s
        return inside + 100 * (at_s - inside)

    ends = [every_s * number for number in range(1, int(until_s / every_s) + 1)]
    seen = [
        Observation(
            source=HOST,
            from_s=end - every_s,
            to_s=end,
            deltas={"n": grown(end) - grown(end - every_s)},
            gauges={},
        )
        for end in ends
    ]
    return sums_of(seen, 0.0, window)[HOST]


def test_only_whole_means_of_the_window_count() -> None:
    window = Window(from_s=20.0, to_s=80.0, method="fixed")
    found = sums(15.0, window)
    assert (found.seconds, found.rate("n")) == (45.0, 1.0)
    assert too_coarse(found, window) is None


def test_means_that_cover_less_than_half_of_the_window_say_nothing() -> None:
    window = Window(from_s=20.0, to_s=50.0, method="fixed")
    found = sums(15.0, window)
    assert (found.seconds, found.rate("n")) == (15.0, 1.0)
    assert too_coarse(found, window) is None
    minutes = sums(60.0, window)
    assert minutes.rate("n") is None
    said = str(too_coarse(minutes, window))
    assert said == "readings cover only 0 % of the window, and one is a mean of 60 s"


def test_a_reading_of_about_a_second_counts_by_its_part() -> None:
    window = Window(from_s=0.5, to_s=10.5, method="fixed")
    found = sums(1.0, window)
    assert found.seconds == 10.0
    assert too_coarse(found, window) is None
