"""Readings of earlier calls on this machine, with this version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.place import conditions

_SAME = ("machine", "kernel", "programs")
"""The conditions that must match for a reading to be comparable."""


def kept(bench: str, results: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The date and the readings of each call of a bench, oldest first."""
    here = conditions(None)
    for path in sorted(results.glob("*.json")):
        document = json.loads(path.read_text())
        there = document["conditions"]
        if bench in document and all(there.get(each) == here[each] for each in _SAME):
            yield there["date"], document[bench]["readings"]
