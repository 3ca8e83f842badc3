"""A run's tables, one row per second: from their files, or from the journal of a killed run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from loadstone.runs import safe_open, signature
from loadstone.runs.parquet import load_table, observed_table
from loadstone.runs.parquet.observed_table import HOSTS, SERVERS
from loadstone.runs.rebuild import read_log
from loadstone.runs.run_folder import HOST, LOAD, SERVER

if TYPE_CHECKING:
    import polars

Which = Literal["load", "server", "host"]
LARGEST = 256 * safe_open.MEGABYTE
"""Bytes of a table's file, which is read into memory before its origin is known."""

FILES: dict[Which, str] = {"load": LOAD, "server": SERVER, "host": HOST}


def of_run(folder: Path, which: Which) -> polars.DataFrame:
    """Read one of the run's tables; it is empty if nothing was observed.

    It is read from its file if this user's Loadstone wrote that (`seal`) and it is no larger than
    `LARGEST`; otherwise from the journal, which takes longer for a run of many hours, but never
    more memory than the data needs.

    Raises:
        StoreError: there is no run in the folder, or it is damaged.
    """
    written = folder / FILES[which]
    with suppress(OSError):
        content = safe_open.contents(written, LARGEST)
        if signature.is_ours(folder, written.name, content):
            return load_table.from_parquet(content, written)
    log = read_log(folder)
    if which == "load":
        return load_table.frame(log)
    return observed_table.frame(log, SERVERS if which == "server" else HOSTS)
