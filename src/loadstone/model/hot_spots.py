"""Where a server spent its time during a step, by its own instrumentation."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from loadstone.model.frozen import Frozen


def _said(text: str) -> Any:
    return Field(description=text)


class StatementSpot(Frozen):
    """A group of statements that differ only in their values and the numbers of their tables."""

    statement: str = _said(
        "statement with question marks for values, cut at 400 characters; sbtestN: the sum over"
        " tables that differ only in the number at their end"
    )
    schema_name: str | None = _said("the current schema; null: none was chosen")
    count: int = _said("executions")
    time_s: float = _said("total time in seconds")
    lock_s: float = _said("part of that time spent waiting for table locks")
    rows_examined: int = _said("rows read")
    rows_sent: int = _said("rows returned")
    rows_affected: int = _said("rows changed")
    sort_rows: int = _said("rows sorted")
    tmp_tables: int = _said("temporary tables created")
    tmp_disk_tables: int = _said("temporary tables on disk among them")
    no_index_used: int = _said("executions that read a whole table")
    errors: int = _said("executions that ended with an error")


class WaitSpot(Frozen):
    """One kind of wait; concurrent waits of many threads add up to more than the elapsed time."""

    event: str = _said("performance_schema's name")
    count: int = _said("waits")
    time_s: float = _said("total time in seconds")


class FileSpot(Frozen):
    """One file, or all files with the same purpose."""

    file: str = _said("path of the file on the server")
    reads: int = _said("reads")
    writes: int = _said("writes")
    syncs: int = _said("syncs, and opening and closing")
    read_bytes: int = _said("bytes read")
    written_bytes: int = _said("bytes written")
    time_s: float = _said("total time in seconds")


class TableSpot(Frozen):
    """Reads and writes of one table."""

    table: str = _said("schema.table")
    fetched: int = _said("rows fetched")
    written: int = _said("rows inserted, updated or deleted")
    io_s: float = _said("time in the storage engine, row lock waits included")
    lock_s: float = _said("time of waits for table locks")


class HotSpots(Frozen):
    """The largest of each kind over a whole step, including its warm-up; largest first."""

    statements: tuple[StatementSpot, ...] = ()
    waits: tuple[WaitSpot, ...] = ()
    files: tuple[FileSpot, ...] = ()
    tables: tuple[TableSpot, ...] = ()
    not_evaluated: dict[str, str] = {}
    """Kinds that the server does not report, and what to switch on."""
