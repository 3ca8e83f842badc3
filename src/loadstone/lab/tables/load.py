"""`prepare` and `cleanup`: creates and drops tables, within what the guard allows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from loadstone import engine
from loadstone.engine import Sending
from loadstone.families import connect, family_of
from loadstone.lab.protection.whereabouts import located
from loadstone.lab.step.failures import as_error
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupted, Interrupts
from loadstone.lab.step.listener import LoadObserver
from loadstone.lab.tables.discover import BESIDE, table_name
from loadstone.lab.tables.waiting import Waits
from loadstone.lab.variables.in_effect import refuse_losing
from loadstone.model.engine_plan import Layout, LoadPlan, load_document
from loadstone.model.figure import Count
from loadstone.model.message import Message, say
from loadstone.model.records import AnyLoadRecord, LoadEnd, LoadStalled
from loadstone.model.target import Endpoint
from loadstone.model.template import Template
from loadstone.observe import presence
from loadstone.servers import tpcc_tables
from loadstone.servers.connection import Connection
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.facts import Layout as LayoutKind
from loadstone.servers.facts import TableFacts, comment_of, mark_for
from loadstone.servers.guard import (
    CleanupDecision,
    Consent,
    ListedTable,
    PrepareDecision,
    SchemaState,
    decide_cleanup,
    decide_prepare,
)

Item = TypeVar("Item")

_BEGIN_EMPTY: tuple[LayoutKind, ...] = ("bulk", "orders", "ledger")

_LISTED_AT_ONCE = 500
# Large batches, because each look at the columns reads those of the whole schema.
_MARKED_AT_ONCE = 10_000


BeginLoad = Callable[[str], Sending[AnyLoadRecord]]
"""Starts a load from its document, on this machine's engine or on several machines."""


@dataclass(frozen=True)
class Loader:
    """Everything that a load needs to run."""

    endpoint: Endpoint
    consent: Consent
    observer: LoadObserver
    interrupts: Interrupts
    begin: BeginLoad = engine.load
    mark: str | None = None
    """The mark of new tables; `None`: a new one is drawn."""

    @property
    def schema(self) -> str:
        """The schema that the tables are in."""
        return self.endpoint.target.database or ""


def prepare(plan: LoadPlan, loader: Loader) -> LoadEnd:
    """Make and fill the tables; those of an earlier, unfinished load are continued.

    Tables that go with them (a sale's products and orders) are made first, so that the main tables
    never exist without them. The result describes the main tables only.

    Raises:
        GuardError, TargetError, Interrupted: as `_prepare`; and errors of the start of the load.
    """
    for kind in BESIDE.get(plan.layout.kind, ()):
        layout = plan.layout.model_copy(update={"kind": kind})
        _prepare(plan.model_copy(update={"layout": layout}), loader)
    return _prepare(plan, loader)


def _prepare(plan: LoadPlan, loader: Loader) -> LoadEnd:
    """Make and fill the tables of one layout.

    Each table is listed before it is made and marked after its rows were counted, so that a crash
    leaves no table without an owner.

    Raises:
        GuardError: tables of others would be in danger.
        TargetError: the target refused, or the counts are wrong.
        Interrupted: stopped on request; the same command continues.
    """
    target = loader.endpoint.target
    family = family_of(target)
    names = _names(plan.layout)
    stop = loader.interrupts
    with (
        stop.at_once(),
        Waits(loader.observer) as waits,
        waits.connected(loader.endpoint) as connection,
        presence.alone(connection, target, loader.schema),
    ):
        if family.is_passed_on(connection, target):
            set_there = (*family.session_state.of_loading(), *plan.session.init_sql)
            refuse_losing(loader.endpoint, set_there)
        state = family.read_schema(connection, target, loader.schema)
        stop.check()
        takes_files = family.takes_files(connection)
        if not takes_files:
            plan = plan.model_copy(update={"method": "insert"})
        consent = located(connection, target, loader.consent)
        decision = decide_prepare(state, names, target, consent)
        _refuse_another_load(state, [table.name for table in decision.continues], plan)
        if decision.creates_schema:
            family.create_schema(connection, target, loader.schema)
        marks = _marks(names, decision.continues, loader.mark or new_mark())
        for lines in _batches(_lines(plan, state, decision, marks), _LISTED_AT_ONCE):
            stop.check()
            family.list_tables(connection, target, loader.schema, lines)
        stop.check()
        end = _load(_marked(plan, decision, marks), loader, takes_files=takes_files)
        # A second connection, because a load may outlast the first one and its lock.
        with (
            waits.connected(loader.endpoint) as later,
            presence.alone(later, target, loader.schema),
        ):
            for some in _batches(names, _MARKED_AT_ONCE):
                stop.check()
                family.mark_ready(later, target, loader.schema, some)
            _refuse_strangers(family.read_schema(later, target, loader.schema), names)
    return end


def new_mark() -> str:
    """A random base for the marks of tables that are made together; no other tables have it."""
    return secrets.token_hex(8)


def _marks(names: Sequence[str], there: Sequence[TableFacts], new: str) -> dict[str, str]:
    """Marks by table name, which identify each table; new tables get one made from `new`.

    Tables that were started by a version without marks have none.
    """
    taken_up = {table.name: table.mark for table in there}
    marks = {name: taken_up.get(name, mark_for(name, new)) for name in names}
    return {name: mark for name, mark in marks.items() if mark}


def _marked(plan: LoadPlan, decision: PrepareDecision, marks: Mapping[str, str]) -> LoadPlan:
    update = {
        "continues": tuple(table.name for table in decision.continues),
        "marks": {name: comment_of(mark) for name, mark in marks.items()},
    }
    return plan.model_copy(update=update)


def _refuse_strangers(state: SchemaState, names: Sequence[str]) -> None:
    """Check that the loaded tables are still ours.

    Raises:
        GuardError: somebody has replaced them in the meantime.
    """
    ours = set(state.of("ours"))
    if gone := [name for name in names if name not in ours]:
        raise GuardError(
            "table_in_the_way",
            say(
                "schema {schema} no longer has the tables that were loaded: {tables}",
                schema=state.schema_name,
                tables=", ".join(gone[:5]),
            ),
            say("another client replaced or renamed them while the load was running"),
        )


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split items into batches, small enough that a request to stop is noticed soon."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


@dataclass(frozen=True)
class TablesOf:
    """The tables that `prepare` makes for a workload."""

    layouts: frozenset[str]
    """Their layouts, with those that go with them: all tables of these."""
    names: frozenset[str] = frozenset()
    """The names of a template's tables."""


def tables_made_for(layout: LayoutKind, template: Template | None = None) -> TablesOf:
    """The tables that `prepare` makes for a workload with this layout, or for a template."""
    names = template.names if template else frozenset()
    return TablesOf(frozenset({layout, *BESIDE.get(layout, ())}), names)


@dataclass(frozen=True)
class Cleaning:
    """Which tables to drop."""

    consent: Consent
    names: Collection[str] | None = None
    """Only these tables; `None`: all that Loadstone made."""
    of_sysbench: bool = False
    """Whether tables that sysbench made are included."""
    of: TablesOf | None = None
    """Only these of the tables that Loadstone made; `None`: all."""

    def names_in(self, state: SchemaState) -> Collection[str] | None:
        """The names of the tables that may be dropped; `None`: all that Loadstone made."""
        if self.of is None:
            return self.names
        theirs = set(state.of("sysbench"))
        listed = {line.name for line in state.listed if line.layout in self.of.layouts}
        names = listed & self.of.names if self.of.names else listed
        shared = theirs if "sbtest" in self.of.layouts else set()
        return names | shared if self.of_sysbench else names - theirs


def cleanup(endpoint: Endpoint, wanted: Cleaning) -> CleanupDecision:
    """Drop what Loadstone made, and requested tables with sysbench's exact layout and name.

    Raises:
        GuardError: that needs consent.
        TargetError: the target refused.
    """
    target, schema = endpoint.target, endpoint.target.database or ""
    with (
        connect(endpoint, database=None) as connection,
        presence.alone(connection, target, schema),
    ):
        state, decision = _cleaned(connection, endpoint, wanted)
        family_of(target).drop_tables(connection, target, state, decision)
    return decision


def look_at_cleanup(
    endpoint: Endpoint, wanted: Cleaning
) -> tuple[CleanupDecision, GuardError | None]:
    """What `cleanup` would drop with consent, and why it refuses without.

    Raises:
        GuardError: the list of tables is not ours.
        TargetError: the target refused.
    """
    with connect(endpoint, database=None) as connection:
        _, decision = _cleaned(connection, endpoint, replace(wanted, consent=Consent(yes=True)))
        try:
            _cleaned(connection, endpoint, wanted)
        except GuardError as error:
            return decision, error
    return decision, None


def _cleaned(
    connection: Connection, endpoint: Endpoint, wanted: Cleaning
) -> tuple[SchemaState, CleanupDecision]:
    target = endpoint.target
    state = family_of(target).read_schema(connection, target, target.database or "")
    consent = located(connection, target, wanted.consent)
    return state, decide_cleanup(
        state, target, consent, wanted.names_in(state), of_sysbench=wanted.of_sysbench
    )


def names_of(layout: Layout) -> tuple[str, ...]:
    """All tables that `prepare` makes for a layout, with those that go with it."""
    beside = [layout.model_copy(update={"kind": kind}) for kind in BESIDE.get(layout.kind, ())]
    return tuple(name for each in (*beside, layout) for name in _names(each))


def layout_for(kind: LayoutKind, tables: int, table_size: int, warehouses: int = 0) -> Layout:
    """The tables of a workload's layout; a bulk table is made empty, `tpcc` has its own."""
    if kind == "tpcc":
        tables, table_size = len(tpcc_tables.NAMES), tpcc_tables.ITEMS
    return Layout(kind=kind, tables=tables, table_size=table_size, warehouses=warehouses)


def layout_of(template: Template, storage_engine: str = "innodb") -> Layout:
    """The tables of a template."""
    tables = template.loaded(storage_engine)
    return Layout(
        kind="template",
        tables=len(tables),
        table_size=max(table.rows for table in tables) or 1,
        storage_engine=storage_engine,
        template=tables,
    )


def together(layouts: Sequence[Layout]) -> list[Layout]:
    """Merge layouts of a kind: shared tables are as many and as large as any workload needs."""
    found: dict[object, Layout] = {}
    for layout in layouts:
        # A template has tables of its own, and shares them only with itself.
        which = (layout.kind, *(table.name for table in layout.template))
        other = found.get(which, layout)
        sizes = ("tables", "table_size", "warehouses")
        largest = {name: max(getattr(layout, name), getattr(other, name)) for name in sizes}
        found[which] = layout.model_copy(update=largest)
    return list(found.values())


def _load(plan: LoadPlan, loader: Loader, *, takes_files: bool) -> LoadEnd:
    ends: list[LoadEnd] = []

    def take(record: AnyLoadRecord) -> bool:
        if isinstance(record, LoadEnd):
            ends.append(record)
            return True
        if isinstance(record, LoadStalled):
            loader.observer.on_stalled(record)
        else:
            update = {"takes_files": takes_files}
            loader.observer.on_progress(record.model_copy(update=update))
        return False

    follow(loader.begin(load_document(plan, loader.endpoint)), take, loader.interrupts)
    if not ends or ends[0].reason == "stopped":
        raise Interrupted(say("loading was stopped; the same command continues where it stopped"))
    (end,) = ends
    if end.error:
        raise as_error(end.error, [loader.endpoint.target])
    expected = _expected_rows(plan.layout)
    if expected is not None and end.rows != expected:
        raise TargetError(
            "statement_failed",
            say(
                "{rows} rows were counted where {expected} were loaded",
                rows=end.rows,
                expected=expected,
            ),
            say("does something else write to these tables?"),
        )
    return end


def _names(layout: Layout) -> list[str]:
    if layout.template:
        return [table.name for table in layout.template]
    return [table_name(layout.kind, number + 1) for number in range(layout.tables)]


def _expected_rows(layout: Layout) -> int | None:
    """The expected rows; `None` where only the engine knows: TPC-C's orders have random lines."""
    if layout.template:
        return sum(table.rows for table in layout.template)
    return None if layout.kind == "tpcc" else layout.tables * _listed_rows(layout)


def _listed_rows(layout: Layout) -> int:
    """The size that the list of tables records; for TPC-C, the warehouses."""
    if layout.kind == "tpcc":
        return layout.warehouses
    return 0 if layout.kind in _BEGIN_EMPTY else layout.table_size


def _lines(
    plan: LoadPlan, state: SchemaState, decision: PrepareDecision, marks: Mapping[str, str]
) -> list[ListedTable]:
    """What the list records for the tables from now on, before any is made.

    A template's table that was started by a version without marks is recognised by its columns, and
    one of another layout by the layout.
    """
    rows = {table.name: table.rows for table in plan.layout.template}
    taken_up = {table.name for table in decision.continues} if rows else set()
    before = {line.name: line.columns_hash for line in state.listed if line.name in taken_up}
    return [
        ListedTable(
            name=name,
            layout=plan.layout.kind,
            rows=rows.get(name, _listed_rows(plan.layout)),
            seed=plan.seed,
            state="loading",
            columns_hash=marks.get(name, before.get(name)),
        )
        for name in _names(plan.layout)
    ]


def _refuse_another_load(state: SchemaState, continues: Sequence[str], plan: LoadPlan) -> None:
    """Refuse to continue a load with other options, which would mix two sets of rows."""
    of_template = {table.name: table.rows for table in plan.layout.template}
    for line in state.listed:
        if line.name not in continues or plan.layout.kind == "bulk":
            continue
        wanted = of_template.get(line.name, _listed_rows(plan.layout))
        if plan.layout.kind in ("tpcc", "template") and line.state == "ready":
            raise _complete(line)
        if plan.layout.kind == "tpcc" and line.rows != wanted:
            what = say("rows of another number of warehouses, {rows}", rows=line.rows)
        elif line.layout != plan.layout.kind or line.rows != wanted:
            what = say("{rows} rows of the layout {layout}", rows=line.rows, layout=line.layout)
        elif line.seed != plan.seed:
            what = say("rows of seed {seed}", seed=line.seed)
        else:
            continue
        raise GuardError(
            "table_in_the_way",
            say(
                "table {table} was made with {what}, which is not what you ask for now",
                table=line.name,
                what=what,
            ),
            say(
                "`loadstone cleanup {workload}` drops it; or ask for the same as before",
                workload=_workload_of(line.layout),
            ),
        )


def _complete(line: ListedTable) -> GuardError:
    """The error for a complete table: a load would reset some of the rows that runs changed."""
    size = (
        say("warehouses: {number}", number=Count(line.rows))
        if line.layout == "tpcc"
        else say("rows: {number}", number=Count(line.rows))
    )
    return GuardError(
        "table_in_the_way",
        say(
            "table {table} is complete ({size}), and runs may have changed it",
            table=line.name,
            size=size,
        ),
        _used_or_dropped(line.layout),
    )


def _used_or_dropped(layout: str) -> Message:
    if layout == "template":
        return say(
            "`loadstone run` with the same file uses it as it is; `loadstone cleanup` drops it"
        )
    return say(
        "`loadstone run {workload}` uses it as it is; `loadstone cleanup {workload}` drops it",
        workload=_workload_of(layout),
    )


def _workload_of(layout: str) -> str:
    """The first workload whose tables have this layout; `FILE` for those of a template."""
    known = engine.workloads().values()
    return next((one.name for one in known if one.layout == layout), "FILE")
