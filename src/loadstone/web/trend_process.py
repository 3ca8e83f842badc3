"""Finds a trend in a process of its own, whose memory is free again when the answer is there.

Hundreds of runs are read at once. Run as `python -m loadstone.web.trend_process`: its input has the
folders, its output is the answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from loadstone.analyse.matrix import ComparisonError
from loadstone.web.localize import translations
from loadstone.web.trends import trend_of

LONGEST_S = 120.0


class NoTrend(Exception):
    """The process did not answer in time, or it failed."""


async def trend_apart(folders: Sequence[Path]) -> dict[str, Any]:
    """The document of `trend_of`, or why there is no trend: `error`, with its translations.

    Raises:
        NoTrend: there is no answer.
    """
    process = await asyncio.create_subprocess_exec(
        # Without -P a module in the working folder could replace one of ours.
        *(sys.executable, "-P", "-m", "loadstone.web.trend_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    asked = json.dumps([str(folder.absolute()) for folder in folders]).encode()
    try:
        async with asyncio.timeout(LONGEST_S):
            answer, _ = await process.communicate(asked)
    except TimeoutError as error:
        raise NoTrend from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        raise NoTrend
    found: dict[str, Any] = json.loads(answer)
    return found


def main() -> None:
    """Answer the question in the input."""
    folders = [Path(each) for each in json.loads(sys.stdin.buffer.read())]
    try:
        found = trend_of(folders)
    except ComparisonError as error:
        found = {"error": error.message, "told": translations([error.message])}
    sys.stdout.write(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main()
