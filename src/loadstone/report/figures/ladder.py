"""The ladder: rates and latencies over virtual users, with intervals and the scalability law."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level, middle_step
from loadstone.analyse.usl import Usl
from loadstone.model.language import Language
from loadstone.model.message import Message, say
from loadstone.model.result import StepResult
from loadstone.report.figures.figure import (
    Figure,
    Option,
    axis,
    room_for_whiskers,
    short,
    users_axis,
    whiskers,
)

_GRIDS = ((44, 190), (288, 120), (462, 190))
"""Top and height of the three pictures, in pixels."""
_HEIGHT = 716
_CURVE_POINTS = 60


def ladder_figure(ladder: Sequence[Level], law: Usl | None, words: Language) -> Figure:
    """TPS, QPS, p95 and p99 of one variant and workload, one below the other on one axis."""
    open_loop = any(level.rate for level in ladder)
    name = words(say("rate/s")) if open_loop else words(say("users"))
    series: list[Option] = [_rates(ladder, words)]
    if law is not None:
        series.append(_curve(ladder, law, words))
    series += [
        _line(words(say("QPS")), 1, [(_place(each), each.qps) for each in ladder]),
        _latency(words(say("p95")), ladder, "p95"),
        _latency(words(say("p99")), ladder, "p99"),
    ]
    return Figure(
        title=words(say("The ladder")),
        option=_option(series, name, words, open_loop=open_loop),
        about=words.sentences(*map(words, _about(ladder, law))),
        height_px=_HEIGHT,
    )


def _about(ladder: Sequence[Level], law: Usl | None) -> Iterator[Message]:
    """What the figure shows, of what it can show."""
    yield say("Rates and latencies over virtual users.")
    if any(_intervals(ladder)):
        yield say("Whiskers of the rate: its 95 % interval.")
    if any(len(level.steps) > 1 for level in ladder):
        yield say("Whiskers of the latencies: lowest to highest repeat.")
    if law is not None:
        yield say("Dashed: the Universal Scalability Law.")


def variants_figure(ladders: Sequence[Sequence[Level]], words: Language) -> Figure:
    """TPS and p99 of all variants of a workload, a line each."""
    open_loop = any(level.rate for ladder in ladders for level in ladder)
    series: list[Option] = []
    for ladder in ladders:
        series.append(_rates(ladder, words) | {"name": ladder[0].variant})
    for ladder in ladders:
        series.append(
            _latency(ladder[0].variant, ladder, "p99") | {"yAxisIndex": 1, "xAxisIndex": 1}
        )
    name = words(say("rate/s")) if open_loop else words(say("users"))
    option = _option(series, name, words, open_loop=open_loop)
    # Only the first and the last of the three grids are used here.
    for part in ("grid", "xAxis", "yAxis"):
        del option[part][1]
    option["xAxis"][1]["gridIndex"] = option["yAxis"][1]["gridIndex"] = 1
    option["yAxis"][1]["name"] = words(say("p99, ms"))
    option["grid"][1]["top"] = 288
    option["legend"] = {"top": 0, "type": "scroll"}
    return Figure(
        words(say("Variants")),
        option,
        words(say("Rates and 99th percentiles of all variants over virtual users, a line each.")),
        height_px=540,
    )


def _option(series: list[Option], name: str, words: Language, *, open_loop: bool) -> Option:
    heads = (words(say("events/s")), words(say("statements/s")), words(say("latency, ms")))
    rates = [one for one in series if one["yAxisIndex"] == 0]
    return {
        "legend": {"top": 0, "type": "scroll"},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "line"}},
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "grid": [{"left": 84, "right": 28, "top": top, "height": height} for top, height in _GRIDS],
        "xAxis": [
            (axis("value", name) if open_loop else users_axis(name)) | {"gridIndex": at}
            for at in range(len(_GRIDS))
        ],
        "yAxis": [
            axis("log" if at == 2 else "value", head, gridIndex=at, nameGap=60)
            | (room_for_whiskers(rates) if at == 0 else {})
            for at, head in enumerate(heads)
        ],
        "series": series,
    }


def _place(level: Level) -> float:
    return level.rate.highest if level.rate else float(level.concurrency)


def _rates(ladder: Sequence[Level], words: Language) -> Option:
    points = [(_place(each), each.tps.mean if each.tps else None) for each in ladder]
    line = _line(words(say("TPS")), 0, points) | {
        "z": 5,
        "lineStyle": {"width": 2.5},
        "symbolSize": 7,
    }
    return line | {"markLine": whiskers(_intervals(ladder))}


def _intervals(ladder: Sequence[Level]) -> Iterator[tuple[float, float, float]]:
    for level in ladder:
        if level.tps and level.tps.of_a_rate is not None:
            mean, half = level.tps.mean, level.tps.of_a_rate
            yield _place(level), max(mean - half, 0.0), mean + half


def _curve(ladder: Sequence[Level], law: Usl, words: Language) -> Option:
    low, high = _place(ladder[0]), _place(ladder[-1])
    step = math.log(high / low) / (_CURVE_POINTS - 1) if high > low else 0.0
    users = [low * math.exp(step * at) for at in range(_CURVE_POINTS)]
    line = _line(words(say("USL fit")), 0, [(each, law.rate(each)) for each in users])
    return line | {"symbol": "none", "lineStyle": {"type": "dashed", "width": 1.5}}


def _latency(name: str, ladder: Sequence[Level], which: str) -> Option:
    """The latency of the middle repeat, with whiskers from the lowest to the highest repeat."""

    def of(step: StepResult) -> float | None:
        found: float | None = getattr(step.latency.response, which)
        return found or None  # a logarithmic axis cannot show zero

    points = [(_place(level), of(middle_step(level.steps))) for level in ladder]
    dashes = {"type": "dotted" if which == "p99" else "solid", "width": 2}
    known = {
        _place(level): [value for step in level.steps if (value := of(step))] for level in ladder
    }
    ends = ((at, min(values), max(values)) for at, values in known.items() if len(values) > 1)
    return _line(name, 2, points) | {"lineStyle": dashes, "markLine": whiskers(ends)}


def _line(name: str, grid: int, points: Sequence[tuple[float, float | None]]) -> Option:
    return {
        "name": name,
        "type": "line",
        "xAxisIndex": grid,
        "yAxisIndex": grid,
        "symbolSize": 6,
        "data": [[short(x), short(y)] for x, y in points],
    }
