"""A look at sessions whose threads are threads of this very process."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

import pytest

from loadstone.model.account import THREADS_SEEN, VIEW, WHY
from loadstone.model.message import plain
from loadstone.model.observed import SourceName
from loadstone.model.target import Target
from loadstone.observe.answers import Answers
from loadstone.observe.locks import Locks
from loadstone.observe.looker import ELSEWHERE, QUEUE_COUNTED, QUEUED, Looker
from loadstone.observe.looking import LookingSource, gap_s
from loadstone.observe.sessions import Says, Session, Sleeps
from loadstone.observe.source import SourceError
from loadstone.observe.thread_counts import ThreadCounts
from loadstone.observe.threads import Scheduled, Threads
from observe.test_threads import pytestmark as pytestmark
from observe.test_threads import settled, thread_in


@dataclass
class Listed:
    """A list of sessions that is always the same; counts how often it was asked."""

    sessions: tuple[Session, ...]
    waits_for_row: Collection[int] | None = ()
    thread: int | None = None
    why_no_threads: str | None = None
    asked: int = 0
    answered: int = 0
    asked_by: set[str] = field(default_factory=set)
    sees_others: bool = True
    rows_kept_s: float = 0.0
    sleeps: Sleeps = Sleeps()
    made: Mapping[str, float] = field(default_factory=dict)
    queued: float | None = None
    connected: Collection[int] = ()
    answers: threading.Event = field(default_factory=threading.Event)
    fails: SourceError | None = None

    def __post_init__(self) -> None:
        self.answers.set()

    def look(self) -> tuple[Session, ...]:
        self.asked += 1
        self.asked_by.add(threading.current_thread().name)
        self.answers.wait()
        if self.fails:
            raise self.fails
        self.answered += 1
        return self.sessions

    def connections(self) -> Collection[int]:
        return self.connected

    def row_waiters(self) -> Collection[int] | None:
        return self.waits_for_row

    def round_trip_s(self) -> float:
        return 0.0

    def workers(self, pid: int) -> Threads:
        return Threads(pid)

    def file_kind(self, name: str) -> Literal["log", "binlog", "data"]:
        return "data"

    def queued_s(self) -> float | None:
        return self.queued

    def close(self) -> None:
        pass


def user(number: int, thread: int | None, says: Says = "works") -> Session:
    return Session(number, thread, "ours", says)


def looker_at(listed: Listed, threads: Threads | None = None) -> Looker:
    return Looker(listed, threads or Threads(os.getpid()), Answers(Target(host="192.0.2.1")))


def at(found: dict[str, float]) -> dict[str, float]:
    return {name[3:]: value for name, value in found.items() if name.startswith("at.")}


def test_the_list_names_what_the_threads_wait_for() -> None:
    lock = threading.Lock()

    def waits() -> None:
        with lock:
            pass

    with lock, thread_in(waits) as first, thread_in(waits) as second:
        for thread in (first, second):
            settled(thread, "futex")
        listed = Listed((user(1, first), user(2, second, "commit")), waits_for_row=[1])
        looker = looker_at(listed)
        assert "looks" not in looker.look()  # whose threads are whose is not known before
        found = looker.look()
        assert at(found) == {"row lock": 1.0, "commit": 1.0}
        assert (found["looks"], found["others"]) == (1.0, 0.0)
        assert looker.facts == {VIEW: "threads"}
        assert listed.asked == 2
        looker.close()


def test_what_its_questions_made_grows_from_look_to_look() -> None:
    listed = Listed(())
    looker = looker_at(listed)
    listed.made = {"own_created_tmp_tables": 5.0}
    assert looker.look()["own_created_tmp_tables"] == 5.0
    listed.made = {"own_created_tmp_tables": 7.0}
    assert looker.look()["own_created_tmp_tables"] == 2.0
    looker.close()


def test_waits_before_a_pooler_grow_while_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.observe.looker._QUEUE_EVERY_S", 0.0)
    listed = Listed(())
    looker = looker_at(listed)
    grown = []
    for listed.queued in (None, 100.0, 104.0, 3.0, 5.0):
        found = looker.look()
        assert (QUEUED in found) == (QUEUE_COUNTED in found)
        grown.append(found.get(QUEUED))
    # The first figure has none before it, and a pooler that was started again counts from zero.
    assert grown == [None, None, 4.0, None, 2.0]


def test_what_connecting_made_is_of_the_first_second() -> None:
    class Makes(Listed):
        def look(self) -> tuple[Session, ...]:
            self.made = {"own_created_tmp_tables": 5.0}
            return super().look()

    listed = Makes((), made={"own_created_tmp_tables": 1.0})
    name = SourceName(role="sessions")
    source = LookingSource(name, listed, Answers(Target(host="192.0.2.1")), os.getpid())
    first = source.read().counters
    second = source.read().counters
    source.close()
    assert first["own_created_tmp_tables"] == 0.0
    assert second["own_created_tmp_tables"] == 4.0


@pytest.fixture
def of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session is as many as thousands, and lists are late at once."""
    monkeypatch.setattr("loadstone.observe.looker.THREADS_SEEN", 0)
    monkeypatch.setattr("loadstone.observe.listing._SOON_S", 0.01)


@contextmanager
def one_that_waits() -> Iterator[int]:
    """A thread that waits for a lock."""
    lock = threading.Lock()

    def waits() -> None:
        with lock:
            pass

    with lock, thread_in(waits) as thread:
        settled(thread, "futex")
        yield thread


@pytest.mark.usefixtures("of_many")
def test_looks_at_threads_go_on_while_a_list_is_late() -> None:
    with one_that_waits() as thread:
        listed = Listed((user(1, thread),), waits_for_row=[1], connected=[1])
        looker = looker_at(listed)
        looker.look()
        listed.answers.clear()
        for _ in range(3):
            found = looker.look()
            assert found["looks"] == 1.0
            # Nobody has said yet whether this is a wait for a row or for a latch.
            assert at(found) == {}
        listed.connected = [1, 2]
        # Nobody has said which thread is that of the other one.
        assert looker.look().keys() == {"looking_s"}
        listed.connected = [1]
        assert listed.asked == 2
        listed.answers.set()
        for _ in range(100):
            found = looker.look()
            if at(found):
                break
            time.sleep(0.01)
        assert at(found) == {"row lock": 1.0}
        looker.close()


@pytest.mark.usefixtures("of_many")
def test_users_that_have_left_are_in_no_late_look() -> None:
    with one_that_waits() as first, one_that_waits() as second:
        listed = Listed((user(1, first), user(2, second)), waits_for_row=[], connected=[1, 2])
        looker = looker_at(listed)
        looker.look()
        assert at(looker.look()) == {"latch": 2.0}
        listed.answers.clear()
        assert at(looker.look()) == {"latch": 2.0}
        listed.connected = [2]
        assert at(looker.look()) == {"latch": 1.0}
        listed.answers.set()
        looker.close()


@pytest.mark.usefixtures("of_many")
def test_no_list_is_late_of_connections_that_are_not_all_known() -> None:
    with one_that_waits() as thread:
        listed = Listed((user(1, thread, "commit"),))
        looker = looker_at(listed)
        for listed.connected in ((), (2,), (1, 2)):
            looker.look()
            found = looker.look()
            assert at(found) == {"commit": 1.0}
        assert listed.asked_by == {threading.current_thread().name}
        looker.close()


@pytest.fixture
def late(of_many: None) -> Iterator[tuple[Listed, Looker]]:
    """A list that is being made, and its looker."""
    with one_that_waits() as thread:
        listed = Listed((user(1, thread),), connected=[1])
        looker = looker_at(listed)
        looker.look()
        listed.answers.clear()
        looker.look()
        yield listed, looker
        looker.close()


def test_a_list_that_fails_late_ends_the_look_that_takes_it(late: tuple[Listed, Looker]) -> None:
    listed, looker = late
    listed.fails = SourceError(plain("it is gone"))
    listed.answers.set()
    with pytest.raises(SourceError, match="it is gone"):
        for _ in range(100):
            looker.look()
            time.sleep(0.01)


def test_the_end_waits_for_a_list_that_is_being_made(late: tuple[Listed, Looker]) -> None:
    listed, looker = late
    threading.Timer(0.1, listed.answers.set).start()
    looker.close()
    assert listed.answered == 2


def test_of_many_open_files_a_sample_is_asked_where_they_lead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("loadstone.observe.answers._FILES_SEEN", 50)
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        for _ in range(200):
            opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            opened.enter_context(server.accept()[0]).sendall(b"x")
        target = Target(host="127.0.0.1", port=port)
        counts = [Answers(target).unread() for _ in range(40)]
        assert fmean(counts) == pytest.approx(200, rel=0.15)


def test_round_trips_are_those_of_the_users_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answers = Answers(Target(host="127.0.0.1", port=port))
        assert answers.trips() is None
        with socket.create_connection(("127.0.0.1", port)) as ours, server.accept()[0] as theirs:
            ours.sendall(b"x")
            theirs.recv(1)
            fresh = Answers(answers.target)
            fresh.unread()
            trips = fresh.trips()
        assert trips is not None
        assert 0 < trips.least <= trips.usual < 1


def test_threads_that_wait_for_their_clients_need_no_list() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, thread_in(lambda: theirs.recv(1)) as thread:
        settled(thread, "receiving")
        listed = Listed((user(1, thread, "works"),))
        looker = looker_at(listed)
        for _ in range(3):
            found = looker.look()
        assert at(found) == {"client": 1.0}
        assert listed.asked == 1
        looker.close()
        ours.send(b"x")


def test_a_client_that_does_not_read_is_asked_about() -> None:
    """Its server polls as if it waited for the next statement."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        waits = select.poll()
        waits.register(theirs, select.POLLIN)
        with thread_in(waits.poll) as thread:
            settled(thread, "polling")
            listed = Listed((user(1, thread, "sends"),))
            looker = looker_at(listed)
            looker.answers = Unread()
            for _ in range(3):
                found = looker.look()
            assert at(found) == {"sending": 1.0, "unread": 1.0}
            assert listed.asked == 3
            looker.close()
            ours.send(b"x")


class Unread(Answers):
    """A user has an answer that waits."""

    def __init__(self) -> None:
        super().__init__(Target(host="192.0.2.1"))

    def unread(self) -> float:
        return 1.0


@pytest.mark.parametrize("why", [None, "they share the threads of a pool"])
def test_without_threads_the_list_is_all_there_is(why: str | None) -> None:
    sessions = (
        user(1, None, "commit"), user(2, None, "works"), user(3, None, "waits for the client"),
        Session(4, None, "other", "works"),
    )  # fmt: skip
    listed = Listed(sessions, waits_for_row=[2], why_no_threads=why)
    looker = Looker(listed, None, Answers(Target(host="192.0.2.1")))
    found = looker.look()
    assert at(found) == {"commit": 1.0, "row lock": 1.0, "client": 1.0}
    assert found["others"] == 1.0
    assert looker.facts == {VIEW: "sessions", WHY: why or ELSEWHERE}
    listed.sees_others = False
    assert "others" not in looker.look()


def test_a_wait_that_was_over_has_the_name_of_others_at_the_same_lock() -> None:
    locks = Locks()
    assert locks.named(7, None) is None
    assert locks.named(7, "latch") == "latch"
    assert locks.named(7, "commit") == "commit"
    assert locks.named(7, None) == "commit"
    # Most waits are over before they can be named, and look like those for a latch.
    assert locks.named(7, "latch") == "commit"
    for _ in range(9):
        locks.named(8, "latch")
    locks.named(8, "commit")
    assert locks.named(8, None) == "latch"
    assert locks.named(9, None) is None


class Counted(Threads):
    """Threads that have each run for a second more at each call."""

    def __init__(self) -> None:
        super().__init__(os.getpid())
        self.calls = 0
        self.asked: list[int] = []

    def scheduled(self, threads: Iterable[int]) -> dict[int, Scheduled]:
        self.calls += 1
        self.asked = [*threads]
        return {thread: Scheduled(float(self.calls), 0.0) for thread in self.asked}


def test_the_times_of_a_sample_stand_for_all_and_it_is_another_one_each_time() -> None:
    threads, times = Counted(), ThreadCounts(lambda threads, kind: threads.scheduled(kind))
    kind = range(1000, 5000)
    assert times.since(threads, kind, 1.0).seconds == 0.0
    first = {*times.read}
    assert times.since(threads, kind, 2.0) == ((4000.0, 0.0), 1.0)
    assert len(threads.asked) <= 2 * THREADS_SEEN
    assert {*times.read} != first


def test_of_threads_that_are_all_new_nothing_is_counted() -> None:
    threads, times = Counted(), ThreadCounts(lambda threads, kind: threads.scheduled(kind))
    times.since(threads, [1, 2], 1.0)
    assert times.since(threads, [3, 4], 2.0) == ((), 0.0)
    assert times.since(threads, [], 3.0) == ((), 1.0)


def test_looks_that_are_kept_apart_see_a_lock_s_share_with_less_error() -> None:
    """Held for 150 ms of each 1,060: 50 looks of a Poisson process are off by a third of that."""
    chance = random.Random(29)
    held_s, every_s, mean_s, looks = 0.15, 1.06, 0.1, 50

    def share(gap: Callable[[], float]) -> float:
        at_s, seen = chance.uniform(0, every_s), 0
        for _ in range(looks):
            at_s += gap()
            seen += at_s % every_s < held_s
        return seen / looks

    apart = [share(lambda: gap_s(mean_s, chance)) for _ in range(400)]
    poisson = [share(lambda: chance.expovariate(1 / mean_s)) for _ in range(400)]
    assert fmean(apart) == pytest.approx(held_s / every_s, rel=0.05)
    assert stdev(apart) < 0.6 * stdev(poisson)
