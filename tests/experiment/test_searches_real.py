"""Searches on null servers: one answers after twice the time of the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone import Run, engine, open_run
from loadstone.model.null_server import NullServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

FILE = """\
duration = "500ms"
warmup = "100ms"

[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100

"""


def taking(ms: int) -> engine.NullServer:
    """Answers after so long, give or take a fifth."""
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


def carried_out(text: str, folder: Path) -> tuple[Run, str]:
    """The run, and what was said of it."""
    (folder / "two.toml").write_text(text)
    said = called("experiment", "two.toml", "--no-observe", folder=folder).stdout
    (run,) = (folder / "runs").iterdir()
    return open_run(run), said


def found(run: Run, variant: str) -> float:
    """The mean of what the searches of a variant found."""
    searches = [each.found for each in run.result.run.searches if each.variant[-1] == variant]
    assert all(each.complete for each in searches)
    return fmean(each.value or 0.0 for each in searches)


def test_half_the_peak_is_found_where_answers_take_twice_as_long(
    levels: str, tmp_path: Path
) -> None:
    head = "repeats = 4\n"
    search = "[search]\npeak = true\nmost_users = 2\n"
    run, said = carried_out(head + FILE + search + levels, tmp_path)
    assert found(run, "b") == pytest.approx(found(run, "a") / 2, rel=0.1)
    assert run.comparison is not None
    (table,) = run.comparison.cells
    (one,) = table.compared
    if one.verdict.units_left_out > 1:
        pytest.skip(f"not evaluated, the machine was busy: {dict(one.verdict.left_out)}")
    assert one.verdict.word == "slower", said
    assert one.verdict.effect is not None
    assert one.verdict.effect.relative == pytest.approx(-0.5, abs=0.05), said


def test_half_the_rate_is_found_where_answers_take_twice_as_long(
    levels: str, tmp_path: Path
) -> None:
    head = "ladder = [8]\nrepeats = 2\n"
    search = '[search]\nobjective = "p99<500ms"\n'
    run, said = carried_out(head + FILE + search + levels, tmp_path)
    assert "oltp_point_select, highest rate with p99<500ms" in said
    # Whoever waits for a free user waits twice as long as well.
    assert 0.35 < found(run, "b") / found(run, "a") < 0.6, said
