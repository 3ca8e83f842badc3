"""Journals whose seconds took seconds: the scripted engine's pass in no time."""

from __future__ import annotations

from pathlib import Path

from loadstone.runs.journal import EngineEntry, RunBegin, StepBegin, read_entries, to_line
from loadstone.runs.rebuild import JOURNAL

_NOTHING = b"nothing"


def stretch(run: Path) -> list[bytes]:
    """Write the run's journal again, with a second between records; returns its lines."""
    lines, at_s, size = [], 0.0, 0
    for entry in read_entries(run / JOURNAL, skip=_NOTHING):
        changed: dict[str, float] = {}
        if isinstance(entry, EngineEntry):
            at_s += 1.0
        if not isinstance(entry, RunBegin):
            changed["at_s"] = at_s
        if isinstance(entry, StepBegin):
            changed["journal_from"] = size
        lines.append(to_line(entry.model_copy(update=changed)))
        size += len(lines[-1])
    (run / JOURNAL).write_bytes(b"".join(lines))
    return lines
