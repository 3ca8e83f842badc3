"""A step that several generators drive, with the interface of any step: records, and a stop."""

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
"""Number of exchanges, of which the shortest counts."""

_HEAD_START_S = 0.2
"""Seconds between announcing the start and the start, in addition to twice the slowest round
trip."""


@dataclass(frozen=True)
class Driver:
    """A generator with its part of this step."""

    member: Member
    link: Link
    document: str
    clock: Offset


@dataclass(frozen=True)
class Crew:
    """Generators that drive a step, and those that do not."""

    drivers: Sequence[Driver]
    absent: Sequence[GeneratorState]
    """Generators of the run that did not answer."""
    on_node_loss: OnNodeLoss
    fewest_users: int
    """The smallest number of active users with which each generator has one."""


@dataclass(frozen=True)
class _Change:
    """A change of the load, for each generator that still takes part."""

    what: Changed
    value_of: Callable[[Member], float]
    asked: Future[list[Future[str | None]]]
    """The calls that were started for it."""


@dataclass(frozen=True)
class _Wishes:
    """Requests of the program to a running step."""

    stop: Event = field(default_factory=Event)
    changes: Queue[_Change] = field(default_factory=Queue)


class ClusterStep(Steerable):
    """A running step; its records come in the order in which they were merged.

    A thread of its own polls the generators, so that a delay in the program (a slow disk, a
    suspended terminal) does not cost them their lease.
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
            PlanRefused, ClusterError, EngineError: the step could not be started or followed.
        """
        return self._records.next(timeout_s)

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still follows."""
        self._wishes.stop.set()

    def set_rate(self, rate: float) -> None:
        """Set the rate from now on, in events per second over all generators.

        Raises:
            PlanRefused: the loop is closed, the rate is impossible, or the step is over.
        """
        # Each generator gets the rate of the whole step, of which it drives its part of the events.
        self._change("rate", lambda member: rate)

    def set_users(self, users: int) -> None:
        """Set the number of active users from now on; the others rest, and stay connected.

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
        """Hold all new events on all generators, until this is called again with `False`."""
        with suppress(PlanRefused):  # the step is over: no new events start
            self._change("hold", lambda member: float(held))

    def _change(self, what: Changed, value_of: Callable[[Member], float]) -> None:
        """Send a change to all generators, and wait until they have it."""
        change = _Change(what, value_of, Future())
        self._wishes.changes.put(change)
        try:
            asked = change.asked.result(SILENCE_S if self._thread.is_alive() else 0.0)
        except TimeoutError:
            raise PlanRefused(say("the step is over")) from None
        answered, _ = wait(asked, SILENCE_S)
        # The records show when a generator does not answer.
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
        """Run the step to its end."""
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
            # Generators that cannot be reached end with their lease.
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
        """Start the requested changes; each generator's answer goes to the requester."""
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
        """Announce one start time to all, far enough ahead that each knows it by then."""
        living = [self._drivers[number] for number in self._living()]
        slowest_ns = 2 * max(driver.clock.bound_ns for driver in living)
        at_ns = time.monotonic_ns() + 2 * slowest_ns + int(_HEAD_START_S * 1e9)
        for driver in living:
            self._asking.call(driver.member.number, "begin_at", driver.clock.there(at_ns))
        # The records' seconds count from the start of the load, and so do those of their readers.
        time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)
        self._collector.begin()

    def _say(self) -> None:
        for record in self._collector.ready():
            self._tell(record)


def read_clocks(links: Sequence[Link]) -> list[Offset | BaseException]:
    """The clock of each generator, read at the same time; an error for each that did not answer."""
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
    """A question for the clock; the answer is timestamped on arrival, in any order."""

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
        """The exchange; raises what the call raised, or TimeoutError."""
        remote_ns = self._future.result(SILENCE_S)
        # The callback may still be running when the result is there.
        self._come.wait(SILENCE_S)
        return Exchange(self._sent_ns, remote_ns, self._received_ns)
