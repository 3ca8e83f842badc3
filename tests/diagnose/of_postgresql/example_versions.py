"""Dead versions of rows, who keeps them, and updates that are written to every index."""

from __future__ import annotations

from typing import Any

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from diagnose.of_postgresql.tables import a_table
from loadstone.diagnosis.rules.postgresql import (
    bloated_tables,
    dead_rows,
    hot_updates,
    long_transaction,
    unused_indexes,
)
from loadstone.model.hot_spots import HotSpots, IndexOfVersions, Keeper, TableVersions
from loadstone.model.result import UpdatedColumns

_BUSY = an_account(on_core=0.3, waiting_for_a_core=0.3, commit=0.2)
_VIEWS = "the server's views of its tables"


def spots(*tables: TableVersions, keepers: tuple[Keeper, ...] = ()) -> HotSpots:
    """What the server's views say of these tables."""
    return HotSpots(versions=tables, keepers=keepers)


def seen(found: HotSpots | None, **figures: Any) -> Figures:
    """A step on busy cores, with these tables."""
    step = {"hot_spots": found, **figures.pop("step", {})}
    return at(_BUSY, step=step, **figures)


def _updating(*columns: str) -> dict[str, Any]:
    updated = UpdatedColumns(table="sbtest1", columns=columns)
    return {"server_figures": {"updated_columns": (updated,)}}


_SCANNED = {"live": 1000, "scanned": 20_000_000, "page_visits": 100_000_000}
_DEAD = a_table(dead_before=8000, dead=9000, **_SCANNED)
_LATE = a_table(dead_before=300_000, dead=400_000, **_SCANNED)
_ENTRIES = (
    IndexOfVersions(index="k_1", columns=("k",), entries=0, fetched=0),
    IndexOfVersions(index="sbtest1_pkey", columns=("id",), entries=25_000_000, fetched=120_000),
)
_LED = a_table(dead_before=8000, dead=9000, page_visits=25_000_000, indexes=_ENTRIES)
_ALONE = a_table(dead_before=8000, dead=9000, page_visits=150_000, indexes=_ENTRIES)
_BLOATED = {"live": 200, "dead_before": 0, "dead": 0, "updated": 0, "fetched": 0, "indexes": ()}
_EMPTY = a_table(scanned=400_000, pages=4000, page_visits=80_000_000, **_BLOATED)
_DENSE = a_table(scanned=80_000_000, pages=4, page_visits=1_600_000, **_BLOATED)
_LOST = a_table(updated=2_000_000, hot_updated=0)


def _more(*, unique: bool) -> tuple[IndexOfVersions, ...]:
    return tuple(
        IndexOfVersions(index=f"more_{number}", columns=("c",), entries=0, fetched=0, unique=unique)
        for number in range(8)
    )


KEEPER = Keeper(
    kind="session",
    name="report psql",
    state="idle in transaction",
    statement="SELECT count(*) FROM sbtest1 WHERE k > ?",
    age=50_000,
    since_s=60.0,
)
PREPARED = KEEPER.model_copy(update={"kind": "prepared", "name": "order 17", "state": "prepared"})
_XMIN = "pg_stat_activity.oldest_xmin_age"
_OPEN = {"highest": {_XMIN: 50_000.0, "pg_stat_activity.oldest_xmin_s": 60.0}}
_FORGOTTEN = {
    "highest": {"pg_prepared_xacts.xmin_age": 50_000.0, "pg_prepared_xacts.oldest_s": 60.0}
}

EXAMPLES = (
    # Scans of a small table whose rows change all the time.
    Example(
        dead_rows.RULE,
        a_case(seen(spots(_DEAD))),
        a_case(seen(spots(a_table(scanned=20_000_000, page_visits=1_000_000)))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
    # Entries of an index that lead to nothing; of a scan of an index alone they lead to no page.
    Example(
        dead_rows.RULE,
        a_case(seen(spots(_LED))),
        a_case(seen(spots(_ALONE))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
    # A transaction keeps them, and is the cause itself.
    Example(
        dead_rows.RULE,
        a_case(seen(spots(_DEAD))),
        a_case(seen(spots(_DEAD, keepers=(KEEPER,)), **_OPEN)),
        a_case(seen(HotSpots(not_evaluated={"versions": "refused"}))),
        needs=_VIEWS,
    ),
    Example(
        dead_rows.RULE,
        a_case(seen(spots(_LATE)), variables={"autovacuum": "off"}),
        a_case(seen(spots(a_table())), variables={"autovacuum": "off"}),
        a_case(seen(None)),
        named="autovacuum-behind",
        needs=_VIEWS,
    ),
    Example(
        dead_rows.RULE,
        a_case(seen(spots(_LATE)), variables={"autovacuum_naptime": "1s"}),
        a_case(seen(spots(a_table())), variables={"autovacuum_naptime": "1s"}),
        a_case(seen(None)),
        named="autovacuum-behind",
        needs=_VIEWS,
    ),
    Example(
        long_transaction.RULE,
        a_case(seen(spots(_DEAD, keepers=(KEEPER,)), **_OPEN)),
        a_case(seen(spots(_DEAD))),
        a_case(at(means={_XMIN: None})),
        needs=f"server value {_XMIN}",
    ),
    Example(
        long_transaction.RULE,
        a_case(seen(spots(_DEAD, keepers=(PREPARED,)), **_FORGOTTEN)),
        a_case(seen(spots(_DEAD), highest={"pg_prepared_xacts.xmin_age": 50_000.0})),
        a_case(at(means={_XMIN: None})),
        needs=f"server value {_XMIN}",
    ),
    Example(
        hot_updates.RULE,
        a_case(seen(spots(_LOST), **_updating("k"))),
        a_case(seen(spots(a_table(updated=2_000_000, hot_updated=1_900_000)))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
    Example(
        hot_updates.RULE,
        a_case(seen(spots(_LOST), **_updating("c"))),
        a_case(seen(spots(a_table(updated=2_000, hot_updated=0)))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
    Example(
        bloated_tables.RULE,
        a_case(seen(spots(_EMPTY))),
        a_case(seen(spots(_DENSE))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
    # Eight indexes that nobody reads, and as many that keep values unique.
    Example(
        unused_indexes.RULE,
        a_case(seen(spots(a_table(inserted=800_000, indexes=_more(unique=False))))),
        a_case(seen(spots(a_table(inserted=800_000, indexes=_more(unique=True))))),
        a_case(seen(None)),
        needs=_VIEWS,
    ),
)
