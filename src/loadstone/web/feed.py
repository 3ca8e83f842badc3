"""One run's journal, followed once for all viewers of the run.

An event's number is the byte offset in the journal behind the line that the event is made from. A
browser that reconnects sends the last number it had and gets the rest: from this process, or from
one started since that has read the same journal. What is not in a line (findings, whether the run's
process is alive) has no number and is sent again to every viewer that connects.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from loadstone.model.errors import LoadstoneError
from loadstone.model.result import StepResult
from loadstone.report.figures.live import goes_by_rate
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.proofs import PROOFS
from loadstone.runs.rebuild import JOURNAL, step_result
from loadstone.runs.recent import recent_from
from loadstone.runs.recorder import read_asked
from loadstone.runs.safe_open import is_there
from loadstone.runs.steplog import StepLog
from loadstone.runs.tail import Tail
from loadstone.web.apart import NoAnswer
from loadstone.web.ended_step import OneStep, row_of, rows_apart
from loadstone.web.live_run import KEPT_S, Event, LiveRun
from loadstone.web.localize import translations
from loadstone.web.proving import TrialProgress
from loadstone.web.running_step import (
    EVERY_S,
    JUDGED_AFTER_S,
    SHARE_OF_CORE,
    is_judged,
    step_so_far,
)
from loadstone.web.stream import Notifier, encode

LOOK_EVERY_S = 0.2
"""How often the journal is read; this is most of the delay from the sample to the screen."""

ALIVE_EVERY_S = 1.0
FORGET_AFTER_S = 60.0
"""How long a run without viewers is kept in memory."""

KEPT_EVENTS = 2000
"""Maximum number of recent events kept; a viewer that missed more gets a full snapshot."""

KEPT_BYTES = 16 * 1024 * 1024
"""Maximum size of the kept events together."""

MOST_BYTES_HERE = 8 * 1024 * 1024
"""Of the journal: the row of a longer step, ended or not, is computed by another process, whose
memory is free again; starting that takes longer than the row of a shorter one."""

Judge = Callable[[Path], Awaitable[list[dict[str, Any]]]]
"""Returns the findings of a run so far; may take a second of a core."""


@dataclass(frozen=True)
class _Numbered:
    number: int
    data: bytes


@dataclass(frozen=True)
class ViewerCursor:
    """What has been sent to one viewer."""

    number: int | None = None
    """The number of the last event; `None` if nothing has been sent."""
    extras: int = 0
    """Version of the data without a number."""


class Feed:
    """The state of one run, read from its folder and sent to any number of viewers."""

    def __init__(
        self, run: Path, judge: Judge, notifier: Notifier, last: int | None = None
    ) -> None:
        """`last`: the number of the last event that the first viewer has; it is not trusted."""
        self._run = run
        self._judge = judge
        self._notifier = notifier
        self._recent_from = recent_from(run / JOURNAL, KEPT_S)
        """The byte from which on seconds are shown; those before it are not even parsed."""
        self._tail = Tail(run / JOURNAL, self._recent_from)
        self._live = LiveRun(run, self._row_of, *_of_asked(run))
        self._guarded = Lock()
        """Held by the thread that reads, or that takes a snapshot of what was read."""
        self._events: deque[_Numbered] = deque()
        self._kept_bytes = 0
        self._from = self._recent_from
        """Only events after this number are kept."""
        self._only_snapshot = last is None
        """What is read until the first viewer's snapshot is in it, and need not be sent."""
        self._extras: dict[str, Any] = {
            "findings": None,
            "alive": None,
            "trial": None,
            "account": None,
            "problem": None,
            "told": {},
        }
        self._version = 1
        self._judged: tuple[int, int] = (-1, 0)
        """The steps, and the time of the proofs, that the findings are of."""
        self._written: dict[int, StepResult] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._alive_at = 0.0
        self._trials = TrialProgress(run)
        self._tried_at = 0.0
        self._viewed_at = time.monotonic()
        self._judging: asyncio.Task[None] | None = None
        self._accounting: asyncio.Task[None] | None = None
        self._account_at = time.monotonic() + EVERY_S
        self._not_judged: str | None = None
        """Why the last findings could not be made that could not."""
        self._judge_at = 0.0
        """When the running step may be diagnosed, or diagnosed again."""
        self.viewers = 0
        self.ready = asyncio.Event()
        """Set once everything written before the first viewer came has been read."""

    async def follow(self) -> None:
        """Read the journal as it grows, until nobody has looked for a while."""
        self._loop = asyncio.get_running_loop()
        try:
            while self.viewers or time.monotonic() < self._viewed_at + FORGET_AFTER_S:
                if self.viewers:
                    self._viewed_at = time.monotonic()
                found, caught_up = await asyncio.to_thread(self._advance)
                self._keep(found)
                if caught_up:
                    self._only_snapshot = False
                    await self._look_at_what_is_not_written()
                    self.ready.set()
                    await asyncio.sleep(LOOK_EVERY_S)
        except LoadstoneError as error:
            self._set_problem(error.message)
        finally:
            self.ready.set()

    def begin(self, last: int | None) -> ViewerCursor:
        """The cursor of a viewer that reports `last` as its latest event; `last` is not trusted."""
        is_ours = last is not None and last <= self._tail.at_byte
        return ViewerCursor(last if is_ours else None)

    def news(self, told: ViewerCursor) -> tuple[list[bytes], ViewerCursor] | None:
        """Events since the cursor, and the new cursor; `None` if only a snapshot helps."""
        number = told.number
        if number is None or number < self._from:
            return None
        news = [event for event in self._events if event.number > number]
        newest = news[-1].number if news else number
        events = [*(event.data for event in news), *self._extra_events(told)]
        return events, ViewerCursor(newest, self._version)

    async def snapshot(self) -> tuple[list[bytes], ViewerCursor]:
        """The complete state, for a viewer that has nothing or was away for too long."""
        number, picture = await asyncio.to_thread(self._picture)
        version = self._version
        events = [encode("snapshot", picture, number), *self._extra_events(ViewerCursor())]
        return events, ViewerCursor(number, version)

    def _extra_events(self, told: ViewerCursor) -> Iterator[bytes]:
        if told.extras != self._version:
            yield encode("extras", self._extras)

    def _picture(self) -> tuple[int, dict[str, Any]]:
        with self._guarded:
            return self._tail.at_byte, self._live.snapshot()

    def _advance(self) -> tuple[list[_Numbered], bool]:
        """Read on, in a separate thread; returns the events, and whether the end was reached."""
        with self._guarded:
            written = self._tail.read()
            found = [
                _Numbered(line.to_byte, self._encoded(line.to_byte, events))
                for line in written
                if (events := list(self._live.take(line.entry)))
            ]
        return found, not written

    def _encoded(self, number: int, events: list[Event]) -> bytes:
        """A line's events as bytes; only the last has the number: viewers get all, or none."""
        if self._only_snapshot:
            return b""
        *before, last = events
        return b"".join(
            [*(encode(one.name, one.data) for one in before), encode(last.name, last.data, number)]
        )

    def _keep(self, found: list[_Numbered]) -> None:
        if not found:
            return
        if self._only_snapshot:
            self._from = found[-1].number
            return
        for event in found:
            self._events.append(event)
            self._kept_bytes += len(event.data)
        while len(self._events) > KEPT_EVENTS or self._kept_bytes > KEPT_BYTES:
            oldest = self._events.popleft()
            self._from = oldest.number
            self._kept_bytes -= len(oldest.data)
        self._notifier.notify()

    async def _look_at_what_is_not_written(self) -> None:
        now = time.monotonic()
        if now >= self._alive_at + ALIVE_EVERY_S or self._live.has_ended:
            self._alive_at = now
            alive = not self._live.has_ended and run_folder.is_running(self._run)
            self._set_extra("alive", alive)
        # Only a run that has ended is proved.
        if self._extras["alive"] is False and now >= self._tried_at + ALIVE_EVERY_S:
            self._tried_at = now
            self._set_extra("trial", await asyncio.to_thread(self._trials.look))
        if self._live.current is None:
            self._set_extra("account", None)
        elif now >= self._account_at and (self._accounting is None or self._accounting.done()):
            self._accounting = asyncio.create_task(self._account_now())
        ended = len(self._live.rows), _proved_at(self._run)
        is_news = (ended[0] and ended != self._judged) or self._has_more_to_judge(now)
        if is_news and (self._judging is None or self._judging.done()):
            self._judged = ended
            self._judging = asyncio.create_task(self._judge_now())

    def _has_more_to_judge(self, now: float) -> bool:
        """Whether the running step has grown since it was judged; that of a dead run has not."""
        current = self._live.current
        if current is None or not self._extras["alive"]:
            return False
        return is_judged(current.window) and now >= self._judge_at

    async def _judge_now(self) -> None:
        """Compute the findings while reading goes on, so that samples are still sent."""
        began = time.monotonic()
        try:
            self._set_extra("findings", await self._judge(self._run))
            if self._extras["problem"] == self._not_judged:  # a later problem is of the journal
                self._set_extra("problem", None)
        except LoadstoneError as error:
            self._not_judged = error.message
            self._set_problem(error.message)
        self._judge_at = _again_at(began, JUDGED_AFTER_S)

    async def _account_now(self) -> None:
        """Where the users' time goes in the running step, computed while reading goes on."""
        began = time.monotonic()
        try:
            account = await self._account_so_far()
        except (StoreError, NoAnswer):
            account = None  # the reader of the same file says what is wrong with it
        self._account_at = _again_at(began, EVERY_S)
        self._set_extra("account", account if self._live.current else None)

    async def _account_so_far(self) -> dict[str, Any] | None:
        begin, current = self._live.begin, self._live.current
        if begin is None or current is None:
            return None
        journal_from = current.begin.journal_from
        step: StepResult | None
        if self._tail.at_byte - journal_from > MOST_BYTES_HERE:
            (step,) = await rows_apart(self._run, OneStep(begin=begin, journal_from=journal_from))
        else:
            step = await asyncio.to_thread(step_so_far, self._run, begin, current.begin)
        if step is None or step.account is None:
            return None
        return await asyncio.to_thread(self._live.account, step)

    def _set_problem(self, why: str) -> None:
        self._set_extra("told", translations([why]))
        self._set_extra("problem", why)

    def _set_extra(self, name: str, value: Any) -> None:
        if self._extras[name] != value:
            self._extras = self._extras | {name: value}
            self._version += 1
            self._notifier.notify()

    def _row_of(self, step: StepLog) -> StepResult:
        """The row from result.json if the run ended before we read it; else from the journal."""
        if self._written is None:
            self._written = self._written_rows()
        known = self._written.get(step.step.number)
        # A step that ends while we follow is not in that file, as the run may have been resumed.
        if known is not None and not self.ready.is_set():
            return known
        begin, journal_from = self._live.begin, step.begin.journal_from
        assert begin is not None, "a step ends in a run that has begun"
        one = OneStep(begin=begin, journal_from=journal_from)
        if self._tail.at_byte - journal_from > MOST_BYTES_HERE:
            (row,) = self._apart(one)
            return row
        if journal_from < self._recent_from:  # some of its seconds were passed over
            return row_of(self._run, one)
        return step_result(self._run, step, begin)

    def _written_rows(self) -> dict[int, StepResult]:
        """The rows in result.json; where there is none, those of a journal not read from its start.

        Rebuilding all rows at once reads the journal once, and not once for each.
        """
        try:
            if is_there(self._run / run_folder.RESULT):
                rows = run_folder.load(self._run).steps
            else:
                rows = self._apart() if self._recent_from else ()
        except StoreError:
            return {}
        return {row.step: row for row in rows}

    def _apart(self, one: OneStep | None = None) -> tuple[StepResult, ...]:
        """Rows that a process of its own computes, for which this thread waits."""
        assert self._loop is not None, "rows are asked for by a thread of `follow`"
        asked = asyncio.run_coroutine_threadsafe(rows_apart(self._run, one), self._loop)
        return asked.result()


def _again_at(began: float, every_s: float) -> float:
    """When what has just been computed, and began then, may be computed again."""
    now = time.monotonic()
    return now + max(every_s, (now - began) / SHARE_OF_CORE)


def _proved_at(run: Path) -> int:
    """When proofs of the run's findings were written last, in ns; 0 if there are none."""
    try:
        return (run / PROOFS).lstat().st_mtime_ns
    except OSError:
        return 0


def _of_asked(run: Path) -> tuple[bool, bool]:
    """Whether a step may be changed by hand, and whether levels differ by the requested rate.

    Levels chosen by a search, or under comparison, cannot be changed by hand.
    """
    try:
        asked = read_asked(run)
    except StoreError:  # other version: the run refuses what it does not want
        return True, False
    search = asked.plan.search
    levels = asked.experiment or asked.plan
    by_rate = goes_by_rate(levels.ladder, levels.rates)
    if search is not None:
        by_rate = search.objective is not None
    return search is None and asked.experiment is None, by_rate
