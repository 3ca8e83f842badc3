"""Full buffers of the log: sessions write it themselves, in the middle of their statements.

What that costs is not counted: the same bytes are written later otherwise, by who commits. So it is
a note, whose trial says what it brings.

Source: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-WAL-VIEW
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import at_start
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

TIMES = 1.0
"""[P] Times per event from which it is worth a word. With PostgreSQL 15 and 245 kB of log per event
wal_buffers=64kB were full 29 times per event, and 64MB never: 287 and 313 events a second."""

PROPOSED = "64MB"
"""[P] What holds the log of most transactions; the server's own choice is at most 16MB."""

COUNTER = "pg_stat_wal.wal_buffers_full"


def judge(case: Case) -> Finding | None:
    """The buffers are full more than once per event."""
    full = case.needed(case.rate(COUNTER))
    if not case.tps or full < TIMES * case.tps:
        return None
    return Finding(
        cause="wal-buffers-small",
        group="note",
        sentence=say(
            "wal_buffers={size} were full {times} times per event: sessions had to write the WAL "
            "before their own changes fitted.",
            size=case.variable("wal_buffers") or "-",
            times=Number(full / case.tps),
        ),
        evidence=(case.seen(plain(COUNTER), full, say_in("unit", "/s"), TIMES * case.tps),),
        share=None,
        confidence=0.5,
        remedy=say("Try wal_buffers={size}.", size=PROPOSED),
        trial=at_start(case, {"wal_buffers": PROPOSED}, say("waiting for room in wal_buffers")),
        acts_on="disk writes",
    )


RULE = Rule("wal-buffers-small", say("the buffers of the WAL are too small"), judge, reads="files")
