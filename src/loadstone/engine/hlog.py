"""Sums and decodes lines of interval logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pydantic import TypeAdapter

from loadstone.engine.native import EngineError, native
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.records import LatencyNs

_LATENCIES = TypeAdapter(dict[str, LatencyNs], config=DEFERRED)
_COUNTS = TypeAdapter(dict[str, list[tuple[int, int]]], config=DEFERRED)
_ROWS = TypeAdapter(list[list[int]], config=DEFERRED)


class LogError(EngineError):
    """A line is not one of an interval log."""

    exit_code = ExitCode.STORE


class SummedLines(Frozen):
    """Lines of an interval log, summed by tag."""

    lines: tuple[str, ...]
    """One line for each tag (and one for its values above the range), over the whole time."""
    latency: dict[str, LatencyNs]


def merge_hlog(lines: Iterable[str]) -> dict[str, LatencyNs]:
    """The latency by tag, over the values of all lines.

    Raises:
        LogError: a line is not one of an interval log.
    """
    with _reading():
        merged = native().merge_hlog(list(lines))
    return _LATENCIES.validate_json(merged)


def sum_hlog(lines: Iterable[str]) -> SummedLines:
    """Sum all lines of each tag into one interval; sums can be summed again.

    Raises:
        LogError: a line is not one of an interval log.
    """
    with _reading():
        summed = native().sum_hlog(list(lines))
    return SummedLines.model_validate_json(summed)


def hlog_counts(lines: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """By tag, each value in nanoseconds with its count, in ascending order.

    Raises:
        LogError: a line is not one of an interval log.
    """
    with _reading():
        counts = native().hlog_counts(list(lines))
    return _COUNTS.validate_json(counts)


def hlog_rows(lines: Iterable[str], edges_ns: Sequence[int]) -> list[list[int]]:
    """Of each line, how many values lie at or above each edge and below the next one.

    Edges are in nanoseconds and rising; values below the first count as above it.

    Raises:
        LogError: a line is not one of an interval log.
    """
    with _reading():
        rows = native().hlog_rows(list(lines), list(edges_ns))
    return _ROWS.validate_json(rows)


def hlog_header(start_unix_s: float) -> str:
    """The header of an interval log."""
    return native().hlog_header(start_unix_s)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise LogError(f"latency.hlog: {error}") from error
