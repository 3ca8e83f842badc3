"""docs/result.md names all that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.model.host_environment import HOST_FACTS
from loadstone.model.result import Result, RunInfo, StepResult
from loadstone.runs.parquet.load_table import COLUMNS

DOCUMENT = Path(__file__).parents[2] / "docs" / "result.md"
QUANTILES = {"p90_ms", "p95_ms", "p99_ms"}


@pytest.mark.parametrize(
    "name",
    sorted(
        {*Result.model_fields, *RunInfo.model_fields, *StepResult.model_fields, *COLUMNS}
        | HOST_FACTS.keys()
    ),
)
def test_every_field_is_documented(name: str) -> None:
    named = set(re.findall(r"`(\w+)`", DOCUMENT.read_text()))
    # `p50_ms` … `p999_ms` stand for those between.
    assert name in named | QUANTILES | {"run", "steps"}
