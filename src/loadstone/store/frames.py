"""A run's tables, a row a second: from their files, or from the journal of a killed run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from loadstone.store import frame, observed_frame, plain, seal
from loadstone.store.folder import HOST, LOAD, SERVER
from loadstone.store.observed_frame import HOSTS, SERVERS
from loadstone.store.replay import read_log

if TYPE_CHECKING:
    import polars

Which = Literal["load", "server", "host"]
LARGEST = 256 * plain.MEGABYTE
"""Bytes of a table's file, which is in memory before anybody knows whose it is."""

FILES: dict[Which, str] = {"load": LOAD, "server": SERVER, "host": HOST}


def of_run(folder: Path, which: Which) -> polars.DataFrame:
    """One of the run's tables; an empty one where nothing was seen.

    From its file where this user's Loadstone wrote that (`seal`) and it is no larger than
    `LARGEST`; else from the journal, which takes longer for a run of many hours, and no more than
    there is.

    Raises:
        StoreError: there is no run in the folder, or it is damaged.
    """
    written = folder / FILES[which]
    with suppress(OSError):
        content = plain.contents(written, LARGEST)
        if seal.is_ours(folder, written.name, content):
            return frame.from_parquet(content, written)
    log = read_log(folder)
    if which == "load":
        return frame.frame(log)
    return observed_frame.frame(log, SERVERS if which == "server" else HOSTS)
