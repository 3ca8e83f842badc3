"""Users wait for a page that others change or read at the moment: a hot one, in memory."""

from __future__ import annotations

from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.model.message import say

_LOCK = Lock(
    "hot-pages",
    (*named("BufferContent", "buffer_content"), "BufferPin:BufferPin", "Buffer:BufferExclusive"),
    say(
        "They want the same pages: the last leaf of an index whose keys grow, or a table with few "
        "rows that all change."
    ),
    say(
        "Spread what is changed over more pages: a lower fillfactor for small tables, hash "
        "partitions or keys that do not only grow for the end of an index."
    ),
)

RULE = Rule(
    _LOCK.cause,
    say("users change the same pages"),
    _LOCK.judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
