import pytest

from loadstone.report.figures.figure import Option, room_for_whiskers, whiskers


def a_line(points: list[tuple[float, float | None]], *ends: tuple[float, float, float]) -> Option:
    return {"data": [list(one) for one in points], "markLine": whiskers(iter(ends))}


@pytest.mark.parametrize(
    ("points", "ends", "end"),
    [
        ([(8, 879), (64, 982)], [(8, 715, 1043), (64, 920.4, 1043.6)], 1200),
        ([(8, 4396.0), (16, None)], [(8, 2349, 8025)], 10_000),
        ([(1, 0.5)], [(1, 0.45, 0.55)], 0.6),
    ],
)
def test_the_axis_of_a_rate_holds_its_interval(
    points: list[tuple[float, float | None]], ends: list[tuple[float, float, float]], end: float
) -> None:
    assert room_for_whiskers([a_line(points, *ends)]) == {"max": pytest.approx(end)}


def test_an_axis_whose_points_reach_as_high_is_left_to_the_chart() -> None:
    one, other = a_line([(8, 900)], (8, 850, 950)), {"data": [[8, 1000]]}
    assert room_for_whiskers([one, other]) == {}
    assert room_for_whiskers([a_line([(8, None)])]) == {}
