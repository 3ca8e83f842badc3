"""The process that `web.sidecar` starts; the first line of its input says what to serve."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import BinaryIO

from loadstone.web.access import Keys
from loadstone.web.address import Address
from loadstone.web.app import metrics_app
from loadstone.web.hub import Hub
from loadstone.web.serving import serve, serve_page
from loadstone.web.sidecar import NICENESS, Task

STAY_S = 2.0
"""Seconds without viewers after which the page ends, once its run has: a browser may come back."""

_LOOK_EVERY_S = 0.25


def main() -> None:
    """Serve metrics until the run is over, and the page until it also has no viewers left."""
    # Unbuffered, because another reader takes what follows the first line.
    words = open(0, "rb", buffering=0, closefd=False)
    task = Task.model_validate_json(words.readline())
    os.nice(NICENESS)
    bound = socket.socket(fileno=task.descriptor)
    if task.kind == "page":
        run = _UntilUnwatched(words)
        serve_page(task.runs, (bound, Address(*task.address)), Keys(task.token), run.over)
        return
    runs: list[Path] = []

    async def over() -> None:
        await _hear(words, runs)

    serve(metrics_app(lambda: runs), bound, over)


class _UntilUnwatched:
    def __init__(self, words: BinaryIO) -> None:
        self._words = words

    async def over(self, hub: Hub) -> None:
        """Return once the run has ended and nobody has looked for a while."""
        await _hear(self._words, [])
        quiet_s = 0.0 if hub.was_viewed else STAY_S
        while quiet_s < STAY_S:
            await asyncio.sleep(_LOOK_EVERY_S)
            quiet_s = 0.0 if hub.viewers else quiet_s + _LOOK_EVERY_S


async def _hear(words: BinaryIO, runs: list[Path]) -> None:
    """Read run folders, one a line, until the process that started this one is gone."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), words)
    while line := await reader.readline():
        runs.append(Path(os.fsdecode(line.rstrip(b"\n"))))


if __name__ == "__main__":
    main()
