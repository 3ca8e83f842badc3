"""Versions of rows over a step: what changes left, who visited it, and who keeps it.

The server's views of tables are read before and after the load only, in the load's own database,
over a connection that is closed in between. How often the pages of sequences were visited, and what
pg_stat_statements counts, is read with them.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pg8000

from loadstone.model.hot_spots import (
    HotSpots,
    IndexOfVersions,
    Keeper,
    SequenceVisits,
    TableVersions,
)
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.observe.hot_spots import Snapshot
from loadstone.observe.postgresql import statements
from loadstone.observe.postgresql.asking import reason
from loadstone.observe.postgresql.questions import rows_of
from loadstone.observe.postgresql.updates import with_question_marks
from loadstone.postgresql.connect import connect
from loadstone.postgresql.errors import text_of
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError
from loadstone.servers.sanitize import plain

KIND = "versions"
SEQUENCES = "sequences"
"""What they are called where they are missing."""

_TIMEOUTS = Timeouts(connect_s=3, statement_s=10)
_READ = 1000
"""Tables that are read, those with the most changes first."""

_SHOWN = 100
_KEEPERS = 3
_NAME, _TEXT = 120, 400

_TABLES = f"""
SELECT s.relid::bigint, s.schemaname || '.' || s.relname, s.n_live_tup, s.n_dead_tup, c.relpages,
  s.n_tup_ins, s.n_tup_upd, s.n_tup_hot_upd, (to_jsonb(s)->>'n_tup_newpage_upd')::bigint,
  s.n_tup_del, s.seq_tup_read, coalesce(s.idx_tup_fetch, 0), pg_stat_get_blocks_fetched(s.relid),
  s.vacuum_count + s.autovacuum_count,
  extract(epoch FROM clock_timestamp() - greatest(s.last_vacuum, s.last_autovacuum))::float8,
  coalesce((o.own->>'fillfactor')::int, 100),
  coalesce((o.own->>'autovacuum_enabled')::bool, true),
  least(
    coalesce((o.own->>'autovacuum_vacuum_threshold')::float8,
      current_setting('autovacuum_vacuum_threshold')::float8)
    + coalesce((o.own->>'autovacuum_vacuum_scale_factor')::float8,
      current_setting('autovacuum_vacuum_scale_factor')::float8) * greatest(c.reltuples, 0),
    nullif(current_setting('autovacuum_vacuum_max_threshold', true)::float8, -1)),
  s.relid IN (SELECT confrelid FROM pg_constraint WHERE contype = 'f'),
  s.n_mod_since_analyze, t.at_insert, t.at_update, t.at_delete, t.checks, t.names
FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid,
  LATERAL (SELECT jsonb_object_agg(option_name, option_value) AS own
    FROM pg_options_to_table(c.reloptions)) AS o,
  LATERAL (SELECT count(*) FILTER (WHERE g.own AND g.tgtype & 4 > 0) AS at_insert,
      count(*) FILTER (WHERE g.own AND g.tgtype & 16 > 0) AS at_update,
      count(*) FILTER (WHERE g.own AND g.tgtype & 8 > 0) AS at_delete,
      count(*) FILTER (WHERE g.is_key AND g.tgtype & 4 > 0) AS checks,
      array_agg(g.tgname::text ORDER BY g.tgname) FILTER (WHERE g.own) AS names
    FROM (SELECT tgtype, tgname, NOT tgisinternal OR tgconstraint = 0 AS own,
        tgisinternal AND EXISTS (SELECT FROM pg_constraint AS k
          WHERE k.oid = tgconstraint AND k.contype = 'f') AS is_key FROM pg_trigger
      WHERE tgrelid = s.relid AND tgenabled IN ('O', 'A') AND tgtype & 1 > 0 AND tgqual IS NULL
        AND cardinality(tgattr::int2[]) = 0) AS g) AS t
ORDER BY s.n_tup_ins + s.n_tup_upd + s.n_tup_del + s.n_dead_tup DESC LIMIT {_READ}
"""
"""Of a trigger's type 1 says that it fires for each row, 4, 8 and 16 that inserts, deletes and
updates do (pg_trigger.h). Foreign keys are checked by triggers that the server made; until 14 those
of partitions are the server's as well, but of no constraint."""

_INDEXES = """
SELECT i.indrelid::bigint, x.relname::text, pg_stat_get_tuples_returned(i.indexrelid),
  pg_stat_get_tuples_fetched(i.indexrelid),
  ARRAY(SELECT a.attname::text FROM pg_attribute AS a
    WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND (a.attnum = ANY (i.indkey::int2[])
      OR EXISTS (SELECT FROM pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
          AND d.refobjsubid = a.attnum))),
  pg_stat_get_numscans(i.indexrelid), i.indisunique OR i.indisexclusion,
  i.indisready AND i.indpred IS NULL AND m.amname <> 'brin'
FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_am AS m ON m.oid = x.relam
WHERE i.indrelid = ANY (%s::oid[])
  AND NOT (m.amname = 'brin' AND current_setting('server_version_num')::int >= 160000)
ORDER BY 1, 2
"""
"""Columns of expressions and conditions are in pg_depend alone. From 16 on an index that only sums
up pages is not in the way of a HOT update."""

_ANALYZED = """
SELECT s.relid::bigint, a.tablename IS NOT NULL
FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
  LEFT JOIN (SELECT DISTINCT schemaname, tablename FROM pg_stats) AS a
    ON a.schemaname = s.schemaname AND a.tablename = s.relname
WHERE has_table_privilege(s.relid, 'SELECT') AND NOT c.relrowsecurity
"""
"""Statistics of columns that this account may not read are hidden from it."""

_SEQUENCES = f"""
SELECT c.oid::bigint, quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  pg_stat_get_blocks_fetched(c.oid), s.seqcache,
  CASE WHEN NOT s.seqcycle THEN (s.seqmax::numeric - s.seqmin) / abs(s.seqincrement) END::float8
FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY 3 DESC LIMIT {_READ}
"""

_KEEP = f"""
SELECT 'session', concat_ws(' ', usename, nullif(application_name, '')), coalesce(state, ''),
  coalesce(query, ''), greatest(age(backend_xmin), age(backend_xid)),
  extract(epoch FROM clock_timestamp() - xact_start)::float8
FROM pg_stat_activity
WHERE (datname = current_database() OR datid IS NULL AND backend_xmin IS NOT NULL)
  AND pid <> pg_backend_pid() AND coalesce(backend_xmin, backend_xid) IS NOT NULL
  AND coalesce(backend_type, '') <> 'autovacuum worker'
UNION ALL
SELECT 'prepared', gid, 'prepared', '', age(transaction),
  extract(epoch FROM clock_timestamp() - prepared)::float8
FROM pg_prepared_xacts WHERE database = current_database()
UNION ALL
SELECT 'slot', slot_name, CASE WHEN active THEN 'active' ELSE 'inactive' END, '', age(xmin), NULL
FROM pg_replication_slots WHERE xmin IS NOT NULL
ORDER BY 5 DESC LIMIT {_KEEPERS}
"""
"""Rows of a user's table are kept by sessions of its database alone, and by standbys. A VACUUM at
work keeps nothing; that of a person is taken for a session for as long as it works."""


class _Table(NamedTuple):
    """A row of `_TABLES`."""

    relid: int
    name: str
    live: int
    dead: int
    pages: int
    inserted: int
    updated: int
    hot_updated: int
    new_page_updated: int | None
    deleted: int
    scanned: int
    fetched: int
    page_visits: int
    vacuums: int
    vacuumed_s: float | None
    fillfactor: int
    autovacuum: bool
    vacuum_due: float
    referenced: bool
    changed_since_analyze: int
    at_insert: int
    at_update: int
    at_delete: int
    checks: int
    triggers: list[str] | None


_GROWING = (
    *("inserted", "updated", "hot_updated", "new_page_updated", "deleted", "scanned", "fetched"),
    *("page_visits", "vacuums"),
)


class _Index(NamedTuple):
    """A row of `_INDEXES`."""

    relid: int
    name: str
    entries: int
    fetched: int
    columns: list[str]
    scans: int
    unique: bool
    of_each_row: bool


class _Sequence(NamedTuple):
    """A row of `_SEQUENCES`."""

    relid: int
    name: str
    page_visits: int
    cache: int
    values: float | None


@dataclass(frozen=True)
class Versions(Snapshot):
    """What the views say at one moment."""

    tables: Mapping[int, _Table] = field(default_factory=dict)
    analyzed: Mapping[int, bool] = field(default_factory=dict)
    """Whether the planner has statistics, by table, as far as this account may know."""
    indexes: Sequence[_Index] = ()
    sequences: Mapping[int, _Sequence] | str = field(default_factory=dict)
    """Or why they are not known."""
    keepers: Sequence[Keeper] = ()
    counted: statements.Counted = field(default_factory=statements.Counted)


def snapshot(endpoint: Endpoint, *, only_own: bool = False) -> Snapshot:
    """Read the views; what cannot be read is reported in the snapshot, and never raised.

    `only_own`: of pg_stat_statements what the endpoint's user executes, and nobody else's.
    """
    try:
        with connect(endpoint, _TIMEOUTS) as connection:
            return _read(connection, only_own=only_own)
    except (TargetError, pg8000.Error, OSError) as error:
        return Snapshot(refused={KIND: reason(error)})
    except Exception as error:  # no answer of the server may end the run
        return Snapshot(refused={KIND: f"{error!r:.200}"})


def difference(before: Snapshot, after: Snapshot) -> HotSpots:
    """What happened to the tables between two moments: those with the most changes."""
    if not isinstance(before, Versions) or not isinstance(after, Versions):
        return HotSpots(not_evaluated={**before.refused, **after.refused})
    found = [_grown(one, before, after) for one in after.tables.values()]
    touched = [one for one in found if one.page_visits or one.dead]
    touched.sort(key=lambda one: one.updated + one.deleted + one.page_visits, reverse=True)
    # The same one may have been there at both moments.
    oldest = {(one.kind, one.name): one for one in (*before.keepers, *after.keepers)}
    keepers = sorted(oldest.values(), key=lambda one: one.age, reverse=True)
    counted = statements.grown(before.counted, after.counted)
    sequences = _visited(before.sequences, after.sequences)
    missing = {statements.KIND: counted, SEQUENCES: sequences}
    return HotSpots(
        versions=tuple(touched[:_SHOWN]),
        sequences=None if isinstance(sequences, str) else tuple(sequences[:_SHOWN]),
        keepers=tuple(keepers[:_KEEPERS]),
        counted=() if isinstance(counted, str) else counted.shown,
        counted_rest=None if isinstance(counted, str) else counted.rest,
        not_evaluated={kind: why for kind, why in missing.items() if isinstance(why, str)},
    )


def _read(connection: Connection, *, only_own: bool) -> Versions:
    tables = [_Table(*row) for row in rows_of(connection, _TABLES)]
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, ([one.relid for one in tables],))
        indexes = [_Index(*row) for row in cursor.fetchall()]
    keepers = [_keeper(row) for row in rows_of(connection, _KEEP)]
    return Versions(
        tables={one.relid: one for one in tables},
        analyzed=_analyzed(connection),
        indexes=indexes,
        sequences=_sequences(connection, tables=len(tables)),
        keepers=keepers,
        counted=statements.read(connection, only_own=only_own),
    )


def _analyzed(connection: Connection) -> Mapping[int, bool]:
    try:
        return {int(relid): bool(known) for relid, known in rows_of(connection, _ANALYZED)}
    except pg8000.Error:  # the view was taken from this account
        return {}


def _sequences(connection: Connection, *, tables: int) -> Mapping[int, _Sequence] | str:
    """The sequences, or why they are not known.

    `tables`: so many were read. Whose the waits for pages are is known next to all of them alone.
    """
    if tables >= _READ:
        return say("of {count} or more tables those with the most changes are read", count=_READ)
    try:
        found = [_Sequence(*row) for row in rows_of(connection, _SEQUENCES)]
    except pg8000.Error as error:
        return text_of(error)
    return {one.relid: one for one in found}


def _keeper(row: Sequence[object]) -> Keeper:
    kind, name, state, statement, age, since_s = row
    return Keeper.model_validate(
        {
            "kind": kind,
            "name": plain(str(name), _NAME),
            "state": plain(str(state), _NAME),
            "statement": plain(with_question_marks(str(statement)), _TEXT),
            "age": age,
            "since_s": since_s,
        }
    )


def _grown(now: _Table, before: Versions, after: Versions) -> TableVersions:
    """One table's step; what was reset in between (smaller than before) counts from zero."""
    then = before.tables.get(now.relid)
    grown = {name: _growth(then, now, name) for name in _GROWING}
    earlier = {(one.relid, one.name): one for one in before.indexes}
    indexes = [
        _grown_index(one, earlier.get((one.relid, one.name)))
        for one in after.indexes
        if one.relid == now.relid
    ]
    return TableVersions.model_validate(
        {
            "table": plain(now.name, _NAME),
            "live": now.live,
            "dead_before": then.dead if then else 0,
            "dead": now.dead,
            "pages": now.pages,
            "indexes": indexes,
            "fillfactor": now.fillfactor,
            "autovacuum": now.autovacuum,
            "vacuum_due": now.vacuum_due,
            "vacuumed_s": now.vacuumed_s,
            "referenced": now.referenced,
            "changed_since_analyze": now.changed_since_analyze,
            "analyzed": after.analyzed.get(now.relid),
            "triggers": [plain(name, _NAME) for name in now.triggers or ()],
            "fired": _fired(now, grown),
            "checked": now.checks * (grown["inserted"] or 0),
            **grown,
        }
    )


def _fired(now: _Table, grown: Mapping[str, int | None]) -> int:
    """How often its triggers fired; those with a condition or a list of columns are left out."""
    at = {"inserted": now.at_insert, "updated": now.at_update, "deleted": now.at_delete}
    return sum(number * (grown[what] or 0) for what, number in at.items())


def _grown_index(now: _Index, then: _Index | None) -> IndexOfVersions:
    return IndexOfVersions(
        index=plain(now.name, _NAME),
        columns=tuple(plain(name, _NAME) for name in now.columns),
        entries=_less(now.entries, then.entries if then else 0),
        fetched=_less(now.fetched, then.fetched if then else 0),
        scans=_less(now.scans, then.scans if then else 0),
        unique=now.unique,
        of_each_row=now.of_each_row,
    )


def _visited(
    before: Mapping[int, _Sequence] | str, after: Mapping[int, _Sequence] | str
) -> list[SequenceVisits] | str:
    """The sequences that were used, those with the most visits first; or why they are unknown."""
    if isinstance(before, str):
        return before
    if isinstance(after, str):
        return after
    found = []
    for relid, now in after.items():
        then = before.get(relid)
        visits = _less(now.page_visits, then.page_visits if then else 0)
        if visits:
            name = plain(now.name, _NAME)
            found.append(
                SequenceVisits(
                    sequence=name, page_visits=visits, cache=now.cache, values=now.values
                )
            )
    return sorted(found, key=lambda one: one.page_visits, reverse=True)


def _growth(then: _Table | None, now: _Table, name: str) -> int | None:
    value = getattr(now, name)
    earlier = getattr(then, name) if then else 0
    return None if value is None else _less(value, earlier or 0)


def _less(now: int, then: int) -> int:
    return now - then if now >= then else now
