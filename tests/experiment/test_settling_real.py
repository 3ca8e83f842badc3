"""Where a window begins, on real servers: judged by their buffer pool and redo log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

import polars

from loadstone.analyse.steady import Truncation, truncation
from loadstone.cli.errors import exit_code_of
from loadstone.model.result import StepResult
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox

pytestmark = [pytest.mark.server, pytest.mark.slow]

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

RUN = (
    "run oltp_point_select --server mariadb --duration 4s --warmup auto --concurrency 2 --rate 300"
)
COLD = {"innodb_buffer_pool_load_at_startup": "OFF", "innodb_buffer_pool_dump_at_shutdown": "OFF"}
DATA = "--tables 2 --table-size 40k --set innodb_buffer_pool_size=8M --distribution uniform"


Told = list[tuple[Sequence[float], Sequence[float] | None]]
"""Events and pages read in each second, by step."""

Loaded = Callable[[dict[str, str], str], Sandbox]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The series that the rule for the window's begin gets."""
    seen: Told = []

    def remembered(series: Sequence[float], reads: Sequence[float] | None) -> Truncation:
        seen.append((series, reads))
        return truncation(series, reads)

    monkeypatch.setattr("loadstone.runner.run.truncation", remembered)
    return seen


def test_the_rule_is_told_what_the_server_reads_in_the_same_seconds(
    tmp_path: Path, told: Told
) -> None:
    words = [*RUN.split(), *DATA.split(), "--out", str(tmp_path / "runs")]
    assert exit_code_of(words) == 0
    ((series, reads),) = told
    assert reads is not None
    assert len(reads) == len(series) == 4
    # At most half of 17 MB of rows fits, and no page is read twice for one row.
    assert all(0.05 * rate < pages < 2 * rate for rate, pages in zip(series, reads, strict=True))


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """Starts a server with its tables on disk, and nothing in memory."""

    def start(settings: dict[str, str], tables: str) -> Sandbox:
        sandbox = start_sandbox(SandboxSpec(server="mariadb", settings=settings | COLD))
        monkeypatch.setenv("LOADSTONE_PASSWORD", sandbox.local.credentials.reveal())
        words = ["prepare", "--target", sandbox.local.target.url, *tables.split()]
        assert exit_code_of(words) == 0
        sandbox.halt()
        sandbox.start_again()
        return sandbox

    return start


def driven(sandbox: Sandbox, words: str, folder: Path) -> tuple[Path, StepResult]:
    """The folder of the run, and its step."""
    place = ["--target", sandbox.local.target.url, "--out", str(folder)]
    assert exit_code_of(["run", *words.split(), *place]) == 0
    (run,) = folder.iterdir()
    (step,) = json.loads((run / "result.json").read_text())["steps"]
    return run, StepResult.model_validate(step)


def by_second(run: Path, file: str, column: str) -> dict[float, float]:
    """Values by the end of each second of the load; seconds without a value are left out."""
    table = polars.read_parquet(run / file)
    pairs = zip(table["second"].to_list(), table[column].to_list(), strict=True)
    return {second: value for second, value in pairs if value is not None}


@pytest.mark.timing
def test_a_window_waits_until_a_cold_buffer_pool_of_half_the_data_is_filled(
    tmp_path: Path,
    loaded: Loaded,
    told: Told,
) -> None:
    tables = "--tables 2 --table-size 75k"
    # The default keeps 1536 pages free, more than the 1024 of this pool.
    settings = {"innodb_buffer_pool_size": "16M", "innodb_lru_scan_depth": "100"}
    with loaded(settings, tables) as sandbox:
        # Few enough that the pool takes seconds to fill; as many in each second, so that the
        # throughput does not show it.
        words = f"oltp_point_select {tables} --distribution uniform --concurrency 4 --rate 300"
        _, step = driven(sandbox, f"{words} --duration 14s --warmup auto", tmp_path / "runs")
    ((_, reads),) = told
    assert reads is not None and step.window is not None
    # At first each event reads a page; at the end those do whose page is not in the pool.
    filled = fmean(reads[-6:])
    assert filled < 0.75 * fmean(reads[:2])
    begin = round(step.window.from_s)
    inside = reads[begin:]
    middle = len(inside) // 2
    assert fmean(inside[:middle]) < 1.15 * fmean(inside[middle:]), reads
    assert fmean(inside) < 1.15 * filled, reads
    assert begin >= 2, reads
    assert step.steady is True


@pytest.mark.nightly
@pytest.mark.timing
def test_a_window_has_the_checkpoints_that_a_small_redo_log_forces(
    tmp_path: Path, loaded: Loaded
) -> None:
    settings = {
        "innodb_log_file_size": "10M",
        # Nothing is flushed before the log requires it, and only the log slows it down.
        "innodb_adaptive_flushing": "OFF",
        "innodb_flush_log_at_trx_commit": "2",
        "sync_binlog": "0",
    }
    with loaded(settings, "--tables 2 --table-size 50k") as sandbox:
        words = "oltp_update_non_index --tables 2 --table-size 50k --distribution uniform"
        run, step = driven(
            sandbox, f"{words} --concurrency 4 --duration 14s --warmup auto", tmp_path / "runs"
        )
    flushed = by_second(run, "server.parquet", "pages_flushed")
    first = min((second for second, pages in flushed.items() if pages > 100), default=None)
    if first is None or first > 7:
        pytest.skip("not evaluated: on this machine the log is not full in half of the step")
    rates = by_second(run, "load.parquet", "tps")
    under_checkpoints = [rate for second, rate in rates.items() if second > first]
    assert step.window is not None and step.tps is not None
    # The mean from the first forced checkpoint on, not of the time before: as close as the mean of
    # so many seconds is to the mean of all.
    seconds = sum(step.window.from_s < second <= step.window.to_s for second in rates)
    error = stdev(under_checkpoints) / seconds**0.5
    apart = max(2 * error, 0.05 * fmean(under_checkpoints))
    told = (step.window, rates, flushed)
    assert step.tps == pytest.approx(fmean(under_checkpoints), abs=apart), told
