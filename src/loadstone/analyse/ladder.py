"""The analysis of a ladder of concurrencies: its levels, its peak and its knee."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Literal

from loadstone.analyse.repeats import Mean, mean_of
from loadstone.model.plan import Rate
from loadstone.model.result import StepResult

KNEE_SHARE = 0.9
"""The knee is the smallest concurrency that reaches this share of the peak's rate."""

SAME_SHARE = 0.05
"""Rates without repeats that differ by less count as equal: that is the noise of machines."""

LOST_SHARE = 0.01
"""If users were without connection for more of their time, the step's rate is not quotable."""

Beyond = Literal["untried", "level", "falls", "lower", "unknown"]
"""Above the peak, nothing was tried, the rate stays, it falls, it is lower by an unknown noise (a
rate has no interval), or no rate there is quotable."""


def steal(step: StepResult) -> float:
    """The share of the cores that the hypervisor gave to others, on the host that lost most."""
    hosts = (step.host, step.generator_host)
    return max((host.cpu_steal or 0.0 for host in hosts if host), default=0.0)


def has_steal(step: StepResult) -> bool:
    """Whether steal may have changed the rate by more than the noise that is allowed for.

    A server that is busy on all cores loses its share s of them, and would do s / (1 - s) more.
    """
    share = steal(step)
    return share >= 1 or share / (1 - share) > SAME_SHARE


@dataclass(frozen=True)
class Level:
    """All repeats of one variant and workload at one concurrency and rate."""

    variant: str
    workload: str
    concurrency: int
    rate: Rate | None
    """The rate asked for, in an open loop."""
    steps: tuple[StepResult, ...]
    tps: Mean | None
    """`None` if no repeat has a quotable rate; repeats with steal count only if all have it."""

    @property
    def qps(self) -> float | None:
        """Statements a second: the mean of the repeats whose rates are averaged, else of all."""
        known = [step.qps for step in rated(self.steps) or self.steps if step.qps is not None]
        return fmean(known) if known else None

    @property
    def has_steal(self) -> bool:
        """Whether the rate rests on steps that lost cores to the hypervisor."""
        quoted = [step for step in self.steps if quotable(step)]
        return bool(quoted) and all(map(has_steal, quoted))


@dataclass(frozen=True)
class Shape:
    """The peak of a ladder, and its knee: the level above which more users add little to the rate.

    The knee is defined by counting, not by fitting: the smallest concurrency whose mean rate is
    at least nine tenths of the peak's. Beyond it, users wait rather than work.
    """

    peak: Level
    knee: Level
    last: Level
    """The highest concurrency that was tried."""
    beyond: Beyond
    """What the rate does above the peak."""
    left_out: int = 0
    """Levels with steal that were left out."""


def levels(steps: Iterable[StepResult]) -> list[Level]:
    """The levels, ordered by variant, workload, concurrency and rate; closed loops first."""

    def place(step: StepResult) -> tuple[str, str, int, float, str]:
        highest = step.rate.highest if step.rate else 0.0
        return step.variant, step.workload, step.concurrency, highest, str(step.rate or "")

    return [_level(tuple(group)) for _, group in groupby(sorted(steps, key=place), key=place)]


def ladders_of(steps: Sequence[StepResult]) -> Iterator[list[Level]]:
    """The levels of each variant and workload; in an open loop, the rates of each concurrency."""
    found: dict[tuple[str, str, int | None], list[Level]] = {}
    for level in levels(steps):
        users = level.concurrency if level.rate else None
        found.setdefault((level.variant, level.workload, users), []).append(level)
    yield from found.values()


def middle_step(steps: Sequence[StepResult]) -> StepResult:
    """The repeat in the middle by speed; of an even number, the slower of the two in the middle.

    All figures of a level that are not averaged are this repeat's: a percentile of several repeats
    is not the mean of theirs. In an open loop the rate is given, so the response time orders them.
    Repeats whose rate may not be quoted count only if there are no others.
    """
    ordered = sorted(rated(steps) or steps, key=_slowness)
    return ordered[len(ordered) // 2]


def _slowness(step: StepResult) -> tuple[float, float]:
    rate = 0.0 if step.rate else step.tps or 0.0
    return -rate, step.latency.response.mean or 0.0


def shape(ladder: Sequence[Level]) -> Shape | None:
    """The peak and knee of the levels of one variant and workload.

    `None` with fewer than two levels, and in an open loop, where the rate is given, not found.
    """
    if any(level.rate for level in ladder):
        return None
    known = [(level, level.tps.mean) for level in ladder if level.tps and level.tps.mean > 0]
    if len(known) < 2:
        return None
    peak, highest = max(known, key=lambda pair: pair[1])
    # Steal only ever lowers a rate: a peak in spite of it stands, and a lower rate says nothing.
    rated = [pair for pair in known if pair[0] is peak or not pair[0].has_steal]
    rated = rated if len(rated) > 1 else known
    knee = min(
        (level for level, tps in rated if tps >= KNEE_SHARE * highest),
        key=lambda level: level.concurrency,
    )
    beyond = _beyond(ladder, [level for level, _ in rated], peak)
    return Shape(peak, knee, ladder[-1], beyond, len(known) - len(rated))


def _beyond(ladder: Sequence[Level], rated: Sequence[Level], peak: Level) -> Beyond:
    above = rated[rated.index(peak) + 1 :]
    if rated[-1] is not ladder[-1]:
        return "unknown"
    if not above:
        before = rated[rated.index(peak) - 1]
        return "untried" if is_below(before, peak) else "level"
    if not is_below(above[-1], peak):
        return "level"
    return "falls" if _has_interval(above[-1]) and _has_interval(peak) else "lower"


def _has_interval(level: Level) -> bool:
    return level.tps is not None and level.tps.half_width is not None


def is_below(level: Level, peak: Level) -> bool:
    """Whether the level's rate is below the peak's by more than both intervals or a twentieth."""
    if level.tps is None or peak.tps is None:
        return False
    spread = sum(tps.half_width or 0.0 for tps in (level.tps, peak.tps))
    if min(level.tps.repeats, peak.tps.repeats) < 2:
        spread = max(spread, SAME_SHARE * peak.tps.mean)
    return peak.tps.mean - level.tps.mean > spread


def rate_of(level: Level) -> float | None:
    """The rate that tables show: the mean, or the middle repeat's if no repeat may be quoted."""
    return level.tps.mean if level.tps else middle_step(level.steps).tps


def _level(steps: tuple[StepResult, ...]) -> Level:
    first = steps[0]
    return Level(
        first.variant, first.workload, first.concurrency, first.rate, steps, _mean(rated(steps))
    )


def rated(steps: Sequence[StepResult]) -> list[StepResult]:
    """The repeats on whose rates the level's mean rests: without steal, if there are any such."""
    quoted = [step for step in steps if step.tps is not None and quotable(step)]
    return [step for step in quoted if not has_steal(step)] or quoted


def _mean(steps: Sequence[StepResult]) -> Mean | None:
    """The interval is that of the repeats; of a single step, that of its own seconds."""
    rates = [step.tps for step in steps if step.tps is not None]
    if not rates:
        return None
    if len(rates) == 1:
        return Mean(rates[0], steps[0].tps_half_width, 1)
    return mean_of(rates)


def quotable(step: StepResult) -> bool:
    """Whether the step's rate may be quoted and averaged.

    It must have finished, be steady and connected, and never have been held back.
    """
    if step.held or step.steady is False:
        return False
    return step.state == "finished" and lost_share(step) <= LOST_SHARE


def lost_share(step: StepResult) -> float:
    """Share of the users' time in the window without a connection, 0 to 1."""
    if step.window is None:
        return 0.0
    begin, end = step.window.from_s, step.window.to_s
    lost_s = sum(
        outage.users * max(0.0, min(outage.to_s or end, end) - max(outage.from_s, begin))
        for outage in step.outages
    )
    return lost_s / (step.concurrency * (end - begin)) if end > begin else 0.0
