"""Server-sent events: encoding them, and waking the streams that wait for news.

WHATWG, "HTML Standard", 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

RETRY_MS = 1000
"""How soon a disconnected browser reconnects."""


def encode(name: str, data: Any, number: int | None = None) -> bytes:
    """One encoded event. A browser sends its last `number` when it reconnects."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    head = f"event: {name}\n" if number is None else f"id: {number}\nevent: {name}\n"
    return f"{head}data: {text}\n\n".encode()


def opening() -> bytes:
    """The first bytes of a stream."""
    return f"retry: {RETRY_MS}\n\n".encode()


COMMENT = b": nothing new\n\n"
"""Sent now and then, so that a dead connection is noticed."""


class Notifier:
    """Wakes all waiting streams when there is something new; each finds out for itself what it is.

    Take `next_notice` before looking, so that nothing that arrives while you look is missed.
    """

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def notify(self) -> None:
        """Wake all that wait."""
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    def next_notice(self) -> asyncio.Event:
        """The event that the next `notify` sets."""
        return self._rung


async def waited(rung: asyncio.Event, at_most_s: float) -> bool:
    """Whether `rung` was set within the time."""
    with suppress(TimeoutError):
        await asyncio.wait_for(rung.wait(), at_most_s)
    return rung.is_set()
