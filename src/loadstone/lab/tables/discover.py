"""Finds the tables of a workload on a target: how many there are, and how large."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from loadstone.families import family_of
from loadstone.lab.tables.missing import first_of
from loadstone.model.effect import StatementEffect
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, counted, say
from loadstone.model.plan import OptionValue
from loadstone.model.target import Target
from loadstone.servers import tpcc_tables
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import KNOWN_LAYOUTS, TABLE_NAMES, Layout, Numbered, TableFacts
from loadstone.servers.guard import Consent, ListedTable, SchemaState, check_writes
from loadstone.workloads.templates.writes import check_writes_of_template

BESIDE: dict[Layout, tuple[Numbered, ...]] = {"hot": ("products", "orders")}
"""Tables that are created together with those of a layout, in the same number."""

_COUNT_LIMIT_S = 3.0


class Wanted(Frozen):
    """What a workload needs; `None` means whatever the target has."""

    workload: str
    """The workload's name, or the path of its file."""

    layout: Layout
    names: tuple[str, ...] = ()
    """Names of a template's tables."""

    effects: tuple[StatementEffect, ...] = ()
    """Effects of a template's statements, where the server does not keep them from writing."""

    tables: int | None = None
    table_size: int | None = None
    warehouses: int | None = None
    users: int = 1
    beside: tuple[Numbered, ...] = ()
    """Layouts whose tables the workload needs as well, under the same numbers."""
    writes: bool = False
    """Whether it changes rows: then its tables must have exactly the layout that it would
    create."""
    consent: Consent = Consent()
    """The consent to write where tables of others are near."""


class Data(Frozen):
    """The data that the workload will use, with notes where it differs from what is there."""

    tables: int
    table_size: int
    warehouses: int = 0
    """Number of warehouses of `tpcc`."""

    notes: tuple[Message, ...] = ()


_ANY_OLTP = "oltp_read_write"
"""All oltp_ workloads share their tables; of a mix there is no single name."""


def table_name(layout: Layout, number: int) -> str:
    """The table's name for this layout and number."""
    if layout == "tpcc":
        return tpcc_tables.NAMES[number - 1]
    assert layout != "template", "its file has the names of its tables"
    return f"{TABLE_NAMES[layout]}{number}"


def needed_beside(layout: Layout, options: Mapping[str, OptionValue]) -> tuple[Numbered, ...]:
    """The further layouts that are needed: a sale reads a product's page and adds an order."""
    return BESIDE.get(layout, ()) if options.get("sale", True) else ()


def find_data(connection: Connection, target: Target, wanted: Wanted) -> Data:
    """Look for the tables.

    Raises:
        GuardError: the workload writes, and the tables or their neighbours may be somebody's.
        TargetError: schema or tables are missing, or not fully loaded; the hint is the command
            that makes them.
    """
    of_template = (wanted.workload, wanted.names, wanted.effects)
    agreed = check_writes_of_template(connection, target, of_template, wanted.consent)
    state, there = tables_for(connection, target, wanted)
    schema = state.schema_name
    family_of(target).use_schema(connection, schema)
    if wanted.layout == "tpcc":
        return _find_warehouses(connection, target, wanted, state)
    if wanted.layout == "template":
        found = _data_of_template(target, wanted, state, there)
        return found.model_copy(update={"notes": agreed})
    tables = wanted.tables or len(there)
    refuse_unfinished(target, wanted, state, there[:tables])
    size, notes = _size(connection, target, wanted, state, there[:tables])
    if wanted.layout == "sbtest":
        indexed = family_of(target).indexed_on(connection, target, schema, "k")
        notes += without_index(there[:tables], indexed)
    if tables != len(there):
        notes += (
            say(
                "--tables {asked}, and schema {schema} has {there} of them",
                asked=tables,
                schema=schema,
                there=len(there),
            ),
        )
    return Data(tables=tables, table_size=size, notes=notes)


def tables_for(
    connection: Connection, target: Target, wanted: Wanted
) -> tuple[SchemaState, list[TableFacts]]:
    """The schema as it is now, and the tables in it that the workload can use, in order.

    Raises:
        GuardError: the workload writes, and the tables or their neighbours may be somebody's.
        TargetError: schema or tables are missing.
    """
    schema = target.database or ""
    state = family_of(target).read_schema(connection, target, schema)
    if not state.exists:
        raise TargetError(
            "unknown_database",
            say(
                "{place} has no schema '{schema}' that this user may use",
                place=target.place,
                schema=schema,
            ),
            _prepare_command(target, wanted),
        )
    if wanted.writes and wanted.layout != "template":
        check_writes(state, (), wanted.workload, wanted.consent)
    if wanted.layout == "tpcc":
        # Nobody else uses their names, and the caller reports missing ones.
        return state, [table for table in state.tables if table.layout == "tpcc"]
    if wanted.layout == "template":
        return state, _tables_of_template(target, wanted, state)
    there = numbered_tables(state.tables, wanted.layout)
    needed = wanted.tables or (wanted.users if wanted.layout == "bulk" else 1)
    if len(there) < needed:
        if wanted.writes:
            # A table of that name would be written to if it had the right columns.
            following = table_name(wanted.layout, len(there) + 1)
            named = [table for table in state.tables if table.name == following]
            check_writes(state, named, wanted.workload, wanted.consent)
        raise _missing(target, wanted, there, needed)
    tables = wanted.tables or len(there)
    used = there[:tables]
    for layout in wanted.beside:
        if len(those := numbered_tables(state.tables, layout)) < tables:
            raise _missing(target, wanted.model_copy(update={"layout": layout}), those, tables)
        used += those[:tables]
    if wanted.writes:
        check_writes(state, used, wanted.workload, wanted.consent)
    return state, there


def _find_warehouses(
    connection: Connection, target: Target, wanted: Wanted, state: SchemaState
) -> Data:
    used = [table for table in state.tables if table.layout == "tpcc"]
    if missing := sorted(set(tpcc_tables.NAMES) - {table.name for table in used}):
        raise TargetError(
            "missing_table",
            say(
                "schema {schema} at {place} has no table {table} that {workload} can use",
                schema=target.database,
                place=target.place,
                table=missing[0],
                workload=wanted.workload,
            ),
            _prepare_command(target, wanted),
        )
    refuse_unfinished(target, wanted, state, used)
    there = family_of(target).count_rows(connection, target, "tpcc_warehouse", _COUNT_LIMIT_S).rows
    if there < (wanted.warehouses or 1):
        raise TargetError(
            "missing_table",
            say(
                "schema {schema} at {place} has {there} of the {asked} warehouses",
                schema=target.database,
                place=target.place,
                there=there,
                asked=wanted.warehouses or 1,
            ),
            say(
                "{cleanup}, then {command}",
                cleanup=_cleanup_command(target, wanted),
                command=_prepare_command(target, wanted),
            ),
        )
    warehouses = wanted.warehouses or there
    notes: tuple[Message, ...] = (
        say("TPC-C-like: not audited, and not comparable with audited results"),
    )
    if warehouses != there:
        notes += (
            say(
                "--warehouses {asked}, and schema {schema} has {there}",
                asked=warehouses,
                schema=target.database,
                there=there,
            ),
        )
    return Data(tables=len(used), table_size=tpcc_tables.ITEMS, warehouses=warehouses, notes=notes)


def _tables_of_template(target: Target, wanted: Wanted, state: SchemaState) -> list[TableFacts]:
    """The template's tables, all of which exist; empty if it has none."""
    used = [table for table in state.tables if table.name in wanted.names]
    if wanted.writes:
        check_writes(state, used, wanted.workload, wanted.consent)
    if missing := sorted(set(wanted.names) - {table.name for table in used}):
        raise TargetError(
            "missing_table",
            counted(
                "schema {schema} at {place} has no table {tables} of {workload}",
                "schema {schema} at {place} lacks {number} tables of {workload}: {tables}",
                len(missing),
                schema=target.database,
                place=target.place,
                tables=first_of(missing),
                workload=wanted.workload,
            ),
            _prepare_command(target, wanted),
        )
    return used


def _data_of_template(
    target: Target, wanted: Wanted, state: SchemaState, used: Sequence[TableFacts]
) -> Data:
    """The data of a template; rows are not counted, as its file says which ones users choose."""
    refuse_unfinished(target, wanted, state, used)
    loaded = [line.rows for line in state.listed for table in used if line.is_of(table)]
    return Data(tables=max(len(used), 1), table_size=max(loaded, default=1) or 1)


def numbered_tables(tables: Sequence[TableFacts], layout: Numbered) -> list[TableFacts]:
    """The tables of the layout, from number 1 up to the first gap."""
    columns = tuple(name for name, _ in KNOWN_LAYOUTS[layout])
    by_number: dict[int, TableFacts] = {}
    for table in tables:
        found = re.fullmatch(rf"{TABLE_NAMES[layout]}([1-9]\d*)", table.name)
        if found and tuple(name for name, _ in table.columns) == columns:
            by_number[int(found[1])] = table
    row: list[TableFacts] = []
    while (following := by_number.get(len(row) + 1)) is not None:
        row.append(following)
    return row


def refuse_unfinished(
    target: Target, wanted: Wanted, state: SchemaState, used: Sequence[TableFacts]
) -> None:
    """Refuse to measure tables whose load is not finished.

    Raises:
        TargetError: a table is unfinished; the hint is the command that continues the load.
    """
    for table in used:
        for line in state.listed:
            if line.state == "loading" and line.is_of(table):
                raise TargetError(
                    "missing_table",
                    say(
                        "{table} is not fully loaded: its `loadstone prepare` was stopped, or is "
                        "still running",
                        table=table.name,
                    ),
                    _same_prepare_command(target, wanted, state, line),
                )


def without_index(used: Sequence[TableFacts], indexed: Collection[str]) -> tuple[Message, ...]:
    """A note on the tables that lack sysbench's index on `k`."""
    lacking = [table.name for table in used if table.name not in indexed]
    if not lacking:
        return ()
    if len(lacking) == 1:
        return (
            say(
                "{table} has no index on k: its selects by k read the whole table, and updates of "
                "k have no index to keep",
                table=lacking[0],
            ),
        )
    return (
        say(
            "{table} and {number} more have no index on k: their selects by k read the whole "
            "table, and updates of k have no index to keep",
            table=lacking[0],
            number=len(lacking) - 1,
        ),
    )


def _size(
    connection: Connection,
    target: Target,
    wanted: Wanted,
    state: SchemaState,
    used: Sequence[TableFacts],
) -> tuple[int, tuple[Message, ...]]:
    """The rows that keys are drawn from, with notes on tables of other sizes.

    Raises:
        TargetError: a table is empty, or smaller than the keys that would be drawn.
    """
    if wanted.layout in ("bulk", "ledger"):  # they start empty, and draw no keys
        return wanted.table_size or 1, ()
    rows = {table.name: _rows(connection, target, state, table) for table in used}
    smallest = min(rows, key=lambda name: rows[name])
    notes: tuple[Message, ...] = ()
    if len(set(rows.values())) > 1:
        largest = max(rows, key=lambda name: rows[name])
        notes = (
            say(
                "tables differ in size: {smallest} has {fewest} rows, {largest} has {most}",
                smallest=smallest,
                fewest=rows[smallest],
                largest=largest,
                most=rows[largest],
            ),
        )
    if wanted.table_size and wanted.table_size != rows[smallest]:
        if wanted.table_size > rows[smallest] > 0:
            _refuse_smaller(connection, target, wanted, smallest, rows[smallest])
        notes += (
            say(
                "--table-size {asked}, and {table} has {rows} rows",
                asked=wanted.table_size,
                table=smallest,
                rows=rows[smallest],
            ),
        )
    size = wanted.table_size or rows[smallest]
    if rows[smallest] < 1:
        raise TargetError(
            "missing_table",
            say("table {table} is empty", table=smallest),
            _prepare_command(target, wanted),
        )
    return size, notes


def _refuse_smaller(
    connection: Connection, target: Target, wanted: Wanted, table: str, rows: int
) -> None:
    """Refuse keys beyond a table's last row: statements on them would find nothing, and be fast.

    A table from which rows were deleted since still has high ids.

    Raises:
        TargetError: the table is smaller than `--table-size`.
    """
    if (wanted.table_size or 0) <= family_of(target).highest_id(connection, target, table):
        return
    raise TargetError(
        "missing_table",
        say(
            "--table-size {asked}, and {table} in schema {schema} at {place} has only {rows} rows:"
            " keys beyond them would find nothing",
            asked=wanted.table_size,
            table=table,
            schema=target.database,
            place=target.place,
            rows=rows,
        ),
        say(
            "--table-size {rows} uses the tables as they are; for larger ones first {cleanup}, then"
            " {command}",
            rows=str(rows),
            cleanup=_cleanup_command(target, wanted),
            command=_prepare_command(target, wanted),
        ),
    )


def _rows(connection: Connection, target: Target, state: SchemaState, table: TableFacts) -> int:
    """The number of rows: as loaded if Loadstone loaded the table, else counted."""
    for line in state.listed:
        if line.state == "ready" and line.is_of(table):
            return line.rows
    return family_of(target).count_rows(connection, target, table.name, _COUNT_LIMIT_S).rows


def _missing(
    target: Target, wanted: Wanted, there: Sequence[TableFacts], needed: int
) -> TargetError:
    told = {
        "schema": target.database,
        "place": target.place,
        "table": table_name(wanted.layout, len(there) + 1),
        "workload": wanted.workload,
        "there": len(there),
        "needed": needed,
    }
    said = (
        say(
            "schema {schema} at {place} has no table {table} that {workload} can use ({there} of "
            "{needed} are there; {workload} needs a table for each user)",
            **told,
        )
        if wanted.layout == "bulk" and not wanted.tables
        else say(
            "schema {schema} at {place} has no table {table} that {workload} can use ({there} of "
            "{needed} are there)",
            **told,
        )
    )
    return TargetError("missing_table", said, _prepare_command(target, wanted, needed))


def _same_prepare_command(
    target: Target, wanted: Wanted, state: SchemaState, unfinished: ListedTable
) -> str:
    """The command that continues a load, with its original tables, rows and seed."""
    alike = {"layout": unfinished.layout, "rows": unfinished.rows, "seed": unfinished.seed}
    tables = sum(
        {"layout": line.layout, "rows": line.rows, "seed": line.seed} == alike
        for line in state.listed
    )
    rows = unfinished.rows or None  # bulk tables are created empty
    of_then = wanted.model_copy(update={"tables": tables, "table_size": rows})
    if unfinished.layout == "template":
        of_then = wanted
    if unfinished.layout == "tpcc":
        of_then = wanted.model_copy(update={"warehouses": rows})
    seed = f" --seed {unfinished.seed}" if unfinished.seed else ""
    return _prepare_command(target, of_then) + seed


def _prepare_command(target: Target, wanted: Wanted, tables: int | None = None) -> str:
    """The command that makes the tables, ready to be copied, with the same password source."""
    words = ["loadstone", "prepare"]
    if wanted.layout != "sbtest":
        words.append(wanted.workload)
    words += ["--target", target.url]
    count = wanted.tables or (tables if wanted.layout == "bulk" else None)
    if count:
        words += ["--tables", str(count)]
    if wanted.table_size:
        words += ["--table-size", str(wanted.table_size)]
    if wanted.warehouses:
        words += ["--warehouses", str(wanted.warehouses)]
    return shlex.join(words)


def _cleanup_command(target: Target, wanted: Wanted) -> str:
    """The command that drops the tables of the workload, and no others, ready to be copied."""
    workload = _ANY_OLTP if wanted.layout == "sbtest" else wanted.workload
    return shlex.join(["loadstone", "cleanup", workload, "--target", target.url])
