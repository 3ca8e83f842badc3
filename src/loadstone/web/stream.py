"""Server-sent events: how they are written, and how whoever waits for them is woken.

WHATWG, "HTML Standard", 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

RETRY_MS = 1000
"""How soon a browser tries again that was cut off."""


def encode(name: str, data: Any, number: int | None = None) -> bytes:
    """One event. A `number` is what the browser says it had last when it comes back."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    head = f"event: {name}\n" if number is None else f"id: {number}\nevent: {name}\n"
    return f"{head}data: {text}\n\n".encode()


def opening() -> bytes:
    """What a stream begins with."""
    return f"retry: {RETRY_MS}\n\n".encode()


COMMENT = b": nothing new\n\n"
"""Sent now and then, so that a connection that is dead is noticed."""


class Notifier:
    """Rung when there is something new for anybody; who waits looks for itself what it is.

    Take `next_notice` before looking: what comes while you look is then not missed.
    """

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def notify(self) -> None:
        """Wake all that wait."""
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    def next_notice(self) -> asyncio.Event:
        """What is set when it is rung next."""
        return self._rung


async def waited(rung: asyncio.Event, at_most_s: float) -> bool:
    """Whether it was rung within the time."""
    with suppress(TimeoutError):
        await asyncio.wait_for(rung.wait(), at_most_s)
    return rung.is_set()
