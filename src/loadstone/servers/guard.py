"""The rule that protects users' data: Loadstone never touches what it did not make.

Loadstone lists the tables that it makes in a table of its own, `loadstone_tables`, in the same
schema. A table is

- **ours** if it is listed there, still has the recorded mark and columns, and was not recreated
  since; and no other table may have its mark, unless it was made at another time;
- **sysbench's** if it has sysbench's exact layout and name (`sbtestN` with id, k, c, pad);
- **foreign** otherwise.

`prepare` only makes tables under free names, and continues ours. `cleanup` drops ours and, on
request, sysbench's, never a foreign one. Both need `--yes` if the schema has foreign tables or the
server is not on this machine, unless it is a sandbox. `--yes` never permits changes to a foreign
table.

Reading the state of a schema needs a server; deciding does not: `decide_prepare` and
`decide_cleanup` are pure functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Literal

from loadstone.model.figure import Count
from loadstone.model.frozen import Frozen
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Target
from loadstone.servers.errors import GuardError
from loadstone.servers.facts import TableFacts, mark_for

LIST_TABLE = "loadstone_tables"

Origin = Literal["ours", "sysbench", "foreign"]
LoadState = Literal["loading", "ready"]

_NAMES_SHOWN = 5
_ANOTHER_SCHEMA = say("they are never touched: use another schema")
_SCHEMA_OF_ITS_OWN = say(
    "use a schema of its own, or, if this one is intended (they are left alone): --yes"
)
LIST_COLUMNS = (
    "table_name", "layout", "row_count", "seed", "created_at", "state", "columns_hash",
)  # fmt: skip
MADE_COLUMN = "made_s"
"""A column added later: lists of older versions do not have it."""


class ListedTable(Frozen):
    """A row of the list: a table that Loadstone made or is making."""

    name: str
    layout: str
    rows: int
    seed: int
    state: LoadState
    columns_hash: str | None = None
    """Hash of the loaded table; until then its mark. A table with another hash is not ours."""
    made_s: int | None = None
    """`TableFacts.created_s` once the table existed; a table recreated since is not ours."""

    def is_of(self, table: TableFacts) -> bool:
        """Whether the table is the listed one, and not a later one with the same name."""
        if table.is_view or table.name != self.name:
            return False
        if self.made_s is not None and self.made_s != table.created_s:
            return False
        if self.columns_hash is not None:
            return self.columns_hash in (table.mark, hash_of_columns(table))
        # Never finished, and older than the marks: only the layout can be compared.
        return self.layout == table.layout


class SchemaState(Frozen):
    """The state of a schema: its tables, and Loadstone's list of those that it made."""

    schema_name: str
    exists: bool
    tables: tuple[TableFacts, ...] = ()
    listed: tuple[ListedTable, ...] = ()

    def origin(self, table: TableFacts) -> Origin:
        """Who made a table, as far as can be determined."""
        if any(line.is_of(table) and not self._is_copied(line, table) for line in self.listed):
            return "ours"
        return "sysbench" if table.layout == "sbtest" else "foreign"

    def may_have(self, line: ListedTable) -> bool:
        """Whether the table of a row, or a copy of it, exists."""
        table = self._by_name.get(line.name)
        return table is not None and line.is_of(table)

    def _is_copied(self, line: ListedTable, table: TableFacts) -> bool:
        """Whether another table has this table's unique mark, so that either may be the copy.

        For a loaded table the creation time tells them apart; for others nothing does.
        """
        if table.mark is None or table.mark != mark_for(table.name, table.mark):
            return False  # from before each table had its own mark
        return any(
            line.made_s is None or other.created_s == line.made_s
            for other in self._by_mark[table.mark]
            if other.name != table.name
        )

    @cached_property
    def _by_name(self) -> dict[str, TableFacts]:
        return {table.name: table for table in self.tables}

    @cached_property
    def _by_mark(self) -> dict[str, list[TableFacts]]:
        found: dict[str, list[TableFacts]] = {}
        for table in self.tables:
            if table.mark is not None:
                found.setdefault(table.mark, []).append(table)
        return found

    def of(self, origin: Origin) -> tuple[str, ...]:
        """The names of the tables with that origin, without the list itself."""
        return tuple(
            table.name
            for table in self.tables
            if table.name != LIST_TABLE and self.origin(table) == origin
        )

    @property
    def strangers(self) -> tuple[str, ...]:
        """The names of tables that no workload of ours could have made, even if they are listed."""
        return tuple(
            table.name
            for table in self.tables
            if table.name != LIST_TABLE and table.layout is None and self.origin(table) == "foreign"
        )

    @property
    def list_is_foreign(self) -> bool:
        """Whether a table that Loadstone did not make has the list's name."""
        return any(table.name == LIST_TABLE and not is_list(table) for table in self.tables)


class Consent(Frozen):
    """The reasons to continue although real data may be affected."""

    yes: bool = False
    sandbox: bool = False
    elsewhere: Message | None = say("which nobody has looked for on this machine")
    """Why the server counts as one on another machine; `None` if it runs on this one."""

    @property
    def is_given(self) -> bool:
        """Whether no confirmation is needed."""
        return self.yes or self.sandbox


class PrepareDecision(Frozen):
    """What `prepare` may do."""

    creates_schema: bool
    continues: tuple[TableFacts, ...]
    """Existing tables of ours, whose loading is continued."""


class CleanupDecision(Frozen):
    """What `cleanup` drops, and what it keeps."""

    drops: tuple[str, ...]
    leaves: tuple[str, ...]
    leaves_of_sysbench: tuple[str, ...] = ()
    """Tables with sysbench's exact names and layouts, which the user did not ask to drop."""
    forgets: tuple[str, ...] = ()
    """Listed names whose table is gone, or replaced by a foreign one."""


def decide_prepare(
    state: SchemaState, names: Iterable[str], target: Target, consent: Consent
) -> PrepareDecision:
    """Decide whether tables with these names may be made.

    Raises:
        GuardError: they may not; says why, and what would change that.
    """
    wanted = set(names)
    _refuse_foreign_list(state)
    _ask_for_consent(state, target, consent, "prepare")
    for origin in ("foreign", "sysbench"):
        if taken := [name for name in state.of(origin) if name in wanted]:
            raise _in_the_way(state, origin, taken)
    ours = set(state.of("ours")) & wanted
    there = tuple(table for table in state.tables if table.name in ours)
    return PrepareDecision(creates_schema=not state.exists, continues=there)


def decide_cleanup(
    state: SchemaState,
    target: Target,
    consent: Consent,
    names: Collection[str] | None = None,
    *,
    of_sysbench: bool = False,
) -> CleanupDecision:
    """Decide what may be dropped; if there is nothing to drop, no consent is needed.

    `names`: only drop these, out of all that may be dropped. `of_sysbench`: also drop those that
    sysbench made.

    Raises:
        GuardError: something could be dropped, but only with `--yes`; or the list is not ours.
    """
    _refuse_foreign_list(state)
    ours, theirs = state.of("ours"), state.of("sysbench")
    if names is not None:
        drops = tuple(name for name in ours + theirs if name in names)
    else:
        drops = ours + theirs if of_sysbench else ours
    if drops:
        _ask_for_consent(state, target, consent, "cleanup")
    # A table that may be a copy stays listed: it is ours again once the other one is gone.
    there = {line.name for line in state.listed if state.may_have(line)}
    gone = (line.name for line in state.listed if line.name not in {*ours, *theirs, *there})
    return CleanupDecision(
        drops=drops,
        leaves=state.of("foreign"),
        leaves_of_sysbench=tuple(name for name in theirs if name not in drops),
        forgets=tuple(name for name in gone if names is None or name in names),
    )


def check_writes(
    state: SchemaState, used: Iterable[TableFacts], workload: str, consent: Consent
) -> None:
    """Check that a workload may change the rows of these tables.

    Raises:
        GuardError: it may not; names the tables, and says what would change that.
    """
    ours = state.of("ours")
    if wrong := [one.name for one in used if one.layout is None and one.name not in ours]:
        raise GuardError(
            "table_in_the_way",
            say(
                "schema {schema} has tables that are neither Loadstone's nor in sysbench's layout,"
                " and {workload} would write to them: {tables}",
                schema=state.schema_name,
                workload=workload,
                tables=_some(wrong),
            ),
            _ANOTHER_SCHEMA,
        )
    if (strangers := state.strangers) and not consent.is_given:
        raise GuardError(
            "foreign_tables",
            say(
                "schema {schema} has tables that are neither Loadstone's nor in sysbench's layout,"
                " and {workload} writes: {tables}",
                schema=state.schema_name,
                workload=workload,
                tables=_some(strangers),
            ),
            _SCHEMA_OF_ITS_OWN,
        )


def hash_of_columns(table: TableFacts) -> str:
    """A short hash of a table's columns (names, types and order), and of its mark if it has one."""
    text = repr(table.columns) + (table.mark or "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_list(table: TableFacts) -> bool:
    """Whether a table with the list's name was made by Loadstone."""
    names = tuple(name for name, _ in table.columns)
    return not table.is_view and names in (LIST_COLUMNS, (*LIST_COLUMNS, MADE_COLUMN))


def _refuse_foreign_list(state: SchemaState) -> None:
    if state.list_is_foreign:
        raise GuardError(
            "table_in_the_way",
            say(
                "schema {schema} has a table {table} that is not Loadstone's",
                schema=state.schema_name,
                table=LIST_TABLE,
            ),
            say(
                "Loadstone keeps its list under that name, and never touches this one: use another"
                " schema"
            ),
        )


def _ask_for_consent(state: SchemaState, target: Target, consent: Consent, what: str) -> None:
    if consent.is_given:
        return
    if consent.elsewhere is not None:
        raise GuardError(
            "not_loopback",
            say(
                "{command} would change the server at {place}, {where}",
                command=what,
                place=target.place,
                where=consent.elsewhere,
            ),
            say("if that is intended: --yes"),
        )
    if foreign := state.of("foreign"):
        raise GuardError(
            "foreign_tables",
            say(
                "schema {schema} has tables that are not Loadstone's: {tables}",
                schema=state.schema_name,
                tables=_some(foreign),
            ),
            _SCHEMA_OF_ITS_OWN,
        )


def _in_the_way(state: SchemaState, origin: Origin, names: Sequence[str]) -> GuardError:
    schema = state.schema_name
    if origin == "sysbench":
        return _sysbenchs_in_the_way(state, names)
    if changed := [line.name for line in state.listed if line.name in names]:
        return GuardError(
            "table_in_the_way",
            say(
                "schema {schema} has tables that were recreated or changed since Loadstone made"
                " them: {tables}",
                schema=schema,
                tables=_some(changed),
            ),
            _ANOTHER_SCHEMA,
        )
    return GuardError(
        "table_in_the_way",
        say(
            "schema {schema} has tables of these names that are not Loadstone's: {tables}",
            schema=schema,
            tables=_some(names),
        ),
        _ANOTHER_SCHEMA,
    )


def _sysbenchs_in_the_way(state: SchemaState, names: Sequence[str]) -> GuardError:
    told = {"schema": state.schema_name, "tables": _some(names)}
    made = say("schema {schema} has tables made by `sysbench prepare`: {tables}", **told)
    if any(line.name in names for line in state.listed):
        made = say(
            "schema {schema} has tables that were recreated or changed since Loadstone made them,"
            " as `sysbench prepare` makes them: {tables}",
            **told,
        )
    return GuardError(
        "table_in_the_way",
        made,
        say(
            "`loadstone run` can use them as they are; `sysbench ... cleanup` or `loadstone cleanup"
            " --sysbench-tables` drops them"
        ),
    )


def _some(names: Iterable[str]) -> Message:
    every = list(names)
    shown, more = Joined(every[:_NAMES_SHOWN]), len(every) - _NAMES_SHOWN
    if more <= 0:
        return say("{list}", list=shown)
    return say("{list} and {number} more", list=shown, number=Count(more))
