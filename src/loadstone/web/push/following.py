"""Follows a run and pushes its metrics, every few seconds and once more when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from loadstone.model.message import Message, say
from loadstone.web.followed import Followed
from loadstone.web.push.places import PushPlace
from loadstone.web.push.sender import PushFailed, Sender
from loadstone.web.series import RunCounts, points

EVERY_S = 5.0
"""The time between two pushes: half of what receivers are usually scraped or written at."""

Tell = Callable[[Message], None]


def sender_of(place: PushPlace, token: str | None, run: Path) -> Sender:
    """The sender for a receiver; only what it needs is imported."""
    if place.kind == "otlp":
        from loadstone.web.push.otlp import Otlp

        return Otlp(place.url, token, run.name)
    from loadstone.web.push.remote_write import RemoteWrite

    return RemoteWrite(place.url, token)


@dataclass
class Push:
    """A receiver, and whether it was already reported that it does not take the figures."""

    place: PushPlace
    sender: Sender
    tell: Tell
    reported: bool = False

    def send(self, run: RunCounts, unix_ms: int) -> None:
        """Push the figures of this moment."""
        self._try(lambda: self.sender.send(list(points(run)), unix_ms))

    def end(self, unix_ms: int) -> None:
        """The run is over."""
        self._try(lambda: self.sender.end(unix_ms))

    def _try(self, push: Callable[[], None]) -> None:
        """A failure is reported once; the next push is tried all the same."""
        try:
            push()
        except PushFailed as failed:
            if not self.reported:
                self.reported = True
                self.tell(
                    say(
                        "figures are not pushed to {url}: {why}",
                        url=self.place.url,
                        why=str(failed),
                    )
                )


def follow(run: Path, pushes: Sequence[Push], over: Event) -> None:
    """Push until the run is over, and its last figures then."""
    followed = Followed(run)
    while not over.is_set():
        _to_all(pushes, followed.read_on())
        over.wait(EVERY_S)
    _to_all(pushes, followed.finish())
    for push in pushes:
        push.end(_now_ms() + 1)


def _to_all(pushes: Sequence[Push], counts: RunCounts) -> None:
    at = _now_ms()
    for push in pushes:
        push.send(counts, at)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
