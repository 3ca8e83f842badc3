"""Tables as the views of a healthy PostgreSQL show them."""

from __future__ import annotations

from typing import Any

from loadstone.model.hot_spots import HotSpots, IndexOfVersions, TableVersions


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
    }
    return TableVersions(**{**usual, **changes})


HEALTHY_TABLES = HotSpots(versions=(a_table(),))
