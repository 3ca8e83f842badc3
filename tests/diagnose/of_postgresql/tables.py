"""Tables as the views of a healthy PostgreSQL show them."""

from __future__ import annotations

from typing import Any

from loadstone.model.hot_spots import (
    CountedStatement,
    HotSpots,
    IndexOfVersions,
    SequenceVisits,
    TableVersions,
)


def a_table(**changes: Any) -> TableVersions:
    """A table of which a step of ten seconds updates 20,000 rows, all of them HOT."""
    usual: dict[str, Any] = {
        "table": "public.sbtest1",
        "live": 50_000,
        "dead_before": 500,
        "dead": 700,
        "pages": 1600,
        "inserted": 0,
        "updated": 20_000,
        "hot_updated": 19_800,
        "new_page_updated": None,
        "deleted": 0,
        "scanned": 0,
        "fetched": 120_000,
        "page_visits": 150_000,
        "indexes": (
            IndexOfVersions(index="k_1", columns=("k",), entries=0, fetched=0),
            IndexOfVersions(
                index="sbtest1_pkey", columns=("id",), entries=120_100, fetched=120_000
            ),
        ),
        "fillfactor": 100,
        "autovacuum": True,
        "vacuum_due": 10_050.0,
        "vacuums": 0,
        "vacuumed_s": 90.0,
        "fired": 0,
        "checked": 0,
    }
    return TableVersions(**{**usual, **changes})


def a_statement(**changes: Any) -> CountedStatement:
    """A lookup by its key, of which a step of ten seconds has 160,000, with plans that are kept."""
    usual: dict[str, Any] = {
        "statement": "SELECT c FROM sbtestN WHERE id=?",
        "calls": 160_000,
        "plans": 80,
        "plan_s": 0.002,
        "exec_s": 1.6,
        "rows": 160_000,
        "pages_hit": 480_000,
        "pages_read": 300,
        "temp_pages": 0,
        "wal_bytes": 0,
        "jit_s": None,
    }
    return CountedStatement(**{**usual, **changes})


def a_sequence(visits: int, *, cache: int = 1) -> SequenceVisits:
    """A sequence whose page was visited so often in a step of ten seconds."""
    return SequenceVisits(sequence="public.ticket", page_visits=visits, cache=cache)


def counted(*statements: CountedStatement) -> HotSpots:
    """A healthy server's tables, with these statements as pg_stat_statements counts them."""
    return HotSpots(versions=(a_table(),), counted=statements)


HEALTHY_TABLES = counted(a_statement())
