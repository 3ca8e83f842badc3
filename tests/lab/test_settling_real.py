"""Where a window begins, on a real server whose buffer pool is too small for its tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.analyse.steady import Truncation, truncation
from loadstone.cli.errors import exit_code_of
from loadstone.sandbox import SandboxError, find_server

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(240)]

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

RUN = "run oltp_point_select --server mariadb --duration 9s --warmup auto --concurrency 2"
DATA = "--tables 2 --table-size 60k --set innodb_buffer_pool_size=8M --distribution uniform"


def test_the_rule_is_told_what_the_server_reads_in_the_same_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Sequence[float], Sequence[float] | None]] = []

    def remembered(series: Sequence[float], reads: Sequence[float] | None) -> Truncation:
        seen.append((series, reads))
        return truncation(series, reads)

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("loadstone.cli.carry.truncation", remembered)
    words = [*RUN.split(), *DATA.split(), "--out", str(tmp_path / "runs")]
    assert exit_code_of(words) == 0
    ((series, reads),) = seen
    assert reads is not None
    assert len(reads) == len(series) == 9
    # A tenth of 26 MB of rows fits at least, and nobody reads a page twice for one row.
    assert all(0.05 * rate < pages < 2 * rate for rate, pages in zip(series, reads, strict=True))
