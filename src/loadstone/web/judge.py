"""Diagnoses a run in a process of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from loadstone.model.finding import Diagnosis
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.web.apart import answer, asked_of
from loadstone.web.diagnosis import diagnoses, findings

Findings = list[dict[str, Any]]
_DIAGNOSES = TypeAdapter(tuple[Diagnosis, ...], config=DEFERRED)


class _Asked(Frozen):
    """The diagnoses of a run; `is_shown`: as the page shows them."""

    run: Path
    is_shown: bool


async def findings_apart(run: Path) -> Findings:
    """What `diagnosis.findings` returns, made by a process that has ended by then.

    Raises:
        StoreError: a file of the run cannot be read.
        NoAnswer: the process failed.
    """
    found: Findings = json.loads(await _answered(run, is_shown=True))
    return found


def diagnoses_apart(run: Path) -> tuple[Diagnosis, ...]:
    """What `diagnosis.diagnoses` returns, likewise; for a thread without an event loop.

    Raises:
        StoreError: a file of the run cannot be read.
        NoAnswer: the process failed.
    """
    return _DIAGNOSES.validate_json(asyncio.run(_answered(run, is_shown=False)))


async def _answered(run: Path, *, is_shown: bool) -> str:
    asked = _Asked(run=run.absolute(), is_shown=is_shown)
    return await asked_of("loadstone.web.judge", asked.model_dump_json())


def _judged(question: str) -> str:
    asked = _Asked.model_validate_json(question)
    if asked.is_shown:
        return json.dumps(findings(asked.run))
    return _DIAGNOSES.dump_json(diagnoses(asked.run)).decode()


if __name__ == "__main__":
    answer(_judged)
