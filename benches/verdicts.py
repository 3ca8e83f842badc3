"""The results of trials of comparisons: verdicts, false alarms, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benches import stamps
from benches.tables import counted, table
from loadstone.analyse.verdict import Verdict
from loadstone.model.experiment import Rules

STRICT = 0.01
"""The level of comparisons of a server with itself; comparisons of two have the program's own."""

SIDES = ("a", "b")
NULL, SANDBOX = "null server", "MariaDB"
LONGER = (0.01, 0.03, 0.1)
"""By how much the answers of one null server take longer than those of the other."""

_ALARMS = 0.03
"""The share of comparisons of a server with itself that may be false alarms: 6 of 200, 2 are
expected.
"""

_COVERED = 0.9
"""The share of trials whose 95 % interval must contain the truth."""

_FOUND = 0.9
"""The share of trials in which a difference of the margin must be found with the requested repeats.
"""


@dataclass(frozen=True)
class Word:
    """The program's verdict on B against A."""

    word: str
    more: int | None
    """The number of repeats that it requested."""
    relative: float | None
    low: float | None
    high: float | None
    p_value: float | None
    units: int
    units_left_out: int

    @classmethod
    def of(cls, verdict: Verdict) -> Word:
        """The same from a verdict."""
        effect = verdict.effect
        interval = effect.interval if effect else None
        return cls(
            word=verdict.word,
            more=verdict.more,
            relative=effect.relative if effect else None,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            p_value=verdict.p_difference,
            units=effect.units if effect else 0,
            units_left_out=verdict.units_left_out,
        )

    @property
    def width(self) -> float | None:
        """The width of the quoted interval."""
        return None if self.low is None or self.high is None else self.high - self.low

    def is_alarm(self, level: float) -> bool:
        """Whether a difference was seen, even one too small to be reported."""
        return self.p_value is not None and self.p_value <= level

    def shows_slower(self, level: float) -> bool:
        """Whether B was shown to be slower.

        For a difference below the margin the verdict may be that there is none of the margin's
        size.
        """
        return self.is_alarm(level) and self.relative is not None and self.relative < 0

    def covers(self, truth: float) -> bool:
        """Whether the quoted interval contains the truth."""
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


@dataclass(frozen=True)
class Trial:
    """One comparison."""

    kind: str
    number: int
    first: Word
    """The verdict with the planned repeats."""
    last: Word
    """The verdict with the requested repeats, if there were any."""
    repeats: int
    """The number of repeats, including the requested ones."""
    rates: Mapping[str, Sequence[float]]
    """The rates of each side's steps, as measured by the program."""
    truth: Mapping[str, Sequence[float]]
    """The rates by the null server's log; empty for a server without one."""


@dataclass(frozen=True)
class Drift:
    """One server's steps under a growing hog, judged in two orders."""

    number: int
    rates: tuple[float, ...]
    interleaved: Word
    one_after_the_other: Word


def longer_by(share: float) -> str:
    """The name of trials with such a difference."""
    return f"{100 * share:g} % longer"


def alike_table(trials: Sequence[Trial]) -> str:
    """One row for each server that was compared with itself."""
    rows = []
    for kind in (NULL, SANDBOX):
        words = [trial.first for trial in trials if trial.kind == kind]
        if words:
            alarms = sum(word.is_alarm(STRICT) for word in words)
            widths = [word.width for word in words if word.width is not None]
            rows.append(
                [
                    f"{kind} with itself",
                    str(len(words)),
                    _of(alarms, len(words)),
                    f"≤ {100 * _ALARMS:g} %",
                    f"{50 * median(widths):.1f} %" if widths else "",
                    _left_out(words),
                ]
            )
    head = ["A/A, level 0.01", "comparisons", "false alarms", "wanted"]
    return table([*head, "known to ±", "units left out"], rows)


def apart_table(trials: Sequence[Trial]) -> str:
    """One row for each real difference."""
    rows = []
    for longer in LONGER:
        mine = [trial for trial in trials if trial.kind == longer_by(longer)]
        if not mine:
            continue
        truth = truth_of(mine)
        covered = sum(trial.first.covers(truth) for trial in mine)
        asks, level = longer == Rules().margin, Rules().level
        rows.append(
            [
                f"answers {100 * longer:g} % longer",
                str(len(mine)),
                f"{100 * truth:+.2f} %",
                _of(covered, len(mine)),
                f"≥ {100 * _COVERED:g} %",
                _of(sum(trial.first.shows_slower(level) for trial in mine), len(mine)),
                _of(sum(trial.last.shows_slower(level) for trial in mine), len(mine))
                if asks
                else "",
                f"≥ {100 * _FOUND:g} %" if asks else "",
                f"{median(trial.repeats for trial in mine):g}" if asks else "",
            ]
        )
    head = ["A/B, level 0.05", "trials", "truth", "covered", "wanted", "shown slower"]
    return table([*head, "with the repeats asked for", "wanted", "repeats"], rows)


def truth_of(trials: Sequence[Trial]) -> float:
    """By the null servers' logs, over all trials: a single trial's truth would share its noise."""
    a, b = ([rate for trial in trials for rate in trial.truth[side]] for side in SIDES)
    return stamps.effect(a, b)


def drift_table(drifts: Sequence[Drift]) -> str:
    """The two orders next to each other."""
    falls = [1 - drift.rates[-1] / drift.rates[0] for drift in drifts]
    rows = []
    for name in ("interleaved", "one_after_the_other") if drifts else ():
        words: list[Word] = [getattr(drift, name) for drift in drifts]
        told = [word.relative for word in words if word.relative is not None]
        rows.append(
            [
                "A B B A" if name == "interleaved" else "all of A, then all of B",
                str(len(drifts)),
                f"{100 * fmean(falls):.0f} %",
                f"{100 * median(told):+.1f} %" if told else "",
                _of(sum(word.is_alarm(STRICT) for word in words), len(words)),
            ]
        )
    head = ["MariaDB with itself, under a hog that grows", "runs", "rate falls by"]
    return table([*head, "difference, median", "false alarms"], rows)


def _of(some: int, all_of_them: int) -> str:
    return f"{some} of {all_of_them} ({100 * some / all_of_them:.3g} %)"


def _left_out(words: Sequence[Word]) -> str:
    left = sum(word.units_left_out for word in words)
    return counted(left, "unit")
