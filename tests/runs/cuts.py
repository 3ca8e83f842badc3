"""Where a journal may be cut: all over a line of each kind, else where lines begin and end."""

from __future__ import annotations

import json
from collections.abc import Iterator

_CUTS = 50
"""Of the first line of its kind."""


def cuts(journal: bytes) -> Iterator[int]:
    """How many of its bytes reached the disk, growing."""
    seen: set[str] = set()
    begin = 0
    for line in journal.splitlines(keepends=True):
        kind = str(sorted(json.loads(line))) + str(json.loads(line).get("kind"))
        known = kind in seen
        seen.add(kind)
        last = len(line) - 1
        within = {0, 1, last} | set(range(0, last, len(line) // (2 if known else _CUTS) + 1))
        yield from (begin + at for at in sorted(within))
        begin += len(line)
