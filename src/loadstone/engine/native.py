"""Access to the extension module `loadstone._engine` and its errors; the only importer of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone import _engine


class EngineError(LoadstoneError):
    """The engine is missing, failed, or broke its contract."""


class PlanRefused(LoadstoneError):
    """The engine refused a plan or settings."""

    exit_code = ExitCode.PLAN


class _EngineModule(Protocol):
    """The module's functions, so that tests can substitute another module."""

    PlanError: type[ValueError]
    ScriptError: type[ValueError]

    def start(self, plan: str) -> _engine.Drive: ...
    def load(self, plan: str) -> _engine.Load: ...
    def host_test(self, plan: str) -> _engine.HostTest: ...
    def script(self, spec: str, plan: str | None = None) -> _engine.Script: ...
    def null_server(self, settings: str) -> _engine.NullServer: ...
    def check_plan(self, plan: str) -> None: ...
    def connections_to(self, place: str) -> list[int]: ...
    def ed25519_answer(self, password: bytes, nonce: bytes) -> bytes: ...
    def parsec_answer(self, password: bytes, nonce: bytes, salt: bytes) -> bytes: ...
    def workloads(self) -> str: ...
    def samples(self, plan: str, count: int) -> str: ...
    def pgbench_commands(self, script: str) -> str: ...
    def merge_hlog(self, lines: list[str]) -> str: ...
    def sum_hlog(self, lines: list[str]) -> str: ...
    def hlog_counts(self, lines: list[str]) -> str: ...
    def hlog_rows(self, lines: list[str], edges_ns: list[int]) -> str: ...
    def other_lines(
        self, path: str, from_byte: int, until: int, most: int
    ) -> tuple[list[tuple[int, bytes]], int]: ...
    def hlog_header(self, start_unix_s: float) -> str: ...
    def build_info(self) -> str: ...


def native() -> _EngineModule:
    """The extension module.

    Raises:
        EngineError: it was not built, or not for this interpreter.
    """
    try:
        module = import_module("loadstone._engine")
    except ImportError as error:
        said = say("the engine cannot be loaded: {reason}", reason=str(error))
        raise EngineError(said, say("run make build")) from error
    return cast("_EngineModule", module)


@contextmanager
def planning() -> Iterator[None]:
    """Context for code in which the module checks a plan or settings.

    Raises:
        PlanRefused: they cannot be run.
    """
    module = native()
    try:
        yield
    except module.PlanError as error:
        raise PlanRefused(str(error)) from error


@contextmanager
def starting() -> Iterator[None]:
    """Context for code that starts something: converts the module's errors into ours.

    Raises:
        PlanRefused: the plan cannot be run.
        EngineError: the system refused threads or descriptors.
    """
    try:
        with planning():
            yield
    except OSError as error:
        raise EngineError(say("the engine cannot start: {reason}", reason=str(error))) from error


def build_info() -> dict[str, str]:
    """The version, build profile and TLS library of the engine."""
    return cast("dict[str, str]", json.loads(native().build_info()))
