"""Where a server spent its time during a step, by its own instrumentation."""

from __future__ import annotations

from typing import Any, Literal

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


class UnreadIndexes(Frozen):
    """A table into which rows are inserted, and indexes of it that nobody reads."""

    table: str = _said("schema.table")
    inserted: int = _said("rows inserted")
    indexes: tuple[str, ...] = _said(
        "indexes from which nothing was fetched, without those that keep values unique or that"
        " foreign keys need"
    )


class IndexOfVersions(Frozen):
    """An index of a table whose rows change."""

    index: str = _said("its name")
    columns: tuple[str, ...] = _said(
        "columns that it has or that its expressions and its condition use; an update that changes"
        " one of them is written to every index of the table"
    )
    entries: int = _said("entries that scans read during the step")
    fetched: int = _said("rows that these entries led to, without those of bitmap scans")
    scans: int = Field(
        default=0, description="scans of it that began, also those that find nothing"
    )
    unique: bool = Field(
        default=False, description="whether it keeps values unique, and so is needed unread"
    )
    of_each_row: bool = Field(
        default=True,
        description="whether each row has an entry: partial indexes and BRIN have fewer",
    )


class TableVersions(Frozen):
    """Versions of a table's rows: those that changes made, and those that nobody can see."""

    table: str = _said("schema.table")
    live: int = _said("rows at the end, as the server estimates them")
    dead_before: int = _said("dead versions at the start that no VACUUM and no page has removed")
    dead: int = _said("those at the end")
    pages: int = _said("pages at the last VACUUM or ANALYZE")
    inserted: int = _said("rows inserted")
    updated: int = _said("rows updated")
    hot_updated: int = _said("updates among them that wrote no entry of an index")
    new_page_updated: int | None = _said(
        "updates whose new version went to another page; null: not counted"
    )
    deleted: int = _said("rows deleted")
    scanned: int = _said("rows that scans of the whole table returned")
    fetched: int = _said("rows that indexes led to")
    page_visits: int = _said("accesses to its pages, without those of its indexes")
    indexes: tuple[IndexOfVersions, ...] = ()
    fillfactor: int = _said("part of a page that inserts fill, in percent")
    autovacuum: bool = _said("whether autovacuum may clean it up, by its own option alone")
    vacuum_due: float = _said("dead versions from which autovacuum is due")
    vacuums: int = _said("how often it was vacuumed during the step")
    vacuumed_s: float | None = _said("seconds since then at the end; null: it never was")
    referenced: bool = Field(
        default=False, description="whether foreign keys lead to it, whose checks lock its rows"
    )
    changed_since_analyze: int | None = Field(
        default=None, description="rows changed since it was analyzed last; null: not read"
    )
    analyzed: bool | None = Field(
        default=None,
        description="whether the planner has statistics of its columns; null: may not be seen",
    )
    triggers: tuple[str, ...] = Field(
        default=(), description="triggers that fire for each row, whatever changes in it"
    )
    fired: int | None = Field(
        default=None, description="how often they fired; null: they were not read"
    )
    checked: int | None = Field(
        default=None,
        description="foreign keys that were checked as rows were inserted; null: not read",
    )


class SequenceVisits(Frozen):
    """A sequence has one page, and a session that takes a value locks it for itself."""

    sequence: str = _said("schema.sequence, in quotes where a statement needs them")
    page_visits: int = _said("accesses to its page: one for as many values as `cache` says")
    cache: int = _said("values that a session takes at a time (CACHE)")
    values: float | None = Field(
        default=None, description="values from its least to its greatest; null: it begins again"
    )


class Keeper(Frozen):
    """What keeps the versions that later transactions leave from being removed."""

    kind: Literal["session", "prepared", "slot"] = _said(
        "a session, a prepared transaction, or a replication slot"
    )
    name: str = _said("user and application, or the name of the transaction or the slot")
    state: str = _said("the session's state; of a slot, whether it is in use")
    statement: str = _said("the session's last statement with question marks for values; or empty")
    age: int = _said("transactions since its snapshot, or since its own number")
    since_s: float | None = _said("seconds since it started; null: not known")


class CountedStatement(Frozen):
    """A group of statements as pg_stat_statements counts it; times include those of waits."""

    statement: str = _said(
        "statement with question marks for values, cut at 400 characters; sbtestN: the sum"
        " over tables that differ only in the number at their end; empty: of statements not shown"
    )
    calls: int = _said("executions that ended without an error")
    plans: int | None = _said("how often it was planned; null: not counted (track_planning)")
    plan_s: float | None = _said("seconds of planning; null: not counted")
    exec_s: float = _said("seconds of executing")
    rows: int = _said("rows returned or changed")
    pages_hit: int = _said("pages found in shared_buffers")
    pages_read: int = _said("pages read from the disk or the kernel's cache")
    temp_pages: int = _said("pages of temporary files written")
    wal_bytes: int = _said("bytes of WAL")
    jit_s: float | None = _said("seconds of compiling; null: not counted (before version 15)")


class HotSpots(Frozen):
    """The largest of each kind over a whole step, including its warm-up; largest first."""

    statements: tuple[StatementSpot, ...] = ()
    waits: tuple[WaitSpot, ...] = ()
    fine_events: int | None = Field(
        default=None,
        description="waits for locks of the server's own, and stages, that were timed; null: none",
    )
    unread: tuple[UnreadIndexes, ...] | None = Field(
        default=None,
        description="tables with indexes that nobody reads; null: their use is not counted",
    )
    files: tuple[FileSpot, ...] = ()
    tables: tuple[TableSpot, ...] = ()
    versions: tuple[TableVersions, ...] = ()
    sequences: tuple[SequenceVisits, ...] | None = None
    """`None`: they were not read."""
    keepers: tuple[Keeper, ...] = ()
    counted: tuple[CountedStatement, ...] = ()
    counted_rest: CountedStatement | None = None
    """The sum over those that are not among them; `None`: there are none."""
    not_evaluated: dict[str, str] = {}
    """Kinds that the server does not report, and what to switch on."""
