"""The figures that the page draws of an observation, taken from its line in the journal.

A line has hundreds of numbers, of which some ten are drawn. Their places are found once for all
lines of the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from loadstone.model.observed import SourceName
from loadstone.report.figures.figure import short
from loadstone.runs.journal import Observed, ObservedNames
from loadstone.runs.observations import fits
from loadstone.runs.source_figures import cores_in, host_counters

_SERVER = SourceName(role="server")
HOST = SourceName(role="server-host")
_OF_SERVER = ("threads_running", "threads_connected")
_MEGA = 1e6

_OF_HOST: Mapping[str, tuple[str, float]] = {
    "cpu_user": ("cpu_user", 100),
    "cpu_sys": ("cpu_sys", 100),
    "cpu_iowait": ("cpu_iowait", 100),
    "cpu_steal": ("cpu_steal", 100),
    "disk_reads": ("disk_read_iops", 1),
    "disk_writes": ("disk_write_iops", 1),
    "disk_flushes": ("disk_flushes_per_s", 1),
    "disk_written": ("disk_write_bytes_per_s", 1 / _MEGA),
    "net_in": ("net_bytes_in_per_s", 8 / _MEGA),
    "net_out": ("net_bytes_out_per_s", 8 / _MEGA),
}
"""The figure of `host_counters` and its factor: percent, MB, Mbit."""


@dataclass(frozen=True)
class _Rate:
    places: tuple[int, ...]
    """Of the counters that are added."""
    factor: float

    def of(self, deltas: Sequence[float], seconds: float) -> float | None:
        return short(self.factor * sum(deltas[place] for place in self.places) / seconds)


@dataclass(frozen=True)
class DrawnFigures:
    """Where the drawn figures of one source are in its lines."""

    names: ObservedNames
    rates: Mapping[str, _Rate]
    gauges: Mapping[str, int]

    @classmethod
    def of(cls, names: ObservedNames, facts: Mapping[str, str]) -> Self:
        """`facts` of the server's host name its data disk and the load's interface."""
        rates: dict[str, _Rate] = {}
        gauges: dict[str, int] = {}
        if names.source == _SERVER:
            gauges = {name: names.gauges.index(name) for name in _OF_SERVER if name in names.gauges}
        if names.source == HOST:
            rates = dict(_rates(names.deltas, facts))
        return cls(names, rates, gauges)

    def figures(self, line: Observed) -> dict[str, float | None]:
        """The figures of one line; an unknown one is left out, never shown as zero."""
        seconds = line.to_s - line.from_s
        if seconds <= 0 or not fits(self.names, line):
            return {}
        rates = {name: rate.of(line.deltas, seconds) for name, rate in self.rates.items()}
        return rates | {name: line.gauges[place] for name, place in self.gauges.items()}


def _rates(deltas: Sequence[str], facts: Mapping[str, str]) -> Iterator[tuple[str, _Rate]]:
    places = {name: place for place, name in enumerate(deltas)}
    counters, cores = host_counters(facts), len(cores_in(deltas))
    for name, (figure, factor) in _OF_HOST.items():
        found = tuple(places[counter] for counter in counters[figure] if counter in places)
        parts = cores if figure.startswith("cpu_") else 1
        if found and parts:
            yield name, _Rate(found, factor / parts)
