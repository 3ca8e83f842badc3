"""Users wait to make a table's or an index's file longer, which one session does at a time."""

from __future__ import annotations

from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock
from loadstone.model.message import say

_LOCK = Lock(
    "table-growth",
    ("Lock:extend",),
    say("A table's file grows by one session at a time, up to version 15 by a few pages."),
    say(
        "Insert into partitions that users share less, or use version 16 or later, which makes "
        "files longer by many pages at once."
    ),
)

RULE = Rule(
    _LOCK.cause,
    say("users wait for a table to grow"),
    _LOCK.judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
