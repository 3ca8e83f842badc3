"""The figures that the page draws of a second: those of the program's own sums, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from loadstone.model.observed import SourceName
from loadstone.model.result import Window
from loadstone.report.figures.figure import short
from loadstone.runs.journal import Observed, ObservedNames, SourceFacts, read_entries
from loadstone.runs.observations import observation_of
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.source_figures import SourceSums, host_figures
from loadstone.web.drawn_figures import HOST, DrawnFigures

REAL = Path(__file__).parents[1] / "compatibility/folders/0.1/ladder-20261124T084358Z"
ALWAYS = Window(from_s=-1e9, to_s=1e9, method="one")


def lines() -> Iterator[tuple[ObservedNames, Observed, Mapping[str, str]]]:
    """A real run's lines, with their names and the facts of the server's host."""
    known: dict[int, ObservedNames] = {}
    facts: Mapping[str, str] = {}
    for entry in read_entries(REAL / JOURNAL, skip=b"nothing"):
        match entry:
            case SourceFacts():
                facts = entry.facts.get(str(HOST), {})
            case ObservedNames():
                known[entry.names] = entry
            case Observed():
                yield known[entry.names], entry, facts


def test_the_figures_of_a_host_are_those_of_its_sums() -> None:
    compared = 0
    for names, line, facts in lines():
        if names.source != HOST:
            continue
        sums = SourceSums()
        sums.add(observation_of(names, line), ALWAYS)
        whole = host_figures(sums, facts, None)
        wanted = {
            "cpu_user": (whole.cpu_user, 100),
            "cpu_sys": (whole.cpu_sys, 100),
            "cpu_iowait": (whole.cpu_iowait, 100),
            "cpu_steal": (whole.cpu_steal, 100),
            "disk_reads": (whole.disk_read_iops, 1),
            "disk_writes": (whole.disk_write_iops, 1),
            "disk_flushes": (whole.disk_flushes_per_s, 1),
            "disk_written": (whole.disk_write_bytes_per_s, 1e-6),
            "net_in": (whole.net_bytes_in_per_s, 8e-6),
            "net_out": (whole.net_bytes_out_per_s, 8e-6),
        }
        found = DrawnFigures.of(names, facts).figures(line)
        known = {
            name: factor * value for name, (value, factor) in wanted.items() if value is not None
        }
        assert found == pytest.approx({name: short(value) for name, value in known.items()})
        assert {"cpu_user", "disk_writes"} <= found.keys()
        compared += 1
    assert compared >= 5


def test_the_figures_of_a_server_are_its_gauges() -> None:
    found = [
        (DrawnFigures.of(names, facts).figures(line), observation_of(names, line).gauges)
        for names, line, facts in lines()
        if names.source == SourceName(role="server")
    ]
    assert len(found) >= 5
    for figures, gauges in found:
        assert figures == {name: gauges[name] for name in ("threads_running", "threads_connected")}


def names_of(*deltas: str, source: SourceName = HOST) -> ObservedNames:
    return ObservedNames(at_s=0, step=1, names=0, source=source, deltas=deltas, gauges=())


def line_of(*deltas: float, to_s: float = 2.0) -> Observed:
    return Observed(
        at_s=2, step=1, names=0, from_s=0, to_s=to_s, deltas=deltas, gauges=(), cost_s=0, asked_s=0
    )


def test_what_is_unknown_is_left_out_and_never_zero() -> None:
    disk = names_of("disk.sda.reads", "cpu.user_s")
    figures = DrawnFigures.of(disk, {"data_disk": "sda"}).figures(line_of(10, 1))
    assert figures == {"disk_reads": 5.0}, "the cores are not known"
    assert DrawnFigures.of(disk, {}).figures(line_of(10, 1)) == {}, "nor which disk it is"


def test_a_line_that_does_not_fit_its_names_has_no_figures() -> None:
    drawn = DrawnFigures.of(names_of("disk.sda.reads"), {"data_disk": "sda"})
    assert drawn.figures(line_of(10, 1)) == {}
    assert drawn.figures(line_of(10, to_s=0.0)) == {}
    assert drawn.figures(line_of(10)) == {"disk_reads": 5.0}


def test_another_machine_is_not_the_servers_host() -> None:
    other = SourceName(role="generator-host")
    drawn = DrawnFigures.of(names_of("disk.sda.reads", source=other), {"data_disk": "sda"})
    assert drawn.figures(line_of(10)) == {}
