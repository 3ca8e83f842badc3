"""Numbers as people read them: three digits that matter, units at the head of the column."""

from __future__ import annotations

from loadstone.model.plan import Rate

NOTHING = "-"
"""Stands where there is no value; nought is written 0."""


def rate(value: float | None) -> str:
    """A rate: `1,234`, `56.7`, `0.89`."""
    return NOTHING if value is None else digits(value)


def digits(value: float) -> str:
    """Three digits that matter, with thousands apart; nought is `0`."""
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


def share(value: float | None) -> str:
    """A share as a percentage with the sign: `0.8 %`."""
    if value is None:
        return NOTHING
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


def count(value: int) -> str:
    """A whole number with thousands apart."""
    return f"{value:,}"


def asked(wanted: Rate) -> str:
    """Events a second as they were asked for: `1,000`, `1,000..8,000 in 60 s`."""
    if wanted.to is None:
        return digits(wanted.rate)
    return f"{digits(wanted.rate)}..{digits(wanted.to)} in {duration(wanted.over_s or 0.0)}"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `4 h 05 min`."""
    if seconds < 10:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def number_of(amount: int, one: str, many: str | None = None) -> str:
    """`1 user`, `64 users`."""
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"
