"""Searches on null servers, one of which takes twice the other's time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from kept import Stopwatch
from loadstone import Run, engine, open_run
from loadstone.model.null_server import NullServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.timing, pytest.mark.timeout(400)]

MUCH = 0.01
"""A share of the time: if a core was missing for less, no search has an excuse to be wrong."""

FILE = """\
duration = "500ms"
warmup = "100ms"

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100

"""


def taking(ms: int) -> engine.NullServer:
    """A server that answers after this time, plus or minus a fifth."""
    service = {"kind": "uniform", "from_us": 800 * ms, "to_us": 1200 * ms}
    server = engine.null_server(NullServerSettings())
    server.set_script(json.dumps({"service": service}))
    return server


@pytest.fixture
def levels() -> Iterator[str]:
    """A factor of two servers: users get 25 and 12.5 answers a second each."""
    servers = {"a": taking(40), "b": taking(80)}
    yield "".join(
        f"[factor.server.{name}]\n"
        f'target = {{ url = "mysql://u@127.0.0.1:{server.port}/sbtest?tls=disabled" }}\n'
        for name, server in servers.items()
    )
    for server in servers.values():
        server.stop()


@dataclass(frozen=True)
class Carried:
    """An experiment that was run."""

    run: Run
    said: str
    kept: float
    """The share of the time in which a core was missing."""

    def must(self, be_so: bool) -> None:
        """Assert it, or skip the test if a lack of cores may be the reason."""
        if not be_so and self.kept > MUCH:
            pytest.skip(f"not evaluated, {self.kept:.0%} of the time without a core")
        assert be_so, self.said

    def found(self, variant: str) -> float:
        """The mean of what the searches of a variant found."""
        searches = [
            one.found for one in self.run.result.run.searches or () if one.variant[-1] == variant
        ]
        assert all(each.complete for each in searches)
        return fmean(each.value or 0.0 for each in searches)


def carried_out(text: str, folder: Path) -> Carried:
    (folder / "two.toml").write_text(text)
    watch = Stopwatch()
    said = called("experiment", "two.toml", "--no-observe", folder=folder).stdout
    (run,) = (folder / "runs").iterdir()
    return Carried(open_run(run), said, watch.kept_s / watch.passed_s)


@pytest.mark.nightly
def test_half_the_peak_is_found_where_answers_take_twice_as_long(
    levels: str, tmp_path: Path
) -> None:
    head = "repeats = 4\n"
    search = "[search]\npeak = true\nmost_users = 2\n"
    carried = carried_out(head + FILE + search + levels, tmp_path)
    assert carried.run.comparison is not None
    (table,) = carried.run.comparison.cells
    (one,) = table.compared
    assert "oltp_point_select, peak" in carried.said
    carried.must(one.verdict.word == "slower")
    assert one.verdict.effect is not None
    carried.must(one.verdict.effect.relative == pytest.approx(-0.5, abs=0.05))


@pytest.mark.nightly
def test_half_the_rate_is_found_where_answers_take_twice_as_long(
    levels: str, tmp_path: Path
) -> None:
    head = "ladder = [8]\nrepeats = 2\n"
    search = '[search]\nobjective = "p99<500ms"\n'
    carried = carried_out(head + FILE + search + levels, tmp_path)
    assert "oltp_point_select, highest rate with p99<500ms" in carried.said
    # An event that waits for a free user waits twice as long as well.
    carried.must(0.35 < carried.found("b") / carried.found("a") < 0.6)
