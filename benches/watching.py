"""Viewers of a live page as their browsers are: one stream each, read as it comes."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from loadstone.runs.rebuild import JOURNAL

_PATIENCE_S = 60.0


@dataclass
class Viewers:
    """What some of them were told, and how long after it was so."""

    runs: Path
    shown_s: list[float] = field(default_factory=list)
    """For each viewer: after the run's begin it stood in the list of runs."""
    late_s: list[float] = field(default_factory=list)
    """For each second and viewer: after its end it was told."""

    def follow(self, link: str) -> None:
        """One viewer: looks at the list until a run goes on, then at that, until it has ended."""
        name, begun = self._first(link)
        for event, data in _events(link, f"/api/events?run={quote(name, safe='')}"):
            if event == "second":
                at_s, _ = data["points"]["tps"]
                self.late_s.append(time.time() - begun - at_s)
            elif event == "run" and data["ended"]:
                return
            elif event == "snapshot" and data["run"]["ended"]:  # it ended before we came
                return

    def _first(self, link: str) -> tuple[str, float]:
        """The name of the run that goes on, and when it began."""
        for event, data in _events(link, "/api/events"):
            going = [run for run in data.get("runs", ()) if run["state"] == "running"]
            if event == "runs" and going:
                shown = time.time()
                name = str(going[0]["name"])
                begun = _begin_of(self.runs / name)
                self.shown_s.append(shown - begun)
                return name, begun
        raise ConnectionError("the page ended before a run began")


def _begin_of(run: Path) -> float:
    """As the run's own clock has it, seconds since 1970."""
    with (run / JOURNAL).open() as journal:
        return float(json.loads(journal.readline())["unix_s"])


def _events(link: str, path: str) -> Iterator[tuple[str, Any]]:
    """The events of a stream, until it ends."""
    page = urlsplit(link)
    (token,) = parse_qs(page.query)["token"]
    connection = http.client.HTTPConnection(page.netloc, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        if response.status != 200:
            raise ConnectionError(f"{path}: {response.status} {response.reason}")
        name = ""
        while line := response.readline().decode():
            what, _, value = line.rstrip("\n").partition(": ")
            if what == "event":
                name = value
            elif what == "data":
                yield name, json.loads(value)
    finally:
        connection.close()


@contextmanager
def viewers(link: str, runs: Path, number: int) -> Iterator[Viewers]:
    """So many of them look at the page while it is entered; they go when the run has ended."""
    found = Viewers(runs)

    def look() -> None:
        # A page that goes, or a run that failed: whoever drives it says why.
        with suppress(ConnectionError, TimeoutError, http.client.HTTPException):
            found.follow(link)

    threads = [threading.Thread(target=look, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    yield found
    for thread in threads:
        thread.join(_PATIENCE_S)
