"""Diagnoses a run in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loadstone.web.apart import answer, asked_of

Findings = list[dict[str, Any]]


async def findings_apart(run: Path) -> Findings:
    """What `diagnosis.findings` returns, made by a process that has ended by then.

    Raises:
        StoreError: a file of the run cannot be read.
        NoAnswer: the process failed.
    """
    found: Findings = json.loads(await asked_of("loadstone.web.judge", str(run)))
    return found


def _findings(run: str) -> str:
    from loadstone.web.diagnosis import findings

    return json.dumps(findings(Path(run)))


if __name__ == "__main__":
    answer(_findings)
