"""Full buffers of the log: sessions write it themselves, in the middle of their statements.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-WAL-VIEW
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import Holds, parts_of, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import wal
from loadstone.diagnosis.trials import at_start
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

PROPOSED = "64MB"
"""[P] What helps with rows of any size; the server's own choice is at most 16MB."""

_COUNTER = "pg_stat_wal.wal_buffers_full"
_PLACES: tuple[Place, ...] = ("log sync", "commit")


def judge(case: Case) -> Finding | None:
    """Of the operations on the log so many are writes that full buffers ask for."""
    full = case.needed(case.rate(_COUNTER))
    part = case.needed(_part(case))
    share = part * case.needed(wal.wait_share(case))
    if share < MATTERS or not case.tps:
        return None
    return Finding(
        cause="wal-buffers-small",
        group="setting",
        sentence=say(
            "wal_buffers={size} were full {times} times per event, so that sessions had to write "
            "the WAL before their own changes fitted: that is {share} of the users' time.",
            size=case.variable("wal_buffers") or "-",
            times=Number(full / case.tps),
            share=Percent(share),
        ),
        evidence=(
            case.seen(plain(_COUNTER), full, say_in("unit", "/s")),
            case.seen(say("writes because of full buffers"), part, say("of all on the WAL")),
        ),
        share=share,
        confidence=0.7,
        remedy=say("Raise wal_buffers to {size}.", size=PROPOSED),
        trial=at_start(case, {"wal_buffers": PROPOSED}, say("waiting for room in wal_buffers")),
        acts_on="disk writes",
    )


def _part(case: Case) -> float | None:
    """Each time makes one write; the others are of those who commit, and are followed by a sync."""
    full, writes, syncs = case.rate(_COUNTER), wal.writes(case), wal.syncs(case)
    if full is None or writes is None or syncs is None:
        return None
    operations = writes.per_s + (syncs.per_s if syncs.name != writes.name else 0.0)
    return min(full / operations, 1.0) if operations else 0.0


def _holds(case: Case) -> Holds | None:
    part = _part(case)
    parts: Mapping[Place, float] = dict.fromkeys(_PLACES, part or 0.0)
    return parts_of(parts) if part else None


RULE = Rule(
    "wal-buffers-small",
    say("the buffers of the WAL are too small"),
    judge,
    reads="files",
    holds=time_at(*_PLACES),
    holds_in=_holds,
)
