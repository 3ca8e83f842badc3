"""A step that several generators drive together, as the lab sees any step: records, and a stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any

from loadstone import engine
from loadstone.cluster.clocks import Exchange, Offset, offset_of
from loadstone.cluster.merge_stream import Collector, Member, joined
from loadstone.cluster.messages import Changed
from loadstone.cluster.partition import users_of
from loadstone.cluster.passwords import without
from loadstone.cluster.polling import SILENCE_S, Answer, Asking, result_of
from loadstone.cluster.stream import Stream
from loadstone.cluster.transport import Link
from loadstone.engine import PlanRefused, Steerable
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.message import say
from loadstone.model.records import STEP_RECORD, AnyStepRecord, GeneratorState

_CLOCK_ROUNDS = 9
"""Exchanges of which the shortest counts."""

_HEAD_START_S = 0.2
"""Between the word when to begin and that moment, beside twice the slowest round trip."""


@dataclass(frozen=True)
class Driver:
    """A generator with its part of this step."""

    member: Member
    link: Link
    document: str
    clock: Offset


@dataclass(frozen=True)
class Crew:
    """Who drives a step, and who does not."""

    drivers: Sequence[Driver]
    absent: Sequence[GeneratorState]
    """Generators of the run that did not answer."""
    on_node_loss: OnNodeLoss
    fewest_users: int
    """That may be at work, so that each generator has one."""


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

    def __init__(self, number: int, crew: Crew) -> None:
        self._records = Stream[AnyStepRecord]()
        self._wishes = _Wishes()
        self._parts = len(crew.drivers)
        self._fewest_users = crew.fewest_users
        self._users = sum(driver.member.users for driver in crew.drivers)
        driving = _Driving(number, crew, self._wishes, self._records.put)
        self._thread = Thread(target=driving.run, name="head", daemon=True)
        self._thread.start()

    def next(self, timeout_s: float) -> AnyStepRecord | None:
        """The next record, or `None` when the time is up.

        Raises:
            PlanRefused, ClusterError, EngineError: the step could not be begun, or not be followed.
        """
        return self._records.next(timeout_s)

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
            said = say(
                "users: {fewest} to {most} in this step",
                fewest=self._fewest_users,
                most=self._users,
            )
            raise PlanRefused(said)
        self._change("users", lambda member: users_of(member.number, self._parts, users))

    def hold(self, held: bool) -> None:
        """From now on no event begins at any generator, until this is said again with `False`."""
        with suppress(PlanRefused):  # the step is over: nothing begins any more
            self._change("hold", lambda member: float(held))

    def _change(self, what: Changed, value_of: Callable[[Member], float]) -> None:
        """Tell all generators, and wait until they have heard it."""
        change = _Change(what, value_of, Future())
        self._wishes.changes.put(change)
        try:
            asked = change.asked.result(SILENCE_S if self._thread.is_alive() else 0.0)
        except TimeoutError:
            raise PlanRefused(say("the step is over")) from None
        answered, _ = wait(asked, SILENCE_S)
        # Of a generator that does not answer the records tell.
        told = [answer.result() for answer in answered if answer.exception() is None]
        for refusal in filter(None, told):
            raise PlanRefused(refusal)


class _Driving:
    """The head's side of a step."""

    def __init__(
        self,
        number: int,
        crew: Crew,
        wishes: _Wishes,
        tell: Callable[[AnyStepRecord | BaseException], None],
    ) -> None:
        self._absent = crew.absent
        self._drivers = {driver.member.number: driver for driver in crew.drivers}
        self._asking = Asking(number, {key: each.link for key, each in self._drivers.items()})
        self._wishes = wishes
        self._tell = tell
        members = [driver.member for driver in crew.drivers]
        self._collector = Collector(members, crew.on_node_loss, engine.sum_hlog)
        self._stopped = False

    def run(self) -> None:
        """To the step's end."""
        try:
            self._begin()
            while not self._collector.over:
                self._look_at_stop()
                self._look_at_changes()
                self._take_answers()
                for number, reason in self._asking.give_up_silent(self._living()):
                    self._collector.lose(number, reason)
                if not self._collector.begun and self._collector.is_connected:
                    self._begin_load()
                self._say()
        except Exception as error:
            self._tell(error)
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
            self._tell(joined(driver.member, clocks))
        for record in self._absent:
            self._tell(record)
        begun = [
            (driver, self._asking.call(driver.member.number, "begin", *without(driver.document)))
            for driver in drivers
        ]
        for driver, future in begun:
            refusal = result_of(driver.link, future)
            if refusal is not None:
                self._stop_all()
                raise PlanRefused(
                    say("generator on {node}: {why}", node=driver.link.node, why=refusal)
                )
        for driver in drivers:
            self._asking.ask(driver.member.number, driver.member.has)

    def _take_answers(self) -> None:
        for answer in self._asking.answers():
            if not self._member(answer).is_done:
                self._take(answer)

    def _take(self, answer: Answer) -> None:
        if answer.lost is not None:
            self._collector.lose(answer.generator, answer.lost)
            return
        for told in answer.told:
            record = STEP_RECORD.validate_json(told.record)
            self._collector.take(answer.generator, told.number, record, told.host)
        member = self._member(answer)
        if not member.is_done:
            self._asking.ask(member.number, member.has)

    def _member(self, answer: Answer) -> Member:
        return self._drivers[answer.generator].member

    def _living(self) -> list[int]:
        return [member.number for member in self._collector.living]

    def _look_at_stop(self) -> None:
        if not self._stopped and (self._wishes.stop.is_set() or self._collector.failure):
            self._stop_all()

    def _look_at_changes(self) -> None:
        """All that is wanted by now; who is to drive it answers whoever wants it."""
        with suppress(Empty):
            while True:
                change = self._wishes.changes.get_nowait()
                living = self._collector.living
                change.asked.set_result([self._ask_for(change, member) for member in living])

    def _ask_for(self, change: _Change, member: Member) -> Future[str | None]:
        value = change.value_of(member)
        return self._asking.call(member.number, "change", change.what, value)

    def _stop_all(self) -> None:
        self._stopped = True
        self._asking.stop_all()

    def _begin_load(self) -> None:
        """One instant for all, far enough ahead that each has heard of it by then."""
        living = [self._drivers[number] for number in self._living()]
        slowest_ns = 2 * max(driver.clock.bound_ns for driver in living)
        at_ns = time.monotonic_ns() + 2 * slowest_ns + int(_HEAD_START_S * 1e9)
        for driver in living:
            self._asking.call(driver.member.number, "begin_at", driver.clock.there(at_ns))
        # The records' seconds count from the load's begin, and so does who looks at them.
        time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)
        self._collector.begin()

    def _say(self) -> None:
        for record in self._collector.ready():
            self._tell(record)


def read_clocks(links: Sequence[Link]) -> list[Offset | BaseException]:
    """Clock of each generator, all asked at the same time; an error for one that did not answer."""
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
