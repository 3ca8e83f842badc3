"""Reads sources about once a second, each in its own thread, and collects the readings.

A slow or lost source delays neither the load nor the other sources: the caller takes the readings
that have arrived so far. They fall on whole seconds after the load's start, so that the seconds of
load, server and host are the same ones.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from loadstone.model.message import Message, plain, say
from loadstone.model.observed import Observation, Reading, SourceName, SourceState
from loadstone.observe.source import Source, SourceError

Seen = Observation | SourceState
Translate = Callable[[Reading], Reading]

UPTIME = "uptime_s"
"""The gauge with the time since a source's start, if it tells."""

INTERVAL_S = 1.0
RETRY_S = 5.0
"""How long to wait before a lost source is tried again."""

MARK_S = 3.0
"""How long a step waits for the readings at its start and its end."""

_SHORTEST_S = 0.05
"""Readings closer together count as one: rates over a shorter time are noise."""


class Sampler:
    """One source and the thread that reads it.

    `began` is the start of the run on the monotonic clock; all reported times count from it.
    """

    def __init__(
        self,
        source: Source,
        began: float,
        out: SimpleQueue[Seen],
        translate: Translate | None = None,
        retry_s: float = RETRY_S,
    ) -> None:
        self.name: SourceName = source.name
        self.facts: dict[str, str] = {}
        self._source = source
        self._began = began
        self._out = out
        self._translate = translate
        self._retry_s = retry_s
        self._wake = threading.Condition()
        self._phase = time.monotonic()
        self._marks = 0
        self._taken = 0
        self._closing = False
        self._before: Reading | None = None
        """The reading from which the next rates count."""
        self._newest: Reading | None = None
        self._lost = False
        self._thread = threading.Thread(
            target=self._run, name=f"loadstone {source.name}", daemon=True
        )
        self._thread.start()

    def mark(self) -> int:
        """Request a reading now; returns a number for `wait`."""
        with self._wake:
            self._marks += 1
            self._wake.notify()
            return self._marks

    def wait(self, mark: int, deadline: float) -> bool:
        """Wait until that reading was taken or has failed; `False` if the deadline passes first."""
        with self._wake:
            return self._wake.wait_for(
                lambda: self._taken >= mark or self._closing, deadline - time.monotonic()
            )

    def align(self, phase: float) -> None:
        """Read at whole seconds after this time on the monotonic clock."""
        with self._wake:
            self._phase = phase
            self._wake.notify()

    def close(self) -> None:
        """End the thread; it closes the source itself, as it may be reading at the moment."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()

    def join(self, deadline: float) -> None:
        """Wait for the thread until the deadline."""
        self._thread.join(max(deadline - time.monotonic(), 0.0))

    def _run(self) -> None:
        try:
            while (marks := self._sleep()) is not None:
                self._read()
                with self._wake:
                    self._taken = max(self._taken, marks)
                    self._wake.notify_all()
        finally:
            self._source.close()

    def _sleep(self) -> int | None:
        """Sleep until a reading is due or requested; the marks it serves, or `None` to end."""
        with self._wake:
            due = self._due(time.monotonic())
            while not self._closing and self._marks <= self._taken:
                left = due - time.monotonic()
                if left <= 0:
                    break
                phase = self._phase
                self._wake.wait(left)
                if self._phase != phase:
                    due = self._due(time.monotonic())
            return None if self._closing else self._marks

    def _due(self, now: float) -> float:
        every = self._retry_s if self._lost else INTERVAL_S
        elapsed = now - self._phase
        # A wake-up shortly after the whole second just served counts as that second.
        return self._phase + (int((elapsed + _SHORTEST_S) / every) + 1) * every

    def _read(self) -> None:
        cpu, wall = time.thread_time(), time.monotonic()
        try:
            reading = self._source.read()
            if self._translate:
                reading = self._translate(reading)
            _check_finite(reading)
        except SourceError as error:
            self._say_lost(plain(error.message))
            return
        except Exception as error:  # a broken server's or exporter's answer may raise anything
            self._source.close()
            self._say_lost(
                say(
                    "{source}: an answer that cannot be read ({why})",
                    source=str(self.name),
                    why=f"{error!r:.200}",
                )
            )
            return
        self._take(reading, time.thread_time() - cpu, time.monotonic() - wall)

    def _take(self, reading: Reading, cost_s: float, asked_s: float) -> None:
        was_lost, self._lost = self._lost, False
        if was_lost:
            self._out.put(self._state(lost=False, why=say("answers again")))
        self.facts.update(reading.facts)
        self._newest = reading
        before = self._before
        if before and reading.at_s - before.at_s < _SHORTEST_S:
            return
        self._before = reading
        if before:
            self._out.put(
                Observation(
                    source=self.name,
                    from_s=round(before.at_s - self._began, 6),
                    to_s=round(reading.at_s - self._began, 6),
                    deltas=deltas(before, reading),
                    # Those of the time in between are not known.
                    gauges={} if was_lost else reading.gauges,
                    cost_s=round(cost_s, 6),
                    asked_s=round(asked_s, 6),
                )
            )

    @property
    def last(self) -> Reading | None:
        """The latest reading; `None` while the source is lost."""
        return None if self._lost else self._newest

    def _say_lost(self, why: Message) -> None:
        if not self._lost:
            self._lost = True
            self._out.put(self._state(lost=True, why=why))

    def _state(self, *, lost: bool, why: Message) -> SourceState:
        at_s = round(time.monotonic() - self._began, 6)
        return SourceState(source=self.name, at_s=at_s, lost=lost, why=why)


def _check_finite(reading: Reading) -> None:
    """Refuse NaN and infinity, which a server of PostgreSQL's family can send as numbers.

    Raises:
        ValueError: names the first of them.
    """
    for figures in (reading.counters, reading.gauges):
        for name, value in figures.items():
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value}")


def deltas(before: Reading, after: Reading) -> dict[str, float]:
    """The increase of each counter; counters that are new, gone or have decreased are left out.

    If the source has restarted in between, its counters began at zero: what they counted before
    that, since the earlier reading, is lost.
    """
    earlier = (
        dict.fromkeys(after.counters, 0.0) if _has_restarted(before, after) else before.counters
    )
    return {
        name: round(value - earlier[name], 9)
        for name, value in after.counters.items()
        if name in earlier and value >= earlier[name]
    }


@dataclass(frozen=True)
class Watched:
    """A source, and the function that translates its names to ours."""

    source: Source
    translate: Translate | None = None
    retry_s: float = RETRY_S


class Sampling:
    """All sources of a run."""

    def __init__(self, sources: Sequence[Watched], began: float) -> None:
        self._out: SimpleQueue[Seen] = SimpleQueue()
        self._samplers: list[Sampler] = []
        try:
            for one in sources:
                sampler = Sampler(one.source, began, self._out, one.translate, one.retry_s)
                self._samplers.append(sampler)
        except BaseException:  # no thread is left, or somebody ends the program
            self.close()
            raise

    @property
    def names(self) -> tuple[SourceName, ...]:
        """Names of the observed sources."""
        return tuple(sampler.name for sampler in self._samplers)

    def facts(self) -> dict[str, dict[str, str]]:
        """Facts that hardly ever change, by the source's name."""
        return {str(sampler.name): dict(sampler.facts) for sampler in self._samplers}

    def mark(self) -> None:
        """Read all sources now, and wait briefly for the readings."""
        deadline = time.monotonic() + MARK_S
        for sampler, mark in [(sampler, sampler.mark()) for sampler in self._samplers]:
            sampler.wait(mark, deadline)

    def align(self, phase: float) -> None:
        """Read at whole seconds after this time on the monotonic clock."""
        for sampler in self._samplers:
            sampler.align(phase)

    def gauge(self, source: SourceName, name: str) -> float | None:
        """The latest value of a gauge; `None` if the source was lost or does not have it."""
        for sampler in self._samplers:
            last = sampler.last
            if sampler.name == source and last:
                return last.gauges.get(name)
        return None

    def taken(self) -> list[Seen]:
        """What has arrived since the last call, oldest first."""
        seen: list[Seen] = []
        while True:
            try:
                seen.append(self._out.get_nowait())
            except Empty:
                return seen

    def close(self) -> None:
        """End all threads; a thread that hangs in its source is left behind."""
        deadline = time.monotonic() + MARK_S
        for sampler in self._samplers:
            sampler.close()
        for sampler in self._samplers:
            sampler.join(deadline)


def _has_restarted(before: Reading, after: Reading) -> bool:
    """Whether it has been up for less than before, or for less than the time in between.

    Its clock alone does not decide, as that may be set back: a counter has to be lower, too.
    """
    up_s = after.gauges.get(UPTIME)
    earlier = before.counters
    if up_s is None or not any(after.counters.get(name, n) < n for name, n in earlier.items()):
        return False
    # Uptimes are whole seconds, rounded down.
    return up_s < before.gauges.get(UPTIME, 0.0) or up_s + 1 < after.at_s - before.at_s
