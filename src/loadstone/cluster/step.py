"""A step that several generators drive together, as the lab sees any step: records, and a stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, NoReturn

from loadstone import engine
from loadstone.cluster.clocks import Exchange, Offset, offset_of
from loadstone.cluster.collecting import Collector, Member, joined
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.link import Link
from loadstone.cluster.parts import users_of
from loadstone.cluster.told import Changed, Told
from loadstone.engine import PlanRefused, Steerable
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.records import STEP_RECORD, AnyStepRecord

WAIT_S = 1.2
"""How long a generator may wait for a record before it answers that there is none: a little longer
than from one interval to the next, so that each answer has one."""

SILENCE_S = 2.5
"""A generator that has not answered for so long is lost: `WAIT_S`, and as long on the way."""

_CLOCK_ROUNDS = 9
"""Exchanges of which the shortest counts."""

_HEAD_START_S = 0.2
"""Between the word when to begin and that moment, beside twice the slowest round trip."""

LOOK_S = 0.1
"""How soon a wish to stop, and a silence, is noticed."""


@dataclass
class Driver:
    """A generator with its part of this step."""

    member: Member
    link: Link
    document: str
    clock: Offset
    heard_s: float = 0.0
    """When it last answered, on our monotonic clock."""


@dataclass(frozen=True)
class _Change:
    """Of the load, for each generator that is still there."""

    what: Changed
    value_of: Callable[[Member], float]
    asked: Future[list[Future[str | None]]]
    """The calls that were begun for it."""


@dataclass(frozen=True)
class _Wishes:
    """What the program wants of a step under way."""

    stop: Event = field(default_factory=Event)
    changes: Queue[_Change] = field(default_factory=Queue)


class ClusterStep(Steerable):
    """A step under way; its records come in the order in which they were merged.

    A thread of its own asks the generators, so that nothing that the program does meanwhile (a
    slow disk, a terminal that is held) costs them their lease.
    """

    def __init__(
        self, number: int, drivers: Sequence[Driver], on_node_loss: OnNodeLoss, fewest_users: int
    ) -> None:
        """`fewest_users`: that may be at work, so that each generator has one."""
        self._records: Queue[AnyStepRecord | BaseException] = Queue()
        self._wishes = _Wishes()
        self._parts = len(drivers)
        self._fewest_users = fewest_users
        self._users = sum(driver.member.users for driver in drivers)
        asking = _Asking(number, drivers, on_node_loss, self._wishes, self._records)
        self._thread = Thread(target=asking.run, name="head", daemon=True)
        self._thread.start()

    def next(self, timeout_s: float) -> AnyStepRecord | None:
        """The next record, or `None` when the time is up.

        Raises:
            PlanRefused, ClusterError, EngineError: the step could not be begun, or not be followed.
        """
        try:
            record = self._records.get(timeout=timeout_s)
        except Empty:
            return None
        if isinstance(record, BaseException):
            raise record
        return record

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still comes."""
        self._wishes.stop.set()

    def set_rate(self, rate: float) -> None:
        """From now on so many events a second are due, over all generators.

        Raises:
            PlanRefused: the loop is closed, nobody could drive such a rate, or the step is over.
        """
        # Each generator has its part of the events, whatever their rate: it is told the whole one.
        self._change("rate", lambda member: rate)

    def set_users(self, users: int) -> None:
        """From now on so many users begin events; the others rest, with their connections.

        Raises:
            PlanRefused: more than the step has, or too few.
        """
        if not self._fewest_users <= users <= self._users:
            said = f"users: {self._fewest_users} to {self._users} in this step"
            raise PlanRefused(said)
        self._change("users", lambda member: users_of(member.number, self._parts, users))

    def _change(self, what: Changed, value_of: Callable[[Member], float]) -> None:
        """Tell all generators, and wait until they have heard it."""
        change = _Change(what, value_of, Future())
        self._wishes.changes.put(change)
        try:
            asked = change.asked.result(SILENCE_S if self._thread.is_alive() else 0.0)
        except TimeoutError:
            raise PlanRefused("the step is over") from None
        answered, _ = wait(asked, SILENCE_S)
        # Of a generator that does not answer the records tell.
        told = [answer.result() for answer in answered if answer.exception() is None]
        for refusal in filter(None, told):
            raise PlanRefused(refusal)


class _Asking:
    """The head's side of a step."""

    def __init__(
        self,
        number: int,
        drivers: Sequence[Driver],
        on_node_loss: OnNodeLoss,
        wishes: _Wishes,
        records: Queue[AnyStepRecord | BaseException],
    ) -> None:
        self._number = number
        self._drivers = {driver.member.number: driver for driver in drivers}
        self._wishes = wishes
        self._records = records
        members = [driver.member for driver in drivers]
        self._collector = Collector(members, on_node_loss, engine.sum_hlog)
        self._answers: Queue[tuple[Driver, Future[list[Told]]]] = Queue()
        self._stopped = False
        self._looked_s = time.monotonic()

    def run(self) -> None:
        """To the step's end."""
        try:
            self._begin()
            while not self._collector.over:
                self._look_at_stop()
                self._look_at_changes()
                self._take_answers()
                self._look_for_silence()
                if not self._collector.begun and self._collector.is_connected:
                    self._begin_load()
                self._say()
        except Exception as error:
            self._records.put(error)
            # Those that cannot be told end with their lease.
            with suppress(Exception):
                self._stop_all()

    def _begin(self) -> None:
        drivers = list(self._drivers.values())
        clocks = {
            driver.member.number: (driver.clock.offset_ns, driver.clock.bound_ns)
            for driver in drivers
        }
        for driver in drivers:
            self._records.put(joined(driver.member, clocks))
        begun = [
            (driver, driver.link.call("begin", self._number, driver.document)) for driver in drivers
        ]
        for driver, future in begun:
            refusal = result_of(driver.link, future)
            if refusal is not None:
                self._stop_all()
                raise PlanRefused(f"generator on {driver.link.node}: {refusal}")
        for driver in drivers:
            driver.heard_s = time.monotonic()
            self._ask(driver)

    def _ask(self, driver: Driver) -> None:
        future = driver.link.call("take", self._number, driver.member.has, WAIT_S)
        future.add_done_callback(lambda done: self._answers.put((driver, done)))

    def _take_answers(self) -> None:
        """All that have come, or the first that comes within a moment."""
        try:
            answer = self._answers.get(timeout=LOOK_S)
            while True:
                self._take(*answer)
                answer = self._answers.get_nowait()
        except Empty:
            return

    def _take(self, driver: Driver, answer: Future[list[Told]]) -> None:
        number = driver.member.number
        if driver.member.is_done:
            return
        error = answer.exception()
        if error is not None:
            self._collector.lose(number, line_of(error))
            return
        driver.heard_s = time.monotonic()
        for told in answer.result():
            self._collector.take(
                number, told.number, STEP_RECORD.validate_json(told.record), told.host
            )
        if not driver.member.is_done:
            self._ask(driver)

    def _look_for_silence(self) -> None:
        now = time.monotonic()
        if now < self._looked_s + LOOK_S:
            return
        own_pause_s, self._looked_s = now - self._looked_s - 2 * LOOK_S, now
        for member in self._collector.living:
            # While this machine was held up itself, nobody could be heard.
            self._drivers[member.number].heard_s += max(own_pause_s, 0.0)
            silent_s = now - self._drivers[member.number].heard_s
            if silent_s > SILENCE_S:
                self._collector.lose(member.number, f"it did not answer for {silent_s:.1f} s")
                # Should it come back before its lease is over, it ends at once.
                self._drivers[member.number].link.call("stop", self._number)

    def _look_at_stop(self) -> None:
        if not self._stopped and (self._wishes.stop.is_set() or self._collector.failure):
            self._stop_all()

    def _look_at_changes(self) -> None:
        """All that is wanted by now; who is to drive it answers whoever wants it."""
        with suppress(Empty):
            while True:
                change = self._wishes.changes.get_nowait()
                living = [self._drivers[member.number] for member in self._collector.living]
                change.asked.set_result([self._tell(each, change) for each in living])

    def _tell(self, driver: Driver, change: _Change) -> Future[str | None]:
        value = change.value_of(driver.member)
        return driver.link.call("change", self._number, change.what, value)

    def _stop_all(self) -> None:
        """Lost ones too: they may hear it, and their lease ends them where they do not."""
        self._stopped = True
        for driver in self._drivers.values():
            driver.link.call("stop", self._number)

    def _begin_load(self) -> None:
        """One instant for all, far enough ahead that each has heard of it by then."""
        living = [self._drivers[member.number] for member in self._collector.living]
        slowest_ns = 2 * max(driver.clock.bound_ns for driver in living)
        at_ns = time.monotonic_ns() + 2 * slowest_ns + int(_HEAD_START_S * 1e9)
        for driver in living:
            driver.link.call("begin_at", self._number, driver.clock.there(at_ns))
        # The records' seconds count from the load's begin, and so does who looks at them.
        time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)
        self._collector.begin()

    def _say(self) -> None:
        for record in self._collector.ready():
            self._records.put(record)


def read_clocks(links: Sequence[Link]) -> list[Offset | BaseException]:
    """Of each generator, all asked at the same time; an error for one that did not answer."""
    exchanges: list[list[Exchange]] = [[] for _ in links]
    errors: dict[int, BaseException] = {}
    for _ in range(_CLOCK_ROUNDS):
        asked = []
        for index, link in enumerate(links):
            if index not in errors:
                asked.append((index, _Stamped(link)))
        for index, stamped in asked:
            try:
                exchanges[index].append(stamped.exchange())
            except Exception as error:
                errors[index] = error
    return [
        errors[index] if index in errors else offset_of(found)
        for index, found in enumerate(exchanges)
    ]


class _Stamped:
    """A question for the clock; the answer is stamped when it comes, whoever is waited for then."""

    def __init__(self, link: Link) -> None:
        self._received_ns = 0
        self._come = Event()
        self._sent_ns = time.monotonic_ns()
        self._future = link.call("clock")
        self._future.add_done_callback(self._stamp)

    def _stamp(self, answer: Future[Any]) -> None:
        self._received_ns = time.monotonic_ns()
        self._come.set()

    def exchange(self) -> Exchange:
        """Raises whatever the call raised, and TimeoutError."""
        remote_ns = self._future.result(SILENCE_S)
        # The callback may still be under way when the result is there.
        self._come.wait(SILENCE_S)
        return Exchange(self._sent_ns, remote_ns, self._received_ns)


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
        f"the generator on {link.node} does not answer: {line_of(error)}",
        f"loadstone cluster check says which nodes do; on {link.node}, ray status and its logs",
    ) from error


def line_of(error: BaseException) -> str:
    """The first line that says something: Ray's errors have pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
