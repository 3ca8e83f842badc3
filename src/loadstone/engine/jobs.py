"""Jobs that the engine runs on its own threads, and their records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from loadstone.engine.native import EngineError, native, starting
from loadstone.model.host_test import HOST_RECORD, HostBegun, HostEnd, HostSample, HostTestPlan
from loadstone.model.message import say
from loadstone.model.records import LOAD_RECORD, STEP_RECORD, AnyLoadRecord, AnyStepRecord
from loadstone.model.target import Target

if TYPE_CHECKING:
    from loadstone import _engine


class _Native(Protocol):
    def next(self, timeout_s: float) -> str | None: ...
    def stop(self) -> None: ...


Record = TypeVar("Record")


class Sending(ABC, Generic[Record]):
    """A running job that sends records; it may consist of the jobs of several engines."""

    @abstractmethod
    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` after the timeout."""

    @abstractmethod
    def stop(self) -> None:
        """Request a clean end; the last record still arrives."""


class Job(Sending[Record]):
    """A job that the engine runs on its own threads while it sends records."""

    def __init__(self, native: _Native, record: TypeAdapter[Record]) -> None:
        self._native = native
        self._record = record

    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` after the timeout.

        Raises:
            EngineError: the record is not one of those in docs/engine.md.
        """
        text = self._native.next(timeout_s)
        if text is None:
            return None
        try:
            return self._record.validate_json(text)
        except ValidationError as error:
            raise EngineError(
                say(
                    "the engine sent a record that docs/engine.md does not know: {record}",
                    record=text[:200],
                ),
                say("the engine and the Python package differ: run make build"),
            ) from error

    def stop(self) -> None:
        """Request a clean end; the record `end` still arrives."""
        self._native.stop()


class Steerable(Sending[AnyStepRecord]):
    """A running step whose load can be changed."""

    @abstractmethod
    def set_rate(self, rate: float) -> None:
        """Set the events a second that are due from now on.

        Raises:
            PlanRefused: the loop is closed, or the rate is out of range.
        """

    @abstractmethod
    def set_users(self, users: int) -> None:
        """Set how many users start events from now on; the others pause and keep their connections.

        Raises:
            PlanRefused: the step has fewer users, or the number is too small.
        """

    @abstractmethod
    def hold(self, held: bool) -> None:
        """Start no more events until this is called with `False`.

        Users finish their event and pause. Events of an open loop that are waiting or become due in
        this time are skipped.
        """


class _Driven:
    """The commands to a running drive."""

    def __init__(self, native: _engine.Drive) -> None:
        self._drive = native

    def set_rate(self, rate: float) -> None:
        """Set the events a second that are due from now on; for a part, those of the whole step.

        Raises:
            PlanRefused: the loop is closed, or the rate is out of range.
        """
        with starting():
            self._drive.set_rate(rate)

    def set_users(self, users: int) -> None:
        """Set how many users start events from now on; for a part, only its own users count.

        Raises:
            PlanRefused: there are fewer users, or the number is too small.
        """
        with starting():
            self._drive.set_users(users)

    def hold(self, held: bool) -> None:
        """Start no more events until this is called with `False`."""
        self._drive.hold(held)


class StepJob(_Driven, Job[AnyStepRecord], Steerable):
    """A step running in this engine, whose load can be changed."""

    def __init__(self, native: _engine.Drive) -> None:
        _Driven.__init__(self, native)
        Job.__init__(self, native, STEP_RECORD)


class PartLoad:
    """A part of a load; it ends unless it is renewed regularly."""

    def __init__(self, native: _engine.Load | _engine.Drive) -> None:
        self._native = native

    def next(self, timeout_s: float) -> str | None:
        """The next record as text, for merging with other parts'; `None` after the timeout."""
        return self._native.next(timeout_s)

    def renew(self) -> None:
        """Keep the part alive."""
        self._native.renew()

    def stop(self) -> None:
        """Request a clean end; the record `end` still arrives."""
        self._native.stop()


class PartJob(_Driven, PartLoad):
    """A part of a step; it starts at a given time, and ends unless it is renewed regularly."""

    def __init__(self, native: _engine.Drive) -> None:
        _Driven.__init__(self, native)
        PartLoad.__init__(self, native)

    def begin_at(self, monotonic_ns: int) -> None:
        """Start the load at this time of this machine's monotonic clock."""
        self._drive.begin_at(monotonic_ns)


LoadJob = Job[AnyLoadRecord]


HostTestJob = Job[HostBegun | HostSample | HostEnd]


def start(plan: str) -> StepJob:
    """Start a step; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return StepJob(native().start(plan))


def start_part(plan: str) -> PartJob:
    """Start a part of a step; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return PartJob(native().start(plan))


def load(plan: str) -> LoadJob:
    """Start to load tables; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return Job(native().load(plan), LOAD_RECORD)


def load_part(plan: str) -> PartLoad:
    """Start a part of a load; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return PartLoad(native().load(plan))


def host_test(plan: HostTestPlan) -> HostTestJob:
    """Start a test of this host, or the creation or removal of its files; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused a thread.
    """
    with starting():
        return Job(native().host_test(plan.model_dump_json()), HOST_RECORD)


def connections_to(target: Target) -> frozenset[int]:
    """The server's numbers of this process's connections to it, while they are open and 1 s more.

    The lower 32 bits, as the protocol has them. A proxy's numbers are its own.
    """
    tcp = f"{target.host}:{target.tcp_port}"
    place = tcp if target.socket is None else str(target.socket)
    return frozenset(native().connections_to(place))
