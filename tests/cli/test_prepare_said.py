"""The last line of `prepare`."""

from __future__ import annotations

from loadstone.cli.commands.prepare import _ready
from loadstone.model.engine_plan import Layout
from loadstone.model.records import LoadEnd
from loadstone.model.target import Target


def said(rows: int, loaded: int) -> str:
    end = LoadEnd(reason="finished", seconds=2.0, rows=rows, rows_loaded=loaded, method="infile")
    layout = Layout(kind="ledger", tables=1)
    return str(_ready(Target(database="test"), layout, end)).partition(": ")[2]


def test_a_table_that_starts_empty_has_no_rate() -> None:
    assert said(rows=0, loaded=0) == "1 table, empty, as the load fills them itself"


def test_loaded_rows_have_a_rate() -> None:
    assert said(rows=100, loaded=100).endswith("100 loaded in 2 s by infile, 50.0 rows/s")
