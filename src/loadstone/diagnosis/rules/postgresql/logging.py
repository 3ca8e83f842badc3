"""The server logs each statement.

Source: https://www.postgresql.org/docs/current/runtime-config-logging.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import plan_cache
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, Message, say, say_in

LINE_S = 6e-6
"""[P] CPU of a session for one line: measured 5 to 9 µs (156 bytes, PostgreSQL 15, a file on tmpfs
or ext4, an EPYC). What the process adds that collects the lines is its own."""

EXECUTIONS = 2.0
"""Lines of a prepared statement's execution where durations are logged: its bind, and itself."""

TRANSACTION = 2.0
"""Lines of a transaction at the most talkative level: its begin, and its end."""

OF_A_SAMPLE = 0.05
"""[P] Part of the server's CPU from which a sample that somebody chose is no longer a small one."""

FEWEST = 100.0
"""[P] Lines a second below which logging each statement costs nothing noticeable."""

_OFF: Mapping[str, str] = {
    "log_statement": "none",
    "log_duration": "off",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "auto_explain.log_min_duration": "-1",
    "log_statement_stats": "off",
    "log_executor_stats": "off",
    "log_parser_stats": "off",
    "log_planner_stats": "off",
    "debug_print_parse": "off",
    "debug_print_rewritten": "off",
    "debug_print_plan": "off",
    "log_min_messages": "warning",
    "client_min_messages": "notice",
    "pgaudit.log": "none",
}
"""Settings that log each statement, and their values that log none."""

_LEVEL, _CHANGES = "log_statement", "mod"
_AUDIT = "pgaudit.log"
_EXPLAINED = "auto_explain.log_min_duration"
_TIMED = ("log_duration", "log_min_duration_statement")
_TRANSACTIONS = "log_transaction_sample_rate"
_SAMPLES = ("log_min_duration_sample", _TRANSACTIONS)
_TOLD = "client_min_messages"
_RATES: Mapping[str, str] = {
    _TRANSACTIONS: _TRANSACTIONS,
    "log_min_duration_sample": "log_statement_sample_rate",
    _EXPLAINED: "auto_explain.sample_rate",
}
"""By setting, which one says how large a part of the statements is logged."""

_ZERO = ("0", "0ms")

_PARSED: Mapping[str, float] = {
    "log_parser_stats": 3.0,
    "log_planner_stats": 1.0,
    "debug_print_parse": 1.0,
    "debug_print_rewritten": 1.0,
    "debug_print_plan": 1.0,
}
"""Lines of each statement that is parsed and planned, which one that is prepared is only once."""

_TALKATIVE = ("debug2", "debug3", "debug4", "debug5")
"""Levels that log the bind of each execution."""


def judge(case: Case) -> Finding | None:
    """Statements a second, with the settings by which each of them is logged."""
    case.needed(case.variable("log_statement"))
    statements, names = case.needed(case.step.qps), list(_logging(case))
    lines = statements * _lines(case)
    if lines < FEWEST:
        return None
    cores = server_cores(case)
    share = min(lines * LINE_S / cores, 1.0) if cores else None
    is_sample = all(_is_sampled(case, name) for name in names)
    if is_sample and (share or 0.0) < OF_A_SAMPLE:
        return None
    return Finding(
        cause="statement-log",
        group="setting",
        sentence=_of_a_sample(case, names, lines) if is_sample else _sentence(case, names, lines),
        evidence=(case.seen(say("lines of the log"), lines, say_in("unit", "/s"), FEWEST),),
        share=share,
        confidence=0.85,
        remedy=say(
            "Log slow statements alone (log_min_duration_statement), or a sample of them "
            "(log_min_duration_sample with log_statement_sample_rate)."
        ),
        trial=dynamic(case, {name: _OFF[name] for name in names}, say("logging each statement")),
        acts_on="server CPU",
    )


def _of_a_sample(case: Case, names: Sequence[str], lines: float) -> Message:
    settings = [one for name in names for one in (name, _RATES.get(name, name))]
    shown = [f"{name}={case.variable(name)}" for name in dict.fromkeys(settings)]
    return say(
        "A sample of the statements is logged ({settings}): about {lines} lines a second, each of "
        "which its session formats and writes before it goes on.",
        settings=Joined(shown),
        lines=Number(lines),
    )


def _is_sampled(case: Case, name: str) -> bool:
    """Whether it is a part that the setting has logged."""
    rate = case.number(_RATES.get(name, ""))
    return rate is not None and rate < 1.0


def _sentence(case: Case, names: Sequence[str], lines: float) -> Message:
    settings = Joined([f"{name}={case.variable(name)}" for name in names])
    if names == [_TOLD]:
        return say(
            "Clients are sent the server's messages for who looks for its defects ({settings}): "
            "about {lines} a second for {statements} statements.",
            settings=settings,
            lines=Number(lines),
            statements=Number(case.step.qps or 0.0),
        )
    if names == [_LEVEL] and case.variable(_LEVEL) == _CHANGES:
        return say(
            "Each change is logged ({settings}): about {lines} lines a second, each of which its "
            "session formats and writes before it goes on.",
            settings=settings,
            lines=Number(lines),
        )
    return say(
        "Each statement is logged ({settings}): about {lines} lines a second for {statements} "
        "statements, each of which its session formats and writes before it goes on.",
        settings=settings,
        lines=Number(lines),
        statements=Number(case.step.qps or 0.0),
    )


def _logging(case: Case) -> Iterator[str]:
    """The settings by which each statement is logged."""
    found = _lines_of(case)
    return (name for name in _OFF if found.get(name))


def _lines_of(case: Case) -> dict[str, float]:
    """Lines for each statement, by the setting that has them logged."""
    is_prepared = plan_cache.is_prepared(case)
    steps = 1.0 if case.drive.get("protocol") == "text" else EXECUTIONS
    # With the resources that each took.
    taken = {"log_statement_stats": steps, "log_executor_stats": 1.0}
    found = {name: lines for name, lines in taken.items() if case.is_on(name)}
    if not is_prepared:
        found |= {name: lines for name, lines in _PARSED.items() if case.is_on(name)}
    level = case.variable(_LEVEL)
    if level in ("all", _CHANGES):
        found[_LEVEL] = 1.0 if level == "all" else _part_of_changes(case)
    if case.variable(_EXPLAINED) in _ZERO:
        rate = case.number("auto_explain.sample_rate")
        found[_EXPLAINED] = 1.0 if rate is None else rate
    if case.is_on("log_duration"):
        found["log_duration"] = steps
    if case.variable("log_min_duration_statement") in _ZERO:
        found["log_min_duration_statement"] = steps
    return found | _sampled(case, steps) | _talked(case, steps) | _audited(case)


def _audited(case: Case) -> dict[str, float]:
    """Lines of pgaudit by the classes of statements that it logs; `-` before one leaves it out.

    Source: https://github.com/pgaudit/pgaudit#pgauditlog
    """
    classes = {one.strip().lower() for one in (case.variable(_AUDIT) or "").split(",")}
    step = case.step
    kinds = {"read": step.reads, "write": step.writes, "misc": step.other}
    logged = sum(
        count
        for kind, count in kinds.items()
        if f"-{kind}" not in classes and {kind, "all"} & classes
    )
    statements = sum(kinds.values())
    return {_AUDIT: logged / statements} if logged else {}


def _part_of_changes(case: Case) -> float:
    """Of all statements, 0 to 1."""
    step = case.step
    statements = step.reads + step.writes + step.other
    return step.writes / statements if statements else 0.0


def _sampled(case: Case, steps: float) -> dict[str, float]:
    """Lines of the samples that are logged: of transactions, and of statements of any duration."""
    found = {_TRANSACTIONS: steps * (case.number(_TRANSACTIONS) or 0.0)}
    if case.variable("log_min_duration_sample") in _ZERO:
        rate = case.number("log_statement_sample_rate")
        found["log_min_duration_sample"] = steps * (1.0 if rate is None else rate)
    return found


def _talked(case: Case, steps: float) -> dict[str, float]:
    """Lines that are for who looks for a defect of the server."""
    statements, found = case.step.qps, {}
    for name in ("log_min_messages", _TOLD):
        level = case.variable(name)
        if level in _TALKATIVE and statements:
            ends = TRANSACTION * case.tps / statements if level == "debug5" else 0.0
            found[name] = steps - 1 + ends
    return found


def _lines(case: Case) -> float:
    """Lines for each statement.

    A duration is logged in the statement's own line if that is logged for it; otherwise each step
    of a prepared statement has a line of its own. What is logged anyway is in no sample.
    """
    found = _lines_of(case)
    timed = max((found.pop(name, 0.0) for name in (*_TIMED, *_SAMPLES)), default=0.0)
    return timed + sum(found.values())


def _holds(case: Case) -> Holds | None:
    """A line's work on a core, and as large a part of the wait for one."""
    lines = (case.step.qps or 0.0) * _lines(case)
    parts = parts_of_work(case, lines * LINE_S)
    return priced(parts) if parts else None


RULE = Rule(
    "statement-log",
    say("each statement is logged"),
    judge,
    holds=part_of(*CORES, is_priced=True),
    holds_in=_holds,
)
