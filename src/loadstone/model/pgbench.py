"""Scripts of pgbench: one as a workload, and the rows that a sample has of them.

docs/engine.md describes the documents that these types make and parse.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from loadstone.model.frozen import Frozen

Whole = Annotated[int, Field(ge=0, lt=2**53)]
"""A number that is exact for every reader, even as a floating point number."""


class PgbenchSpec(Frozen):
    """A script of pgbench, which drives the users in place of a built-in workload."""

    script: str
    """Its text."""

    variables: dict[str, str] = {}
    """The values of its variables at the start; unless given, `client_id` is each user's number."""

    in_text: bool = False
    """Whether values are part of the statements' text, rather than parameters."""

    repeats_draws: bool = False
    """Whether an event that is restarted draws the same random numbers again."""

    number: Annotated[int, Field(ge=0, lt=2**16)] = 0
    """The script's number among those of its run, which `debug()` prints."""

    shows_errors: bool = False
    """Whether each error after which an event may be tried again is printed, and what follows."""

    traces: bool = False
    """Whether it is printed what each user executes, sends and receives."""


class ListedCommand(Frozen):
    """A statement or a command with a backslash, as pgbench lists it with `-r`."""

    number: Whole
    """From 0, in the order of the script."""

    line: Whole
    """Where it begins in the script, from 1."""

    text: str
    """The first line of a statement; the whole of a command, which may be continued."""


class CommandFigures(NamedTuple):
    """The executions of a script's command in an interval."""

    member: Whole
    """The place of the script among the members of a mix; 0 if there is no mix."""

    command: Whole
    """Its number in the script, from 0."""

    executions: Whole
    """Those that succeeded."""

    sum_ns: Whole
    """Their durations together, in nanoseconds."""

    failed: Whole
    """Errors here that failed the event."""

    restarted: Whole
    """Errors here that restarted the event."""


Outcome = Literal["ok", "skipped", "serialization", "deadlock", "failed"]


class LoggedEvent(NamedTuple):
    """An event that has ended."""

    user: Whole
    number: Whole
    """The number of the event among the user's, from 1."""

    member: Whole
    """The place of its workload among the members of a mix; 0 if there is no mix."""

    end_unix_us: Whole
    """Its end, in microseconds since 1970."""

    latency_us: Whole
    """Its duration since it was due, in microseconds."""

    lag_us: Whole | None
    """Open loop: its start since it was due, in microseconds; `None` if it did not start."""

    tries: Whole
    """How often it was started."""

    outcome: Outcome
