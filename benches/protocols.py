"""The text protocol, and events of many statements, compared with a floor that does the same."""

from __future__ import annotations

from benches.contest import (
    ENGINE,
    FLOOR,
    Ratio,
    Reading,
    at_most,
    contest,
    cost,
    cost_table,
    prepare,
)
from benches.place import Place
from benches.report import Report
from benches.tables import how_measured
from benches.workload import Step

USERS = (64, 512)
OF_FLOOR = Ratio("of the floor's", FLOOR, cost, at_most([ENGINE], dict.fromkeys(USERS, 1.3)))
_WARM_A_SECOND = 20
"""Users per second of warm-up. At some 1,000 events per second each user has run 50 by its end, and
has used nearly all its statements (nine for each of ten tables), which it prepares on first use.
The floor's users keep to one table and have prepared before; a preparation does not count as a
query.
"""


def measure(place: Place) -> Report:
    """Both, one after another."""
    prepare(place)
    text, failed_text = _contest(
        place,
        "protocols: text",
        # The floor's text has room for one number, the key; so all use the first table.
        [Step(users, 0.0, protocol="text", tables=1) for users in place.asked.users or USERS],
    )
    mixed, failed_mixed = _contest(
        place,
        "protocols: oltp_read_write",
        [_mixed(users) for users in place.asked.users or USERS],
    )
    return Report(
        title="Client CPU a query: the text protocol; oltp_read_write",
        tables=(
            "Point selects as text:",
            cost_table(text, [OF_FLOOR]),
            "oltp_read_write, prepared, 20 round trips an event:",
            cost_table(mixed, [OF_FLOOR]),
        ),
        readings=[reading.as_json() for reading in text + mixed],
        notes=(
            how_measured(place.asked.pairs, place.asked.seconds),
            "errors of oltp_read_write: deadlocks and lock waits, after which the event restarted.",
            *failed_text,
            *failed_mixed,
        ),
    )


def _mixed(users: int) -> Step:
    return Step(users, 0.0, workload="oltp_read_write", warmup_s=users / _WARM_A_SECOND)


def _contest(place: Place, name: str, steps: list[Step]) -> tuple[list[Reading], list[str]]:
    return contest(place, name, steps, [ENGINE, FLOOR])
