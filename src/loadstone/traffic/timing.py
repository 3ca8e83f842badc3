"""Times within a second, where a log has whole seconds only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loadstone.traffic.entries import Entry, ReadStats

_MOST_HELD = 100_000
"""Entries of one second that are held at the same time; more are spread in parts."""


def spread(entries: Iterable[Entry], stats: ReadStats) -> Iterator[Entry]:
    """The entries of a second at even distances, in their order, where nothing more is known.

    Times that go back are those of an entry that was written late: it takes the time of the one
    before it, so that each session's statements stay in the order of the log.
    """
    held: list[Entry] = []
    latest_s = 0.0
    for entry in entries:
        if not stats.whole_seconds:
            latest_s = max(latest_s, entry.at_s)
            yield entry._replace(at_s=latest_s)
            continue
        if held and (entry.at_s > held[0].at_s or len(held) >= _MOST_HELD):
            yield from _even(held)
            latest_s = held[0].at_s
            held = []
        held.append(entry._replace(at_s=max(entry.at_s, latest_s)))
    yield from _even(held)


def _even(held: list[Entry]) -> Iterator[Entry]:
    for place, entry in enumerate(held):
        yield entry._replace(at_s=entry.at_s + place / len(held))
