"""Formats numbers for people, by the same rules in tables and sentences.

- A figure has three significant digits and thousands separators. In a column it keeps trailing
  zeros, so that figures line up (`digits`, `rate`); in a sentence it drops them (`num`).
- A share is in whole percent from 9.95 % on, and has two significant digits below (`pct`):
  0.0996 is `10 %`.
- A change has one decimal up to 100 %, and two below 1 % (`signed`).
"""

from __future__ import annotations

NOTHING = "-"
"""Written where there is no value; zero is written 0."""


def rate(value: float | None) -> str:
    """A rate: `1,234`, `56.7`, `0.89`, or `NOTHING`."""
    return NOTHING if value is None else digits(value)


def digits(value: float) -> str:
    """Three significant digits with thousands separators; zero is `0`."""
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3f}"


def num(value: float) -> str:
    """A figure in a sentence: `1,234`, `56.7`, `0.089`."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def pct(value: float | None) -> str:
    """A share as a percentage: `41 %`, `0.8 %`."""
    if value is None:
        return NOTHING
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.2g} %"


def signed(value: float) -> str:
    """A change: `+31.4 %`, `-0.25 %`."""
    percent = 100 * value
    places = 0 if abs(percent) >= 100 else 1 if abs(percent) >= 1 else 2
    return f"{percent:+z.{places}f} %"


def size(number: float) -> str:
    """A number of bytes: `48 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.0f} B"


def count(value: int) -> str:
    """A whole number with thousands separators."""
    return f"{value:,}"


def duration(seconds: float) -> str:
    """A duration: `0.4 s`, `12 s`, `3 min 20 s`, `4 h 05 min`, `2 h`."""
    if seconds < 10:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if minutes else f"{hours} h"


def roughly(seconds: float) -> float:
    """A duration in seconds, rounded by a tenth at most, for a text that says *about*.

    To 10 s below ten minutes, to a minute below an hour, to 10 min below ten hours, then to an
    hour; below a minute to a second, of which there is at least one.
    """
    to = next((to for below, to in _ROUGHLY if seconds < below), 3600.0)
    return max(round(seconds / to), 1) * to


_ROUGHLY = ((60.0, 1.0), (595.0, 10.0), (3570.0, 60.0), (35_700.0, 600.0))
"""Durations in seconds, and to what those below them are rounded."""


def number_of(amount: int, one: str, many: str | None = None) -> str:
    """`1 user`, `64 users`."""
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"


def users(number: int) -> str:
    """`1 user`, `64 users`."""
    return number_of(number, "user")
