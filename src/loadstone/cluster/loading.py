"""Loads tables with several generators, with the interface of any load: records, and a stop.

The head creates the tables and describes them; each generator loads its part of the ranges (the
engine deals them out, docs/engine.md); the head then creates the indexes and counts the rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Any, Literal

from loadstone import engine
from loadstone.cluster.load_progress import Part, end_of, failure_at, loss_of, progress_of
from loadstone.cluster.partition import load_parts_of
from loadstone.cluster.passwords import without
from loadstone.cluster.polling import LOOK_S, Answer, Asking, result_of
from loadstone.cluster.stream import Stream
from loadstone.cluster.transport import Link
from loadstone.engine import PlanRefused, Sending
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import say
from loadstone.model.records import (
    LOAD_RECORD,
    AnyLoadRecord,
    KnownTable,
    LoadEnd,
    LoadStalled,
    MissingRows,
)

LoadRecord = AnyLoadRecord

_SAY_EVERY_S = 0.2
"""Seconds between two reports of the sum of all parts."""


class ClusterLoad(Sending[LoadRecord]):
    """A running load; a thread of its own polls the generators, as with a step."""

    def __init__(
        self, number: int, links: Sequence[Link], document: str, announce: Callable[[str], None]
    ) -> None:
        self._records = Stream[LoadRecord]()
        self._stop = Event()
        head = _Head(document, self._stop, self._records.put)
        filling = _Filling(number, links, head, announce)
        Thread(target=filling.run, name="head", daemon=True).start()

    def next(self, timeout_s: float) -> LoadRecord | None:
        """The next record, or `None` when the time is up.

        Raises:
            PlanRefused, ClusterError, EngineError: the load could not be started or followed; or a
                generator was lost.
        """
        return self._records.next(timeout_s)

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still follows."""
        self._stop.set()


class _Head:
    """The work that only this machine does, and the report of the whole load."""

    def __init__(
        self, document: str, stop: Event, tell: Callable[[LoadRecord | BaseException], None]
    ) -> None:
        self.document = document
        self.stop = stop
        self.tell = tell
        self.cpu_us = 0
        self._began_s = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the load began."""
        return time.monotonic() - self._began_s

    def make(self) -> LoadEnd:
        """Create the tables, or check those that exist."""
        return self._do("make")

    def finish(self, known: Sequence[KnownTable]) -> LoadEnd:
        """Create the indexes and count the rows."""
        return self._do("finish", known=[table.model_dump(mode="json") for table in known])

    def look(self, part: Part, of: int) -> tuple[MissingRows, ...] | None:
        """The missing rows of a part; `None` where the server does not say."""
        with suppress(LoadstoneError):
            end = self._do("look", part={"number": part.number, "of": of})
            return end.missing if end.reason == "finished" else None
        return None

    def _do(self, stage: Literal["make", "finish", "look"], **more: Any) -> LoadEnd:
        whole = json.loads(self.document) | {"stage": stage} | more
        job = engine.load(json.dumps(whole))
        while True:
            if self.stop.is_set():
                job.stop()
            record = job.next(LOOK_S)
            if isinstance(record, LoadEnd):
                self.cpu_us += record.cpu_us
                return record
            if record and (stage != "look" or isinstance(record, LoadStalled)):
                self.tell(record.model_copy(update={"seconds": self.seconds}))


class _Filling:
    """The head's side of a load."""

    def __init__(
        self, number: int, links: Sequence[Link], head: _Head, announce: Callable[[str], None]
    ) -> None:
        self._links = links
        self._asking = Asking(number, dict(enumerate(links)))
        self._head = head
        self._say = announce
        self._parts: list[Part] = []
        self._stopped = False
        self._said_s = time.monotonic()

    def run(self) -> None:
        """Run the load to its end."""
        try:
            self._head.tell(self._carry_out())
        except Exception as error:
            self._head.tell(error)
            # Generators that cannot be reached end with their lease.
            with suppress(Exception):
                self._stop_all()

    def _carry_out(self) -> LoadEnd:
        made = self._head.make()
        if made.reason != "finished":
            return made
        self._fill(made.tables)
        ends = [part.end for part in self._parts if part.end]
        lost = [part for part in self._parts if part.lost]
        failures = [failure for part in self._parts if (failure := failure_at(part))]
        if lost and not failures and not self._head.stop.is_set():
            raise self._loss(lost)
        if not ends:
            # It was stopped, and no generator is left that could report it.
            return made.model_copy(update={"reason": "stopped"})
        filled = end_of(ends, self._head.cpu_us, self._head.seconds)
        if failures:
            return filled.model_copy(update={"error": failures[0]})
        if lost or filled.reason != "finished":
            return filled.model_copy(update={"reason": "stopped"})
        finished = self._head.finish(made.tables)
        return filled.model_copy(
            update={
                "reason": finished.reason,
                "error": finished.error,
                "seconds": self._head.seconds,
                "cpu_us": filled.cpu_us + finished.cpu_us,
            }
        )

    def _loss(self, lost: Sequence[Part]) -> LoadstoneError:
        found = [self._head.look(part, len(self._parts)) for part in lost]
        known = [missing for missing in found if missing is not None]
        if len(known) < len(found):
            return loss_of(lost, None)
        return loss_of(lost, [each for missing in known for each in missing])

    def _fill(self, known: Sequence[KnownTable]) -> None:
        plans = load_parts_of(self._head.document, known, len(self._links))
        begun = []
        for number, (link, plan) in enumerate(zip(self._links, plans, strict=False)):
            self._parts.append(Part(number, link.node))
            document = without(json.dumps(plan))
            begun.append((link, self._asking.call(number, "begin_load", *document)))
        for link, future in begun:
            refusal = result_of(link, future)
            if refusal is not None:
                raise PlanRefused(say("generator on {node}: {why}", node=link.node, why=refusal))
        for part in self._parts:
            self._asking.ask(part.number, part.has)
        while not all(part.is_done for part in self._parts):
            self._take_answers()
            living = [part.number for part in self._parts if not part.is_done]
            for number, reason in self._asking.give_up_silent(living):
                self._lose(self._parts[number], reason)
            failed = any(part.end and part.end.error for part in self._parts)
            if not self._stopped and (failed or self._head.stop.is_set()):
                self._stop_all()
            self._tell_progress()

    def _take_answers(self) -> None:
        for answer in self._asking.answers():
            part = self._parts[answer.generator]
            if not part.is_done:
                self._take(part, answer)

    def _take(self, part: Part, answer: Answer) -> None:
        for told in answer.told:
            stalled = part.take(told.number, LOAD_RECORD.validate_json(told.record))
            if stalled:
                self._head.tell(stalled)
        lost = answer.lost or part.lost
        if lost is not None:
            self._lose(part, lost)
            self._asking.stop(part.number)
        elif not part.is_done:
            self._asking.ask(part.number, part.has)

    def _lose(self, part: Part, reason: str) -> None:
        part.lost = reason
        left = sum(not other.is_done for other in self._parts)
        self._say(
            say(
                "generator {number} on {node} was lost: {why}; {left} of {all} still load their "
                "own rows",
                number=part.number,
                node=part.node,
                why=reason,
                left=left,
                all=len(self._parts),
            )
        )

    def _stop_all(self) -> None:
        self._stopped = True
        self._asking.stop_all()

    def _tell_progress(self) -> None:
        now = time.monotonic()
        if now < self._said_s + _SAY_EVERY_S:
            return
        self._said_s = now
        if progress := progress_of(self._parts, self._head.seconds):
            self._head.tell(progress)
