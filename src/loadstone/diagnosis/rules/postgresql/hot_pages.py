"""Users wait for a page that others change or read at the moment: a hot one, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import sequences
from loadstone.diagnosis.rules.postgresql.latches import Lock
from loadstone.model.message import say


def _without_sequences(case: Case) -> Mapping[str, float]:
    """What is left of the waits for pages that a sequence's may be among."""
    return dict.fromkeys(sequences.NAMES, 1.0 - sequences.part(case))


_LOCK = Lock(
    "hot-pages",
    (
        *sequences.NAMES,
        "BufferPin:BufferPin",
        # The same from version 19 on, and pages that are read or written.
        *("Buffer:BufferCleanup", "Buffer:BufferShared", "Buffer:BufferShareExclusive"),
    ),
    say(
        "They want the same pages: the last leaf of an index whose keys grow, or a table with few "
        "rows that all change."
    ),
    say(
        "Spread what is changed over more pages: a lower fillfactor for small tables, hash "
        "partitions or keys that do not only grow for the end of an index."
    ),
    _without_sequences,
)

RULE = Rule(
    _LOCK.cause,
    say("users change the same pages"),
    _LOCK.judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
