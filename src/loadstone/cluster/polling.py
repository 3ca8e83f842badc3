"""Polls generators for their records, and detects those that do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from queue import Empty, Queue
from typing import Any, NamedTuple, NoReturn

from loadstone.cluster.errors import ClusterError
from loadstone.cluster.messages import NumberedRecord
from loadstone.cluster.transport import Link
from loadstone.model.figure import Short
from loadstone.model.message import Message, say

WAIT_S = 1.2
"""Seconds that a generator may wait for a record before it answers without one: a little longer
than an interval, so that each answer has one."""

SILENCE_S = 2.5
"""Seconds without an answer after which a generator is lost: `WAIT_S`, and as long for the
network."""

LOOK_S = 0.1
"""Seconds until a request to stop, or a silence, is noticed."""


class Answer(NamedTuple):
    """The answer of one generator."""

    generator: int
    told: list[NumberedRecord]
    lost: str | None
    """Why it cannot be polled any more; it then has no records."""


class Asking:
    """The calls of one step or load; generators are identified by the numbers of their parts."""

    def __init__(self, number: int, links: Mapping[int, Link]) -> None:
        """Create it; the step's `number` lets a generator recognise calls that come too late."""
        self._number = number
        self._links = links
        self._heard_s: dict[int, float] = {}
        self._answers: Queue[tuple[int, Future[list[NumberedRecord]]]] = Queue()
        self._looked_s = 0.0
        """When silences were last checked; at first, when polling started."""

    def ask(self, generator: int, has: int) -> None:
        """Ask for the records after number `has`; the first request counts as a sign of life."""
        if not self._heard_s:
            self._looked_s = time.monotonic()
        self._heard_s.setdefault(generator, time.monotonic())
        future = self.call(generator, "take", has, WAIT_S)
        future.add_done_callback(lambda done: self._answers.put((generator, done)))

    def call(self, generator: int, method: str, *arguments: Any) -> Future[Any]:
        """Start a call that names its step; see `Link`."""
        return self._links[generator].call(method, self._number, *arguments)

    def answers(self) -> Iterator[Answer]:
        """All answers that have come, or the first that comes within `LOOK_S`."""
        try:
            yield self._heard(*self._answers.get(timeout=LOOK_S))
            while True:
                yield self._heard(*self._answers.get_nowait())
        except Empty:
            return

    def give_up_silent(self, generators: Iterable[int]) -> list[tuple[int, Message]]:
        """Give up generators that have been silent for too long; returns each with a message.

        They are asked to stop: one that comes back before its lease is over ends at once.
        """
        now = time.monotonic()
        if now < self._looked_s + LOOK_S:
            return []
        # While this machine itself was paused, it could receive no answer.
        own_pause_s, self._looked_s = max(now - self._looked_s - 2 * LOOK_S, 0.0), now
        found: list[tuple[int, Message]] = []
        for generator in generators:
            self._heard_s[generator] += own_pause_s
            silent_s = now - self._heard_s[generator]
            if silent_s > SILENCE_S:
                found.append(
                    (
                        generator,
                        say("it did not answer for {seconds} s", seconds=Short(round(silent_s, 1))),
                    )
                )
                self.stop(generator)
        return found

    def stop(self, generator: int) -> None:
        """Ask it for a clean end; its remaining records still follow."""
        self.call(generator, "stop")

    def stop_all(self) -> None:
        """Stop all, also lost ones, which may receive it or else end with their lease."""
        for generator in self._links:
            self.stop(generator)

    def _heard(self, generator: int, answer: Future[list[NumberedRecord]]) -> Answer:
        error = answer.exception()
        if error is not None:
            return Answer(generator, [], line_of(error))
        self._heard_s[generator] = time.monotonic()
        return Answer(generator, answer.result(), None)


def result_of(link: Link, future: Future[Any]) -> Any:
    """The result of a call before there is any load.

    Raises:
        ClusterError: the generator did not answer.
    """
    try:
        return future.result(SILENCE_S)
    except Exception as error:
        raise_lost(link, error)


def raise_lost(link: Link, error: BaseException) -> NoReturn:
    """Raise the error for a generator that does not answer before there is any load.

    Raises:
        ClusterError: always.
    """
    raise ClusterError(
        say("the generator on {node} does not answer: {why}", node=link.node, why=line_of(error)),
        say(
            "loadstone cluster check shows which nodes do; see ray status and its logs on {node}",
            node=link.node,
        ),
    ) from error


def line_of(error: BaseException) -> str:
    """The first meaningful line of an error, because Ray's errors are pages long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
