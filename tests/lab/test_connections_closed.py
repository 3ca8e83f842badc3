"""What a command opened is closed at its end, whatever ended it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lab.watched import drive, ground_of, lab_for
from loadstone.dropin import keeping
from loadstone.engine import EngineError
from loadstone.lab.protection import company
from loadstone.lab.protection.protector import Protector
from loadstone.lab.protection.watch import THE_LOAD, Place, Watch
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.loop import drive_steps
from loadstone.lab.step.order import InOrder, OfPlan, steps_of
from loadstone.lab.variables import lock
from loadstone.lab.variables.lock import SettingsLock
from loadstone.model.message import Message, plain, say
from loadstone.model.observe_request import Observing
from loadstone.model.observed import Reading, SourceName
from loadstone.model.plan import Plan
from loadstone.model.protection import Protection
from loadstone.model.target import Endpoint, Target
from loadstone.observe import presence
from loadstone.observe.answers import Answers
from loadstone.observe.looker import Looker
from loadstone.observe.looking import LookingSource
from loadstone.observe.sampler import Sampler, Sampling, Watched
from loadstone.runs.errors import StoreError
from loadstone.servers.errors import TargetError
from observe.test_looker import Listed
from recorded import a_plan, recorder_for
from scripted_engine import Script

SERVER = SourceName(role="server")
FULL = StoreError(say("the disk is full"))


@dataclass
class Source:
    """A source of counters that knows whether its connection is closed."""

    name: SourceName = SERVER
    is_open: bool = True

    def read(self) -> Reading:
        return Reading(at_s=time.monotonic())

    def close(self) -> None:
        self.is_open = False


def sampled() -> tuple[Sampling, Source]:
    source = Source()
    return Sampling([Watched(source)], time.monotonic()), source


class Refusing(list[Message]):
    """Notes: reading them fails, as storing them does on a full disk."""

    def pop(self, *arguments: Any) -> Message:
        raise FULL


def fails(*arguments: Any) -> Any:
    raise FULL


def test_notes_that_cannot_be_stored_leave_no_source_open(tmp_path: Path, script: Script) -> None:
    plan = a_plan(ladder=(1,))
    sampling, source = sampled()
    lab = replace(lab_for(tmp_path, plan)[0], sampling=sampling)
    object.__setattr__(lab.recorder, "note", fails)
    with pytest.raises(StoreError):
        drive_steps(steps(plan, lab), lab, notes=[plain("others are there")])
    assert not source.is_open


def steps(plan: Plan, lab: Any) -> OfPlan:
    return OfPlan(plan, InOrder(steps_of(plan)), lab)


def unreached(target: Target) -> Endpoint:
    raise AssertionError("nobody asked for a replica")


@dataclass
class Watching(Protector):
    """Watches a server that is not there."""

    own: Sampling
    notes: list[Message] = field(default_factory=Refusing)

    def begin(self, *arguments: Any) -> Watch:
        grounds = {SERVER: ground_of("db1")}
        nothing = Place([], THE_LOAD)
        return Watch(nothing, {}, self.own, grounds, {}, frozenset(), {}, ())


def test_a_protector_whose_notes_cannot_be_stored_watches_no_longer(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan(ladder=(1,))
    sampling, source = sampled()
    lab = lab_for(tmp_path, plan)[0]
    with pytest.raises(StoreError):
        drive(plan, replace(lab, protector=Watching(sampling, Refusing([plain("one")]))))
    assert not source.is_open


def test_a_protector_that_cannot_begin_watches_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its default conditions are added when its samplers are at work already."""
    sampling, source = sampled()
    module = "loadstone.lab.protection.protector"
    monkeypatch.setattr(f"{module}.Sampling", lambda *arguments: sampling)
    monkeypatch.setattr(f"{module}.Watch.look_before", lambda *arguments: None)
    monkeypatch.setattr(Protector, "look", lambda *arguments: None)
    monkeypatch.setattr(Protector, "_source", lambda *arguments: source)
    monkeypatch.setattr(Protector, "_add_defaults", fails)
    protector = Protector(Protection(), unreached)
    ground = ground_of("db1")
    protector._grounds[ground.endpoint.target.url] = ground
    with pytest.raises(StoreError):
        protector.begin([ground.endpoint], 1, None, time.monotonic(), lambda: False)
    assert not source.is_open


def test_sources_of_which_one_cannot_be_started_are_all_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process may have no thread left."""
    sources = [Source(), Source()]
    begin = Sampler.__init__

    def begins(self: Sampler, source: Source, *more: Any) -> None:
        if source is sources[1]:
            raise RuntimeError("can't start new thread")
        begin(self, source, *more)

    monkeypatch.setattr(Sampler, "__init__", begins)
    with pytest.raises(RuntimeError):
        Sampling([Watched(each) for each in sources], time.monotonic())
    assert not sources[0].is_open


def test_a_sysbench_test_that_cannot_begin_leaves_no_source_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(ladder=(1,))
    sampling, source = sampled()
    recorder = recorder_for(tmp_path, plan)
    monkeypatch.setattr(keeping, "_look_at", lambda *arguments: None)
    monkeypatch.setattr(keeping, "observable", lambda one: one)
    monkeypatch.setattr(keeping, "sources_for", lambda *arguments: None)
    monkeypatch.setattr(keeping, "begin_run", lambda *arguments: recorder)
    monkeypatch.setattr(keeping, "sampling_of", lambda *arguments: sampling)
    monkeypatch.setattr(recorder, "begin_step", fails)
    asked = (tmp_path, plan, [Endpoint(target=Target())], Observing())
    with pytest.raises(StoreError), keeping.keeper_of(*asked) as keeper:
        assert keeper is not None
        keeper.begin(steps_of(plan)[0])
    assert not source.is_open


@dataclass
class Sessions(Listed):
    """A server's list of sessions, over a connection."""

    is_open: bool = True

    def close(self) -> None:
        self.is_open = False


def test_looks_that_end_by_a_bug_leave_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(())
    looks = LookingSource(
        SourceName(role="sessions"), sessions, Answers(Target(host="192.0.2.1")), pid=None
    )
    monkeypatch.setattr(threading, "excepthook", lambda *arguments: None)
    monkeypatch.setattr(Looker, "close", fails)
    looks.read()
    looks.close()
    assert not sessions.is_open


@dataclass
class Job:
    """An engine's job that needs three more records to end after it was stopped."""

    left: int = 3
    stopped: bool = False
    ended: bool = False

    def next(self, timeout_s: float) -> str | None:
        if not self.stopped:
            return "a second"
        if not self.left:
            self.ended = True
            return None
        self.left -= 1
        return "a last second"

    def stop(self) -> None:
        self.stopped = True


def test_a_full_disk_is_told_when_the_load_has_closed_its_connections() -> None:
    job = Job()

    def take(record: str) -> bool:
        raise FULL

    with pytest.raises(type(FULL)):
        follow(job, take, Interrupts())  # type: ignore[arg-type]
    assert job.ended


def test_a_load_that_does_not_end_is_not_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.lab.step.follow.PATIENCE_S", 0.3)
    monkeypatch.setattr("loadstone.lab.step.follow.POLL_S", 0.05)
    job = Job(left=1_000_000_000)
    interrupts = Interrupts()
    interrupts.ask()
    began = time.monotonic()
    with pytest.raises(EngineError, match="did not end"):
        follow(job, lambda record: False, interrupts)  # type: ignore[arg-type]
    assert time.monotonic() - began < 0.6


@dataclass
class Line:
    """A connection that remembers its end."""

    is_open: bool = True

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False


@dataclass
class Locks:
    """A server's locks: giving one back fails as often as is asked for."""

    refuses: int = 1

    def take(self, *arguments: object) -> None:
        return None

    def is_ours(self, *arguments: object) -> bool:
        return False

    def give_back(self, *arguments: object) -> None:
        if self.refuses:
            self.refuses -= 1
            raise OSError("gone")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """All connections that are opened to a server whose locks cannot be given back."""

    class Family:
        Error = TargetError
        locks = Locks()

    opened: list[Line] = []

    def connects(*arguments: object, **more: object) -> Line:
        opened.append(Line())
        return opened[-1]

    for module in (lock, company):
        monkeypatch.setattr(module, "connect", connects)
    monkeypatch.setattr(lock, "family_of", lambda target: Family)
    return opened


def test_a_settings_lock_that_cannot_be_given_back_is_closed(lines: list[Line]) -> None:
    held = SettingsLock.take(Endpoint(target=Target()))
    with pytest.raises(OSError):
        held.close()
    assert [each.is_open for each in lines] == [False]


def test_a_settings_lock_that_is_taken_again_has_one_connection(lines: list[Line]) -> None:
    held = SettingsLock.take(Endpoint(target=Target()))
    with pytest.raises(OSError):
        held.renew()
    held.close()
    assert [each.is_open for each in lines] == [False, False]


@pytest.mark.parametrize("moment", ["take", "renew"])
def test_a_place_in_a_schema_that_cannot_be_told_is_left(
    moment: str, lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Sequence[Callable[..., bool]] = (lambda *arguments: True, fails)
    left = list(answers if moment == "renew" else answers[1:])
    monkeypatch.setattr(presence, "alone", lambda *arguments: Line())
    monkeypatch.setattr(presence, "is_held", lambda *given: left.pop(0)(*given))
    with pytest.raises(StoreError):
        held = company.Alone(Endpoint(target=Target()))
        try:
            held.renew()
        finally:
            held.close()
    assert lines and not any(each.is_open for each in lines)
