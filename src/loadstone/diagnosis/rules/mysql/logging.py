"""The server logs each statement."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.table_locks import LOCKED
from loadstone.diagnosis.trials import dynamic
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

LINE_S = 6e-6
"""[P] CPU of logging one statement: formatting and a write, under one lock for all. Measured with
and without on an EPYC: the general log 3 µs (MariaDB 10.11) and 6 to 10 (MySQL 9.7), MariaDB's slow
log 7, its audit log 6."""

ROW_S = 12e-6
"""[P] The same of a line in a table (log_output=TABLE): measured 12 µs with MariaDB 10.11 and 13
with MySQL 9.7."""

OFTEN = 0.5
"""[P] Share of the statements that are in the slow log."""

FEWEST = 100.0
"""[P] Statements a second below which logging each of them costs nothing noticeable."""

_ALL_STATEMENTS = ("ALL", "QUERIES")


def judge(case: Case) -> Finding | None:
    """The general log is on, and there are statements."""
    on = case.needed(case.is_on("general_log"))
    questions = case.needed(case.rate("questions"))
    output = _output(case)
    if not on or questions < FEWEST or output == "NONE":
        return None
    return Finding(
        cause="general-log",
        group="setting",
        sentence=say(
            "The general log is on: {statements} statements a second are written to a table, one "
            "after the other.",
            statements=Number(questions),
        )
        if _is_in_a_table(case)
        else say(
            "The general log is on: {statements} statements a second are written to a file, one "
            "after the other.",
            statements=Number(questions),
        ),
        evidence=(case.seen(plain("questions"), questions, say_in("unit", "/s"), FEWEST),),
        share=_cost(case, questions, _line_s(case)),
        confidence=0.9,
        remedy=say("SET GLOBAL general_log = OFF."),
        trial=dynamic(case, {"general_log": "OFF"}, say("the general log")),
        acts_on="server CPU",
    )


def judge_slow(case: Case) -> Finding | None:
    """The slow log takes most statements."""
    on = case.needed(case.is_on("slow_query_log"))
    slow, questions = case.needed(_slow_lines(case)), case.needed(case.rate("questions"))
    if not on or questions < FEWEST or slow < OFTEN * questions:
        return None
    limit = case.variable("long_query_time") or ""
    return Finding(
        cause="slow-log",
        group="setting",
        sentence=say(
            "{part} of the statements are written to the slow log (long_query_time={limit}): "
            "{slow} a second.",
            part=Percent(min(slow / questions, 1.0)),
            limit=limit,
            slow=Number(slow),
        ),
        evidence=(case.seen(plain("slow_queries"), slow / questions, say("of statements"), OFTEN),),
        share=_cost(case, slow, _line_s(case)),
        confidence=0.9,
        remedy=say("Raise long_query_time, or switch slow_query_log off."),
        trial=dynamic(case, {"slow_query_log": "OFF"}, say("the slow log")),
        acts_on="server CPU",
    )


def _slow_lines(case: Case) -> float | None:
    """Lines of the slow log a second: MariaDB also counts those that its sampling leaves out."""
    counted = case.rate("slow_queries")
    return counted and counted / max(case.number("log_slow_rate_limit") or 1.0, 1.0)


def _audits_statements(events: str) -> bool:
    """Whether server_audit logs what a load sends; all, if nothing is said."""
    kinds = {one.strip().upper() for one in events.split(",")} - {""}
    return not kinds or bool(kinds & {"QUERY", "QUERY_DML", "QUERY_DML_NO_SELECT", "TABLE"})


def judge_audit(case: Case) -> Finding | None:
    """A plugin logs who does what: MariaDB's server_audit, or audit_log."""
    by_mariadb = case.is_on("server_audit_logging")
    policy = (case.variable("audit_log_policy") or "NONE").upper()
    questions = case.needed(case.rate("questions"))
    if questions < FEWEST or not (by_mariadb or policy in _ALL_STATEMENTS):
        return None
    if by_mariadb and not _audits_statements(case.variable("server_audit_events") or ""):
        return None  # logins, or changes of tables and rights, alone
    return Finding(
        cause="audit-log",
        group="setting",
        sentence=say(
            "The audit log is on: {statements} statements a second are logged, one after the "
            "other.",
            statements=Number(questions),
        ),
        evidence=(case.seen(plain("questions"), questions, say_in("unit", "/s"), FEWEST),),
        share=_cost(case, questions, LINE_S),
        confidence=0.85,
        remedy=say("Audit only logins and changes of privileges, where your policy allows it."),
        trial=dynamic(case, {"server_audit_logging": "OFF"}, say("the audit log")),
        acts_on="server CPU",
    )


def _cost(case: Case, lines: float, line_s: float) -> float | None:
    """Logging's share of the server's CPU, or of the one lock's time where that is larger."""
    cores, used = server_cores(case), lines * line_s
    return min(max(used, used / cores), 1.0) if cores else None


def _line_s(case: Case) -> float:
    """CPU of a line where log_output says."""
    return ROW_S if _is_in_a_table(case) else LINE_S


def _is_in_a_table(case: Case) -> bool:
    return "TABLE" in _output(case)


@dataclass(frozen=True)
class _Log:
    """A log: its lines, and where the server names what users wait for."""

    lines: Callable[[Case], float | None]
    """Its lines a second."""
    file: str
    """The variable with its file's name."""
    lock: tuple[str, ...]
    """Ends of performance_schema's names of the lock that lets one line in at a time."""
    is_plugin: bool = False
    """Whether log_output says nothing about it."""

    def holds(self, case: Case) -> Holds | None:
        """A line's work on a core; its lock; its writes, where they wait for a disk or a table."""
        account, lines = case.step.account, self.lines(case)
        if account is None or lines is None:
            return None
        in_a_table = _is_in_a_table(case) and not self.is_plugin
        work = lines * (ROW_S if in_a_table else LINE_S)
        parts = parts_of_work(case, work)
        if not parts:
            return None
        written, locked = _seen(case, "disk write"), _seen(case, "latch")
        tables = _part_of_table_locks(case) if in_a_table else 0.0
        by_file = self._at_its_file(case)
        writing = min(written, 1.0) if by_file is None else min(by_file, written)
        by_lock = self._at_its_lock(case)
        waiting = _at_one_lock(work + writing) if by_lock is None else by_lock
        inside = _seen(case, "in the server")
        if inside:
            waits = waiting + (by_file or 0.0)
            parts["in the server"] = min(parts["in the server"] + waits / inside, 1.0)
        return priced(
            {
                **parts,
                "latch": min(waiting / locked, 1.0) if locked else 0.0,
                "disk write": writing / written if written else 0.0,
                "table lock": tables,
            }
        )

    def _at_its_file(self, case: Case) -> float | None:
        """Mean number of users that write to its file; `None`: no file of that name was timed."""
        spots, path = case.step.hot_spots, case.variable(self.file)
        if spots is None or not path:
            return None
        return _mean(case, [one.time_s for one in spots.files if _name(one.file) == _name(path)])

    def _at_its_lock(self, case: Case) -> float | None:
        """Mean number of users that wait for its lock; `None`: it was not timed."""
        spots = case.step.hot_spots
        waits = spots.waits if spots else ()
        return _mean(case, [one.time_s for one in waits if one.event.endswith(self.lock)])


def _mean(case: Case, times_s: Collection[float]) -> float | None:
    """The mean number of users over a step in which they took so many seconds together."""
    window = case.step.window
    return sum(times_s) / window.to_s if times_s and window else None


def _seen(case: Case, place: Place) -> float:
    """Mean number of users there."""
    return case.users * (case.time_at(place) or 0.0)


def _at_one_lock(use: float) -> float:
    """Mean number of users that wait for a lock of this use: M/M/1, without the one inside."""
    return use**2 / (1 - use) if use < 1 else math.inf


def _part_of_table_locks(case: Case) -> float:
    """Of the waits for tables, those for a table's own lock: InnoDB's tables have none."""
    waits = {
        state: users
        for state, users in (case.states() or {}).items()
        if any(text in state for text, _ in LOCKED)
    }
    total = sum(waits.values())
    own = sum(users for state, users in waits.items() if "table level lock" in state)
    return own / total if total else 0.0


def _output(case: Case) -> str:
    return (case.variable("log_output") or "FILE").upper()


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _statements(case: Case) -> float | None:
    return case.rate("questions")


_OF_A_LOG = part_of(*CORES, "latch", "disk write", is_priced=True)

RULE = Rule(
    "general-log",
    say("the general log is on"),
    judge,
    holds=_OF_A_LOG,
    holds_in=_Log(_statements, "general_log_file", ("/LOG::LOCK_log",)).holds,
)
AUDIT_RULE = Rule(
    "audit-log",
    say("the audit log is on"),
    judge_audit,
    holds=_OF_A_LOG,
    holds_in=_Log(
        _statements,
        "server_audit_file_path",
        ("::lock_operations", "::LOCK_audit_log"),
        is_plugin=True,
    ).holds,
)
SLOW_RULE = Rule(
    "slow-log",
    say("the slow log takes nearly everything"),
    judge_slow,
    holds=_OF_A_LOG,
    holds_in=_Log(_slow_lines, "slow_query_log_file", ("/LOG::LOCK_log",)).holds,
)
