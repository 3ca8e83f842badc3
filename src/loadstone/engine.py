"""The typed face of the extension module `loadstone._engine`; nothing else imports it.

What goes down and comes up is documented in docs/engine.md.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.host_test import HOST_RECORD, HostBegun, HostEnd, HostSample, HostTestPlan
from loadstone.model.null_server import NullServerSettings, NullServerStats
from loadstone.model.plan import OptionValue
from loadstone.model.records import (
    LOAD_RECORD,
    STEP_RECORD,
    AnyStepRecord,
    FirstError,
    LatencyNs,
    LoadEnd,
    LoadProgress,
)

if TYPE_CHECKING:
    from loadstone import _engine


class EngineError(LoadstoneError):
    """The engine is missing, or broke its contract."""


class LogError(EngineError):
    """A line is not one of an interval log."""

    exit_code = ExitCode.STORE


class PlanRefused(LoadstoneError):
    """The engine does not carry out such a plan."""

    exit_code = ExitCode.PLAN


class NullServerError(LoadstoneError):
    """A null server cannot be started, or runs no more."""

    exit_code = ExitCode.SANDBOX


class ScriptRefused(LoadstoneError):
    """A script cannot go on: a stable name of why, whom it is about, and the words."""

    exit_code = ExitCode.PLAN

    def __init__(self, kind: str, subject: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.subject = subject


class WorkloadInfo(Frozen):
    """A workload that the engine has."""

    name: str
    summary: str
    options: dict[str, OptionValue | None]
    writes: bool
    layout: Literal["sbtest", "bulk", "hot", "ledger", "tpcc", "template"]
    """`template`: it is none of the engine's, but of a file."""


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
                f"the engine sent a record that docs/engine.md does not know: {text[:200]}",
                "the engine and the Python package differ: run make build",
            ) from error

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still comes."""
        self._native.stop()


class Steerable(Sending[AnyStepRecord]):
    """A step under way, whose load somebody may wish to change."""

    @abstractmethod
    def set_rate(self, rate: float) -> None:
        """From now on so many events a second are due.

        Raises:
            PlanRefused: the loop is closed, or nobody could drive such a rate.
        """

    @abstractmethod
    def set_users(self, users: int) -> None:
        """From now on so many users begin events; the others rest, with their connections.

        Raises:
            PlanRefused: more than the step has, or too few.
        """


class StepJob(Job[AnyStepRecord], Steerable):
    """A step under way, whose load can be changed."""

    def __init__(self, native: _engine.Drive) -> None:
        super().__init__(native, STEP_RECORD)
        self._drive = native

    def set_rate(self, rate: float) -> None:
        """From now on so many events a second are due.

        Raises:
            PlanRefused: the loop is closed, or nobody could drive such a rate.
        """
        with _starting():
            self._drive.set_rate(rate)

    def set_users(self, users: int) -> None:
        """From now on so many users begin events; the others rest, with their connections.

        Raises:
            PlanRefused: more than the step has, or too few.
        """
        with _starting():
            self._drive.set_concurrency(users)


class PartJob:
    """A part of a step: it is told when to begin, and ends without signs of life."""

    def __init__(self, native: _engine.Drive) -> None:
        self._native = native

    def next(self, timeout_s: float) -> str | None:
        """The next record as it came, for whoever merges it with others'."""
        return self._native.next(timeout_s)

    def begin_at(self, monotonic_ns: int) -> None:
        """The load begins at this instant of this machine's monotonic clock."""
        self._native.begin_at(monotonic_ns)

    def renew(self) -> None:
        """Somebody still wants the step."""
        self._native.renew()

    def set_rate(self, rate: float) -> None:
        """From now on so many events a second are due in the whole step, of which this is a part.

        Raises:
            PlanRefused: the loop is closed, or nobody could drive such a rate.
        """
        with _starting():
            self._native.set_rate(rate)

    def set_users(self, users: int) -> None:
        """From now on so many of this part's own users begin events; the others rest.

        Raises:
            PlanRefused: none, or in an open loop fewer than the part has event loops.
        """
        with _starting():
            self._native.set_concurrency(users)

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still comes."""
        self._native.stop()


class PartLoad:
    """A part of a load: it ends without signs of life."""

    def __init__(self, native: _engine.Load) -> None:
        self._native = native

    def next(self, timeout_s: float) -> str | None:
        """The next record as it came, for whoever merges it with others'."""
        return self._native.next(timeout_s)

    def renew(self) -> None:
        """Somebody still wants the load."""
        self._native.renew()

    def stop(self) -> None:
        """Ask for a clean end; the record `end` still comes."""
        self._native.stop()


LoadJob = Job[LoadProgress | LoadEnd]
HostTestJob = Job[HostBegun | HostSample | HostEnd]


def start(plan: str) -> StepJob:
    """Begin a step; returns at once.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
        EngineError: the system refused threads or descriptors.
    """
    with _starting():
        return StepJob(_native().start(plan))


def start_part(plan: str) -> PartJob:
    """Begin a part of a step; returns at once.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
        EngineError: the system refused threads or descriptors.
    """
    with _starting():
        return PartJob(_native().start(plan))


def load(plan: str) -> LoadJob:
    """Begin to load tables; returns at once.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
        EngineError: the system refused threads or descriptors.
    """
    with _starting():
        return Job(_native().load(plan), LOAD_RECORD)


def load_part(plan: str) -> PartLoad:
    """Begin a part of a load; returns at once.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
        EngineError: the system refused threads or descriptors.
    """
    with _starting():
        return PartLoad(_native().load(plan))


def host_test(plan: HostTestPlan) -> HostTestJob:
    """Begin a test of this host, or make or remove its files; returns at once.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
        EngineError: the system refused a thread.
    """
    with _starting():
        return Job(_native().host_test(plan.model_dump_json()), HOST_RECORD)


@contextmanager
def _starting() -> Iterator[None]:
    native = _native()
    try:
        yield
    except native.PlanError as error:
        raise PlanRefused(str(error)) from error
    except OSError as error:
        raise EngineError(f"the engine cannot start: {error}") from error


class ScriptOption(Frozen):
    """An option that a script declares."""

    name: str
    help: str
    kind: Literal["null", "bool", "int", "size", "double", "string", "list", "file"]
    default: str | None


class ScriptContents(Frozen):
    """What a script says of itself."""

    options: tuple[ScriptOption, ...] | None
    """Sorted by name; `None`: it declares none, and takes any."""
    commands: dict[str, Literal["single", "parallel"]]
    """Those that it declares, and whether all users carry them out."""
    functions: frozenset[str]
    """Which of `prepare`, `cleanup` and `help` it has without declaring them."""
    hooks: frozenset[str]
    has_init: bool
    printed: str
    """What it printed while it was loaded."""


_REFUSALS = TypeAdapter(tuple[FirstError, ...])


class Script:
    """A script that answers questions about itself."""

    def __init__(self, native: _engine.Script) -> None:
        self._native = native

    def contents(self) -> ScriptContents:
        """What it says of itself.

        Raises:
            ScriptRefused: it cannot be loaded.
        """
        with _script_errors():
            return ScriptContents.model_validate_json(self._native.contents())

    def check(self) -> None:
        """See that its options fit, and that there is something to run where that is wanted.

        Raises:
            ScriptRefused: they do not, or there is nothing.
        """
        with _script_errors():
            self._native.check()

    def help(self) -> str:
        """What its command `help` prints.

        Raises:
            ScriptRefused: that failed.
        """
        with _script_errors():
            return self._native.help()

    def serve(self, plan: str) -> None:
        """Give it the servers of this plan to ask, once.

        Raises:
            PlanRefused: the plan is not one that can be carried out.
            EngineError: the system refused descriptors.
        """
        with _starting():
            self._native.serve(plan)

    def printed(self) -> str:
        """What it has printed before it failed."""
        with _script_errors():
            return self._native.printed()

    def refusals(self) -> tuple[FirstError, ...]:
        """What the servers have refused since this was asked last."""
        return _REFUSALS.validate_json(self._native.refusals())

    def report(self, figures: Mapping[str, float], *, is_last: bool) -> str:
        """What its hook for reports prints of these figures.

        Raises:
            ScriptRefused: that failed.
        """
        with _script_errors():
            return self._native.report(dict(figures), is_last)

    def end_reports(self) -> str:
        """What it prints behind the last report of an interval.

        Raises:
            ScriptRefused: that failed.
        """
        with _script_errors():
            return self._native.end_reports()


def script(spec: str) -> Script:
    """Load a script, to look at it.

    Raises:
        PlanRefused: what it is told is not what docs/engine.md says.
        EngineError: the system refused a thread.
    """
    with _starting():
        return Script(_native().script(spec))


@contextmanager
def _script_errors() -> Iterator[None]:
    native = _native()
    try:
        yield
    except native.ScriptError as error:
        raise ScriptRefused(*error.args) from error


class NullServer:
    """A null server on a thread of the engine's; it ends when it is stopped or forgotten."""

    def __init__(self, native: _engine.NullServer) -> None:
        self._native = native

    @property
    def port(self) -> int:
        """The TCP port."""
        return self._native.port

    @property
    def socket(self) -> str | None:
        """The unix socket, where one was wanted."""
        return self._native.socket

    def stats(self) -> NullServerStats:
        """The counters as they are.

        Raises:
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stats())

    def set_script(self, script: str) -> None:
        """Another script from now on; its time begins anew.

        Raises:
            PlanRefused: the script is wrong.
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            self._native.set_script(script)

    def flush(self) -> None:
        """Counters, log and the script's time begin anew.

        Raises:
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            self._native.flush()

    def stop(self) -> NullServerStats:
        """Close all connections, write the log if it has a file, and say what was counted.

        Raises:
            NullServerError: it runs no more, or the log could not be written.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stop())


def null_server(settings: NullServerSettings) -> NullServer:
    """Start a null server; clients can connect when this returns.

    Raises:
        PlanRefused: the settings, or the files for TLS, are wrong.
        NullServerError: the system refused a port, a socket or the log.
    """
    with _null_server_errors():
        return NullServer(_native().null_server(settings.model_dump_json()))


@contextmanager
def _null_server_errors() -> Iterator[None]:
    native = _native()
    try:
        yield
    except native.PlanError as error:
        raise PlanRefused(str(error)) from error
    except (OSError, RuntimeError) as error:
        raise NullServerError(str(error)) from error


def check_plan(plan: str) -> None:
    """Have the engine look at a plan without beginning anything.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
    """
    native = _native()
    try:
        native.check_plan(plan)
    except native.PlanError as error:
        raise PlanRefused(str(error)) from error


def workloads() -> dict[str, WorkloadInfo]:
    """The workloads by name, in the engine's order."""
    found = TypeAdapter(list[WorkloadInfo]).validate_json(_native().workloads())
    return {workload.name: workload for workload in found}


class Sample(Frozen):
    """An event of a template as it would be carried out."""

    transaction: str
    statements: tuple[str, ...]
    """With values for their parameters; what would have been read is `<its name>`."""

    more: int
    """Statements that are not shown."""


def samples(plan: str, count: int) -> tuple[Sample, ...]:
    """So many events of a step's plan whose workload is a template.

    Raises:
        PlanRefused: the plan is not one that can be carried out.
    """
    native = _native()
    try:
        found = native.samples(plan, count)
    except native.PlanError as error:
        raise PlanRefused(str(error)) from error
    return TypeAdapter(tuple[Sample, ...]).validate_json(found)


def merge_hlog(lines: Iterable[str]) -> dict[str, LatencyNs]:
    """By tag, the latency of all values of all lines together.

    Raises:
        LogError: a line is not one of an interval log.
    """
    try:
        merged = _native().merge_hlog(list(lines))
    except ValueError as error:
        raise LogError(f"latency.hlog: {error}") from error
    return TypeAdapter(dict[str, LatencyNs]).validate_json(merged)


class SummedLines(Frozen):
    """Lines of an interval log added up by tag."""

    lines: tuple[str, ...]
    """One for each tag (and one for its values above the range), over the time of all."""
    latency: dict[str, LatencyNs]


def sum_hlog(lines: Iterable[str]) -> SummedLines:
    """All values of each tag as one interval; sums of sums are those of all lines.

    Raises:
        LogError: a line is not one of an interval log.
    """
    try:
        summed = _native().sum_hlog(list(lines))
    except ValueError as error:
        raise LogError(f"latency.hlog: {error}") from error
    return SummedLines.model_validate_json(summed)


def hlog_counts(lines: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """By tag, each value in nanoseconds and how often it came, in rising order.

    Raises:
        LogError: a line is not one of an interval log.
    """
    try:
        counts = _native().hlog_counts(list(lines))
    except ValueError as error:
        raise LogError(f"latency.hlog: {error}") from error
    return TypeAdapter(dict[str, list[tuple[int, int]]]).validate_json(counts)


def hlog_header(start_unix_s: float) -> str:
    """The head of an interval log."""
    return _native().hlog_header(start_unix_s)


def build_info() -> dict[str, str]:
    """Version, build profile and TLS library of the engine."""
    return cast("dict[str, str]", json.loads(_native().build_info()))


def _native() -> _EngineModule:
    try:
        module = import_module("loadstone._engine")
    except ImportError as error:
        raise EngineError(f"the engine cannot be loaded: {error}", "run make build") from error
    return cast("_EngineModule", module)


class _EngineModule(Protocol):
    """The module's functions, so that tests may pour another one in."""

    PlanError: type[ValueError]
    ScriptError: type[ValueError]

    def start(self, plan: str) -> _engine.Drive: ...
    def load(self, plan: str) -> _engine.Load: ...
    def host_test(self, plan: str) -> _engine.HostTest: ...
    def script(self, spec: str) -> _engine.Script: ...
    def null_server(self, settings: str) -> _engine.NullServer: ...
    def check_plan(self, plan: str) -> None: ...
    def workloads(self) -> str: ...
    def samples(self, plan: str, count: int) -> str: ...
    def merge_hlog(self, lines: list[str]) -> str: ...
    def sum_hlog(self, lines: list[str]) -> str: ...
    def hlog_counts(self, lines: list[str]) -> str: ...
    def hlog_header(self, start_unix_s: float) -> str: ...
    def build_info(self) -> str: ...
