"""Lua scripts that are asked about themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from loadstone.engine.native import native, starting
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.records import FirstError

if TYPE_CHECKING:
    from loadstone import _engine


class ScriptRefused(LoadstoneError):
    """A script cannot go on: a stable name of why, whom it is about, and the words."""

    exit_code = ExitCode.PLAN

    def __init__(self, kind: str, subject: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.subject = subject


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
            PlanRefused: the plan cannot be run.
            EngineError: the system refused descriptors.
        """
        with starting():
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

    def close(self) -> None:
        """Close the connections that its hooks have opened; it answers no more."""
        del self._native


def script(spec: str) -> Script:
    """Load a script, to look at it.

    Raises:
        PlanRefused: what it was given is not what docs/engine.md says.
        EngineError: the system refused a thread.
    """
    with starting():
        return Script(native().script(spec))


@contextmanager
def _script_errors() -> Iterator[None]:
    module = native()
    try:
        yield
    except module.ScriptError as error:
        raise ScriptRefused(*error.args) from error
