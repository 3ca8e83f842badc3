"""What the engine does on its own threads while it sends up records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from loadstone.engine.native import EngineError, native, starting
from loadstone.model.host_test import HOST_RECORD, HostBegun, HostEnd, HostSample, HostTestPlan
from loadstone.model.message import say
from loadstone.model.records import LOAD_RECORD, STEP_RECORD, AnyLoadRecord, AnyStepRecord

if TYPE_CHECKING:
    from loadstone import _engine


class _Native(Protocol):
    def next(self, timeout_s: float) -> str | None: ...
    def stop(self) -> None: ...


Record = TypeVar("Record")


class Sending(ABC, Generic[Record]):
    """Something under way that sends up records: a job of this engine, or of several."""

    @abstractmethod
    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` when the time is up."""

    @abstractmethod
    def stop(self) -> None:
        """Ask for a clean end; the last record still comes."""


class Job(Sending[Record]):
    """Something that the engine does on its own threads while it sends up records."""

    def __init__(self, native: _Native, record: TypeAdapter[Record]) -> None:
        self._native = native
        self._record = record

    def next(self, timeout_s: float) -> Record | None:
        """The next record, or `None` when the time is up.

        Raises:
            EngineError: the record is not one that docs/engine.md knows.
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
        """Ask for a clean end; the record `end` still comes."""
        self._native.stop()


class Steerable(Sending[AnyStepRecord]):
    """A step under way, whose load somebody may wish to change."""

    @abstractmethod
    def set_rate(self, rate: float) -> None:
        """From now on that many events a second are due.

        Raises:
            PlanRefused: the loop is closed, or nobody could drive such a rate.
        """

    @abstractmethod
    def set_users(self, users: int) -> None:
        """From now on that many users start events; the others rest, with their connections.

        Raises:
            PlanRefused: more than the step has, or too few.
        """

    @abstractmethod
    def hold(self, held: bool) -> None:
        """From now on no event begins, until this is said again with `False`.

        Users finish their event and rest; events of an open loop that wait, or become due
        meanwhile, are skipped.
        """


class _Driven:
    """What a drive is asked while it runs."""

    def __init__(self, native: _engine.Drive) -> None:
        self._drive = native

    def set_rate(self, rate: float) -> None:
        """From now on that many events a second are due, of a part in the whole step.

        Raises:
            PlanRefused: the loop is closed, or nobody could drive such a rate.
        """
        with starting():
            self._drive.set_rate(rate)

    def set_users(self, users: int) -> None:
        """From now on that many users start events, of a part its own; the others rest.

        Raises:
            PlanRefused: more than there are, or too few.
        """
        with starting():
            self._drive.set_users(users)

    def hold(self, held: bool) -> None:
        """From now on no event begins, until this is said again with `False`."""
        self._drive.hold(held)


class StepJob(_Driven, Job[AnyStepRecord], Steerable):
    """A step under way, whose load can be changed."""

    def __init__(self, native: _engine.Drive) -> None:
        _Driven.__init__(self, native)
        Job.__init__(self, native, STEP_RECORD)


class PartLoad:
    """A part of a load: it ends without signs of life."""

    def __init__(self, native: _engine.Load | _engine.Drive) -> None:
        self._native = native

    def next(self, timeout_s: float) -> str | None:
        """The next record as it came, for the code that merges it with others'."""
        return self._native.next(timeout_s)

    def renew(self) -> None:
        """Somebody still wants it."""
        self._native.renew()

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still comes."""
        self._native.stop()


class PartJob(_Driven, PartLoad):
    """A part of a step: it starts when it is asked to, and ends without signs of life."""

    def __init__(self, native: _engine.Drive) -> None:
        _Driven.__init__(self, native)
        PartLoad.__init__(self, native)

    def begin_at(self, monotonic_ns: int) -> None:
        """The load begins at this instant of this machine's monotonic clock."""
        self._drive.begin_at(monotonic_ns)


LoadJob = Job[AnyLoadRecord]


HostTestJob = Job[HostBegun | HostSample | HostEnd]


def start(plan: str) -> StepJob:
    """Begin a step; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return StepJob(native().start(plan))


def start_part(plan: str) -> PartJob:
    """Begin a part of a step; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return PartJob(native().start(plan))


def load(plan: str) -> LoadJob:
    """Begin to load tables; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return Job(native().load(plan), LOAD_RECORD)


def load_part(plan: str) -> PartLoad:
    """Begin a part of a load; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    with starting():
        return PartLoad(native().load(plan))


def host_test(plan: HostTestPlan) -> HostTestJob:
    """Begin a test of this host, or make or remove its files; returns at once.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused a thread.
    """
    with starting():
        return Job(native().host_test(plan.model_dump_json()), HOST_RECORD)
