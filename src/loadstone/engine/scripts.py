"""Lua scripts outside of a load: what they declare, print and do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, TypeAdapter

from loadstone.engine.native import native, starting
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.records import FirstError, Printed, Stuck

if TYPE_CHECKING:
    from loadstone import _engine


class ScriptRefused(LoadstoneError):
    """A script failed: a stable name of the reason, whom it concerns, and the text."""

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
    """The options, commands and functions of a script."""

    options: tuple[ScriptOption, ...] | None
    """Sorted by name; `None`: the script declares none, and accepts any."""
    commands: dict[str, Literal["single", "parallel"]]
    """The commands that it declares, and whether one user or all users run them."""
    functions: frozenset[str]
    """Those of `prepare`, `cleanup` and `help` that it defines without declaring them."""
    hooks: frozenset[str]


class ScriptCounts(Frozen):
    """Statements of a script outside of a load, and what it counted by sysbench's counters."""

    reads: int
    writes: int
    other: int
    events: int
    errors: int
    reconnects: int


Said = Annotated[Printed | FirstError | Stuck, Field(discriminator="kind")]
"""What a script lets the user know: its output, a server's error, where it does not return."""

_SAID = TypeAdapter(tuple[Said, ...], config=DEFERRED)


class Script:
    """A loaded script that can be inspected, and that runs what runs once."""

    def __init__(self, native: _engine.Script) -> None:
        self._native = native

    def contents(self) -> ScriptContents:
        """The options, commands and functions of the script.

        Raises:
            ScriptRefused: it cannot be loaded.
        """
        with _script_errors():
            return ScriptContents.model_validate_json(self._native.contents())

    def check(self) -> None:
        """Check that the given options fit, and that the requested command exists.

        Raises:
            ScriptRefused: an option does not fit, or there is nothing to run.
        """
        with _script_errors():
            self._native.check()

    def give(self, spec: str) -> None:
        """Have these options from now on.

        Raises:
            PlanRefused: `spec` does not conform to docs/engine.md.
        """
        with starting():
            self._native.give(spec)

    def help(self) -> None:
        """Have it print its help.

        Raises:
            ScriptRefused: the script failed.
        """
        with _script_errors():
            self._native.help()

    def serve(self, plan: str) -> None:
        """Let it query the servers of this plan, unless it has some already.

        Raises:
            PlanRefused: the plan cannot be run.
            EngineError: the system refused descriptors.
        """
        with starting():
            self._native.serve(plan)

    def said(self) -> tuple[Said, ...]:
        """What it has said since the last call, in order."""
        return _SAID.validate_json(self._native.said())

    def report(self, figures: Mapping[str, float], *, is_last: bool) -> None:
        """Have its report hook print these figures.

        Raises:
            ScriptRefused: the script failed.
        """
        with _script_errors():
            self._native.report(dict(figures), is_last)

    def end_reports(self) -> None:
        """Have it print what follows the last report of an interval.

        Raises:
            ScriptRefused: the script failed.
        """
        with _script_errors():
            self._native.end_reports()

    def begin_command(self, command: str) -> None:
        """Start a command of the script, in the state that loading it has left."""
        self._native.begin_command(command)

    def begin_init(self) -> None:
        """Start its `init()`, if it has one, in the same state."""
        self._native.begin_init()

    def begin_done(self) -> None:
        """Start its `done()`, if it has one, in the same state."""
        self._native.begin_done()

    def is_over(self) -> bool:
        """Whether what was started is over; waits for a moment.

        Raises:
            ScriptRefused: it failed.
        """
        with _script_errors():
            return self._native.is_over()

    def end(self) -> None:
        """Request the end of what was started, which is then reported as a failure."""
        self._native.end()

    def counts(self) -> ScriptCounts:
        """What its statements were since it began to load, and what it counted itself."""
        return ScriptCounts.model_validate_json(self._native.counts())

    def close(self) -> None:
        """Close its connections; it answers no more."""
        self._native.release()
        del self._native


def script(spec: str, plan: str | None = None) -> Script:
    """Load a script, which may query the servers of this plan.

    Raises:
        PlanRefused: `spec` or `plan` does not conform to docs/engine.md.
        EngineError: the system refused a thread.
    """
    with starting():
        return Script(native().script(spec, plan))


@contextmanager
def _script_errors() -> Iterator[None]:
    module = native()
    try:
        yield
    except module.ScriptError as error:
        raise ScriptRefused(*error.args) from error
