"""The server logs each statement.

Source: https://www.postgresql.org/docs/current/runtime-config-logging.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, say, say_in

LINE_S = 6e-6
"""[P] CPU of a session for one line: measured 5 to 9 µs (156 bytes, PostgreSQL 15, a file on tmpfs
or ext4, an EPYC). What the process adds that collects the lines is its own."""

EXECUTIONS = 2.0
"""Lines of a prepared statement's execution where durations are logged: its bind, and itself."""

FEWEST = 100.0
"""[P] Lines a second below which logging each statement costs nothing noticeable."""

_OFF: Mapping[str, str] = {
    "log_statement": "none",
    "log_duration": "off",
    "log_min_duration_statement": "-1",
    "auto_explain.log_min_duration": "-1",
}
"""Settings that log each statement, and their values that log none."""


def judge(case: Case) -> Finding | None:
    """Statements a second, with the settings by which each of them is logged."""
    case.needed(case.variable("log_statement"))
    statements, names = case.needed(case.step.qps), list(_logging(case))
    lines = statements * _lines(case, names)
    if lines < FEWEST:
        return None
    cores = server_cores(case)
    return Finding(
        cause="statement-log",
        group="setting",
        sentence=say(
            "Each statement is logged ({settings}): about {lines} lines a second for {statements} "
            "statements, each of which its session formats and writes before it goes on.",
            settings=Joined([f"{name}={case.variable(name)}" for name in names]),
            lines=Number(lines),
            statements=Number(statements),
        ),
        evidence=(case.seen(say("lines of the log"), lines, say_in("unit", "/s"), FEWEST),),
        share=min(lines * LINE_S / cores, 1.0) if cores else None,
        confidence=0.85,
        remedy=say(
            "Log slow statements alone (log_min_duration_statement), or a sample of them "
            "(log_min_duration_sample with log_statement_sample_rate)."
        ),
        trial=dynamic(case, {name: _OFF[name] for name in names}, say("logging each statement")),
        acts_on="server CPU",
    )


def _logging(case: Case) -> Iterator[str]:
    """The settings by which each statement is logged."""
    if case.variable("log_statement") == "all":
        yield "log_statement"
    if case.is_on("log_duration"):
        yield "log_duration"
    for name in ("log_min_duration_statement", "auto_explain.log_min_duration"):
        if case.variable(name) in ("0", "0ms"):
            yield name


def _lines(case: Case, names: list[str]) -> float:
    """Lines for each statement.

    A duration is logged in the statement's own line if that is logged for it; otherwise each step
    of a prepared statement has a line of its own.
    """
    steps = 1.0 if case.drive.get("protocol") == "text" else EXECUTIONS
    found = 1.0 if "auto_explain.log_min_duration" in names else 0.0
    found += 1.0 if "log_statement" in names else 0.0
    timed = "log_duration" in names or "log_min_duration_statement" in names
    return found + (steps if timed else 0.0)


def _holds(case: Case) -> Holds | None:
    """A line's work on a core, and as large a part of the wait for one."""
    lines = (case.step.qps or 0.0) * _lines(case, list(_logging(case)))
    parts = parts_of_work(case, lines * LINE_S)
    return parts_of(parts) if parts else None


RULE = Rule(
    "statement-log",
    say("each statement is logged"),
    judge,
    holds=part_of(*CORES),
    holds_in=_holds,
)
