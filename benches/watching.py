"""Viewers of a live page as their browsers are: one stream each, read as it comes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from loadstone.runs.rebuild import JOURNAL

_PATIENCE_S = 120.0
_AT_ONCE = 1 << 20


@dataclass
class Viewers:
    """What some viewers got, and when."""

    runs: Path
    threads: list[threading.Thread] = field(default_factory=list)
    shown_s: list[float] = field(default_factory=list)
    """For each viewer: how long after the run's start it was in the list of runs."""
    late_s: list[float] = field(default_factory=list)
    """For each second and viewer: how long after its end it arrived."""
    newest_s: dict[int, float] = field(default_factory=dict)
    """For each viewer: the newest second that it got, in seconds since the start of the run."""
    ended: set[int] = field(default_factory=set)
    """The viewers that saw the run's end."""
    are_elsewhere: threading.Event = field(default_factory=threading.Event)
    """From now on what they get is only taken: what a viewer makes of it is its own machine's."""
    leave: threading.Event = field(default_factory=threading.Event)
    """Those who are elsewhere leave."""

    def follow(self, link: str, viewer: int) -> None:
        """One viewer: reads the list until a run is there, then that run until it has ended."""
        name, begun = self._first(link)
        path = f"/api/events?run={quote(name, safe='')}"
        for event, data in events(link, path, self.are_elsewhere, self.leave):
            if event == "second":
                at_s, _ = data["points"]["tps"]
                self.newest_s[viewer] = at_s
                self.late_s.append(time.time() - begun - at_s)
            elif event == "snapshot":
                self.newest_s[viewer] = _newest_of(data)
            ended = data["run"] if event == "snapshot" else data if event == "run" else None
            if ended and ended["ended"]:
                self.ended.add(viewer)
                return

    def _first(self, link: str) -> tuple[str, float]:
        """The name of the run that is running, and when it started."""
        for event, data in events(link, "/api/events"):
            going = [run for run in data.get("runs", ()) if run["state"] == "running"]
            if event == "runs" and going:
                shown = time.time()
                name = str(going[0]["name"])
                begun = _begin_of(self.runs / name)
                self.shown_s.append(shown - begun)
                return name, begun
        raise ConnectionError("the page ended before a run started")

    def join(self) -> None:
        """Wait until all have left, which they do once the run has ended."""
        for thread in self.threads:
            thread.join(_PATIENCE_S)


def _newest_of(snapshot: dict[str, Any]) -> float:
    """The newest second of a snapshot; 0 if it has none."""
    lines = snapshot["timelines"]["rates"]["option"]["series"]
    (tps,) = (one["data"] for one in lines if one["id"] == "tps")
    return float(tps[-1][0]) if tps else 0.0


def _begin_of(run: Path) -> float:
    """When the run started by its own clock, in seconds since 1970."""
    with (run / JOURNAL).open() as journal:
        return float(json.loads(journal.readline())["unix_s"])


def events(
    link: str,
    path: str,
    are_elsewhere: threading.Event | None = None,
    leave: threading.Event | None = None,
) -> Iterator[tuple[str, Any]]:
    """The events of a stream, until it ends; `link` is the page's, with its token.

    Once `are_elsewhere` is set nothing is read any more, only taken, until `leave` is set.

    Raises:
        ConnectionError: the page refuses, or ends the connection.
    """
    page = urlsplit(link)
    (token,) = parse_qs(page.query)["token"]
    connection = http.client.HTTPConnection(page.netloc, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        stream = connection.sock
        response = connection.getresponse()
        if response.status != 200:
            raise ConnectionError(f"{path}: {response.status} {response.reason}")
        name = ""
        while line := response.readline().decode():
            what, _, value = line.rstrip("\n").partition(": ")
            if what == "event":
                name = value
            elif what == "data":
                if are_elsewhere and leave and are_elsewhere.is_set():
                    return _only_take(stream, leave)
                yield name, json.loads(value)
    finally:
        connection.close()


def _only_take(stream: socket.socket, leave: threading.Event) -> None:
    """Take what has arrived every second, without a copy: tcp(7), MSG_TRUNC."""
    stream.setblocking(False)
    while not leave.wait(1.0):
        with suppress(BlockingIOError):
            while stream.recv(_AT_ONCE, socket.MSG_TRUNC):
                pass


@contextmanager
def viewers(link: str, runs: Path, number: int) -> Iterator[Viewers]:
    """So many viewers watch the page within the block; they leave when the run has ended."""
    found = Viewers(runs)

    def look(viewer: int) -> None:
        # If the page ends or the run fails, the process that started it reports why.
        with suppress(ConnectionError, TimeoutError, http.client.HTTPException):
            found.follow(link, viewer)

    found.threads = [
        threading.Thread(target=look, args=(each,), daemon=True) for each in range(number)
    ]
    for thread in found.threads:
        thread.start()
    yield found
    found.leave.set()
    found.join()
