"""Asks generators what they have to tell, again and again, and notices who does not answer."""

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
"""How long a generator may wait for a record before it answers that there is none: a little longer
than from one interval to the next, so that each answer has one."""

SILENCE_S = 2.5
"""A generator that has not answered for so long is lost: `WAIT_S`, and as long on the way."""

LOOK_S = 0.1
"""How soon a wish to stop, and a silence, is noticed."""


class Answer(NamedTuple):
    """What one generator answered."""

    generator: int
    told: list[NumberedRecord]
    lost: str | None
    """Why it cannot be asked any more; it then tells nothing."""


class Asking:
    """The calls of one step, or of one load; the generators have the numbers of their parts."""

    def __init__(self, number: int, links: Mapping[int, Link]) -> None:
        """`number`: of the step, by which a generator knows calls that come too late."""
        self._number = number
        self._links = links
        self._heard_s: dict[int, float] = {}
        self._answers: Queue[tuple[int, Future[list[NumberedRecord]]]] = Queue()
        self._looked_s = 0.0
        """When silences were looked for last; before that, when the first was asked."""

    def ask(self, generator: int, has: int) -> None:
        """For what comes after the record with the number `has`; at first it counts as heard."""
        if not self._heard_s:
            self._looked_s = time.monotonic()
        self._heard_s.setdefault(generator, time.monotonic())
        future = self.call(generator, "take", has, WAIT_S)
        future.add_done_callback(lambda done: self._answers.put((generator, done)))

    def call(self, generator: int, method: str, *arguments: Any) -> Future[Any]:
        """Begin a call that says which step it is for; see `Link`."""
        return self._links[generator].call(method, self._number, *arguments)

    def answers(self) -> Iterator[Answer]:
        """All that have come, or the first that comes within `LOOK_S`."""
        try:
            yield self._heard(*self._answers.get(timeout=LOOK_S))
            while True:
                yield self._heard(*self._answers.get_nowait())
        except Empty:
            return

    def give_up_silent(self, generators: Iterable[int]) -> list[tuple[int, Message]]:
        """Give up generators that have not answered for too long, with what is to be said of each.

        They are told to end: one that comes back before its lease is over does so at once.
        """
        now = time.monotonic()
        if now < self._looked_s + LOOK_S:
            return []
        # While this machine was held up itself, nobody could be heard.
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
        """Ask it for a clean end; what it has to tell still comes."""
        self.call(generator, "stop")

    def stop_all(self) -> None:
        """Lost ones too: they may hear it, and their lease ends them where they do not."""
        for generator in self._links:
            self.stop(generator)

    def _heard(self, generator: int, answer: Future[list[NumberedRecord]]) -> Answer:
        error = answer.exception()
        if error is not None:
            return Answer(generator, [], line_of(error))
        self._heard_s[generator] = time.monotonic()
        return Answer(generator, answer.result(), None)


def result_of(link: Link, future: Future[Any]) -> Any:
    """What a call answered before there is any load.

    Raises:
        ClusterError: nothing.
    """
    try:
        return future.result(SILENCE_S)
    except Exception as error:
        raise_lost(link, error)


def raise_lost(link: Link, error: BaseException) -> NoReturn:
    """A generator that does not answer before there is any load.

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
    """The first line that says something: Ray's errors have pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
