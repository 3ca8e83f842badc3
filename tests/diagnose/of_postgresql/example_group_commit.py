"""Case A of the field: the rate rises with users, and syncs fall."""

from __future__ import annotations

from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case
from loadstone.diagnosis.rules.postgresql import group_commit


def synced(users: int, tps: float, syncs: float, counter: str = "wal_sync") -> Figures:
    figures = {"log_syncs_per_s": syncs, "transactions_per_sync": tps / syncs}
    rates: dict[str, float | None] = {"log_syncs": syncs, f"pg_stat_wal.{counter}": syncs}
    return Figures(users=users, tps=tps, rates=rates, server_figures=figures)


EXAMPLES = (
    Example(
        group_commit.RULE,
        a_case(synced(4, 500.0, 480.0), synced(80, 2100.0, 200.0)),
        a_case(synced(4, 500.0, 480.0), synced(80, 2100.0, 2000.0)),
        a_case(Figures(rates={"pg_stat_wal.wal_sync": None})),
        needs="server counter pg_stat_wal.wal_sync",
    ),
)
