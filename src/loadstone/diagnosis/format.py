"""Numbers inside sentences."""

from __future__ import annotations


def num(value: float) -> str:
    """Three digits that matter: `1,234`, `56.7`, `0.089`."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def pct(share: float) -> str:
    """`41 %`, `0.8 %`."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.2g} %"


def signed(share: float) -> str:
    """A change: `+31 %`, `-0.4 %`."""
    percent = 100 * share
    return f"{percent:+.0f} %" if abs(percent) >= 9.95 else f"{percent:+.2g} %"


def users(number: int) -> str:
    """`1 user`, `64 users`."""
    return f"{number:,} user{'' if number == 1 else 's'}"


def size(count: float) -> str:
    """Bytes in words: `48 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"
