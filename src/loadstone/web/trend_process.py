"""Finds a trend in a process of its own: hundreds of runs are read at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone.analyse.matrix import ComparisonError
from loadstone.web.apart import answer, asked_of
from loadstone.web.localize import translations
from loadstone.web.trends import trend_of

LONGEST_S = 120.0


async def trend_apart(folders: Sequence[Path]) -> dict[str, Any]:
    """The document of `trend_of`, or why there is no trend: `error`, with its translations.

    Raises:
        StoreError: a run cannot be read.
        NoAnswer: the process failed, or took too long.
    """
    asked = json.dumps([str(folder.absolute()) for folder in folders])
    said = await asked_of("loadstone.web.trend_process", asked, LONGEST_S)
    found: dict[str, Any] = json.loads(said)
    return found


def _trend(folders: str) -> str:
    try:
        found = trend_of([Path(each) for each in json.loads(folders)])
    except ComparisonError as error:
        found = {"error": error.message, "told": translations([error.message])}
    return json.dumps(found, allow_nan=False)


if __name__ == "__main__":
    answer(_trend)
