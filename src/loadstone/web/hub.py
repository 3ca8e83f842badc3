"""The state shared by all viewers: the list of runs, and a feed for each run that has viewers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from loadstone.runs import journal
from loadstone.web.feed import Feed, Judge, ViewerCursor
from loadstone.web.listing import RunList
from loadstone.web.stream import COMMENT, Notifier, encode, opening, waited

LIST_EVERY_S = 1.0
QUIET_S = 10.0
"""A viewer gets a comment after this many seconds without news."""


class Hub:
    """The hub of one server; everything in it belongs to the event loop's thread."""

    def __init__(self, runs: Path, judge: Judge) -> None:
        self.list = RunList(runs)
        self.viewers = 0
        self.was_viewed = False
        self._judge = judge
        self._notifier = Notifier()
        self._feeds: dict[str, tuple[Feed, asyncio.Task[None]]] = {}
        self._listed = False
        self._looking = asyncio.Lock()
        self._closing = False

    async def look(self) -> None:
        """Look for new runs as long as there are viewers of the list."""
        await asyncio.to_thread(journal.get_ready)
        while not self._closing:
            if self.viewers or not self._listed:
                await self.look_now()
            self._forget()
            await asyncio.sleep(LIST_EVERY_S)

    async def look_now(self) -> None:
        """Look for new runs, and send them to all viewers of the list."""
        async with self._looking:
            changed = await asyncio.to_thread(self.list.look)
        if changed or not self._listed:
            self._listed = True
            self._notifier.notify()

    def close(self) -> None:
        """End all streams; viewers reconnect when there is a server again."""
        self._closing = True
        self._notifier.notify()
        for _, task in self._feeds.values():
            task.cancel()

    async def stream(
        self, run: Path | None, last: int | None, only: str | None = None
    ) -> AsyncIterator[bytes]:
        """The events sent to one viewer, from the one after `last` on, until it disconnects.

        `only`: the name of the one run that the viewer may know of.
        """
        feed = self._feed(run, last) if run else None
        self.viewers += 1
        self.was_viewed = True
        if feed:
            feed.viewers += 1
        try:
            yield opening()
            async with aclosing(self._events(feed, last, only)) as events:
                async for event in events:
                    yield event
        finally:
            self.viewers -= 1
            if feed:
                feed.viewers -= 1

    async def _events(
        self, feed: Feed | None, last: int | None, only: str | None
    ) -> AsyncGenerator[bytes, None]:
        if feed:  # a run is shown before hundreds of them are listed
            await feed.ready.wait()
        listed, told = -1, feed.begin(last) if feed else ViewerCursor()
        while not self._closing:
            # Taken first, so that a notice during sending is not missed.
            rung = self._notifier.next_notice()
            if feed:
                news, told = feed.news(told) or await feed.snapshot()
                for event in news:
                    yield event
            if self._listed and listed != self.list.version:
                listed = self.list.version
                yield encode("runs", self._listed_for(only))
            if not await waited(rung, QUIET_S):
                yield COMMENT

    def _listed_for(self, only: str | None) -> dict[str, Any]:
        if only is None:
            return {"runs": self.list.lines, "preparing": self.list.preparing}
        return {"runs": [one for one in self.list.lines if one["name"] == only], "preparing": []}

    def _feed(self, run: Path, last: int | None) -> Feed:
        known = self._feeds.get(run.name)
        if known and not known[1].done():
            return known[0]
        feed = Feed(run, self._judge, self._notifier, last)
        self._feeds[run.name] = feed, asyncio.create_task(feed.follow())
        return feed

    def _forget(self) -> None:
        """Drop feeds that have ended because they had no viewers for a while."""
        for name, (feed, task) in list(self._feeds.items()):
            if task.done() and not feed.viewers:
                del self._feeds[name]
