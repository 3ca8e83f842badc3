"""Aligned tables for the terminal, and for docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence

from benches.figures import Spread, median_within


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, figures to the right."""
    columns = [list(column) for column in zip(head, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    rule = [("-" if place == 0 else "-:").rjust(width, "-") for place, width in enumerate(widths)]
    lines = [_line(head, widths), _line(rule, widths), *(_line(row, widths) for row in rows)]
    return "\n".join(lines)


def with_spread(value: Spread, digits: int = 1) -> str:
    """`7.4 (6.9–8.1)`."""
    median, least, greatest = (
        f"{number:,.{digits}f}" for number in (value.median, value.least, value.greatest)
    )
    return f"{median} ({least}–{greatest})"


def interval(values: Sequence[float], digits: int = 2) -> str:
    """`1.02–1.07`: has the median with 95 %; empty if there are too few values for it."""
    found = median_within(values)
    if found is None:
        return ""
    least, greatest = found
    return f"{least:,.{digits}f}–{greatest:,.{digits}f}"


def counted(number: int, noun: str) -> str:
    """`1 pair`, `5 pairs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def how_measured(pairs: int, seconds: tuple[float, float]) -> str:
    """The note below a table of steady costs."""
    short_s, long_s = seconds
    return (
        f"{counted(pairs, 'pair')} in the order A B B A; median (least–greatest). CPU a query: user"
        f" and system of the whole process, a run of {long_s:g} s less one of {short_s:g} s, by the"
        " difference in queries. Ratios are taken within each pair; the interval has their median"
        " with 95 % (sign test), and needs six pairs."
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "| " + " | ".join([first, *others]) + " |"
