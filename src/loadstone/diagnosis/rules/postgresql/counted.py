"""What pg_stat_statements counted of the load's statements in the step, where it is there.

Its times are those of statements from begin to end, with their waits for locks and disks.
A rule that can do without it asks whether it is `None`; nothing of it is a constant.

Source: https://www.postgresql.org/docs/current/pgstatstatements.html
"""

from __future__ import annotations

from collections.abc import Callable

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import server_cores
from loadstone.diagnosis.holds import PAGE_READS, PAGE_WAITS
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.model.account import Place
from loadstone.model.hot_spots import CountedStatement
from loadstone.model.message import Message, say

_WAITS: tuple[Place, ...] = (*PAGE_READS, *PAGE_WAITS, "row lock", "table lock")
"""Where a statement waits that is executed. A commit's flush comes after it, and who waits for
admission has no statement yet."""


def statements(case: Case) -> tuple[CountedStatement, ...] | None:
    """Those with the longest times; `None`: nobody counts them."""
    case.reads.append(say("the statements of pg_stat_statements"))
    spots = case.step.hot_spots
    return spots.counted if spots and spots.counted else None


def planning(case: Case) -> float | None:
    """Mean number of users whose statement is planned; `None`: not timed."""
    found = _users(case, lambda one: one.plan_s)
    case.reads.append(say("plan time of pg_stat_statements (pg_stat_statements.track_planning)"))
    return found


def compiling(case: Case) -> float | None:
    """Mean number of users whose statement is compiled; `None`: not timed."""
    found = _users(case, lambda one: one.jit_s)
    case.reads.append(say("compile time of pg_stat_statements"))
    return found


def most_by(case: Case, spent: Callable[[CountedStatement], float | None]) -> list[Message]:
    """A sentence with the statement that spends the most; empty if it is not known."""
    worst = worst_by(case, spent)
    return [say("Most by: {statement}", statement=worst)] if worst else []


def worst_by(case: Case, spent: Callable[[CountedStatement], float | None]) -> str:
    """The statement that spends the most; empty if it is not known."""
    worst = max(statements(case) or (), key=lambda one: spent(one) or 0.0, default=None)
    return worst.statement if worst is not None and spent(worst) else ""


def cores_of(case: Case, users: float | None) -> float | None:
    """Cores that so many users take at most; `None`: not known.

    Who wakes up waits for a core before the statement's clock starts, so that its times are mostly
    work. What all statements take without their waits at other places, and is more than was on a
    core, was waiting for one: of that each has its part. Where nobody looked at the threads, no
    more was on a core than the server used.
    """
    account = case.step.account
    if users is None or account is None:
        return None
    running = account.users * account.share_of("on core") or server_cores(case)
    if not users or not running:
        return users
    every = _users(case, lambda one: one.exec_s + (one.plan_s or 0.0)) or 0.0
    waits = account.users * account.share_of(*_WAITS)
    return users * min(running / max(every - waits, users), 1.0)


def total(case: Case, spent: Callable[[CountedStatement], float | None]) -> float | None:
    """What all statements of the step spent, those that are not shown as well; `None`: unknown."""
    shown, spots = statements(case), case.step.hot_spots
    rest = (spots.counted_rest,) if spots and spots.counted_rest else ()
    known = [value for one in (*(shown or ()), *rest) if (value := spent(one)) is not None]
    return sum(known) if known else None


def _users(case: Case, spent: Callable[[CountedStatement], float | None]) -> float | None:
    """By Little's law: their seconds a second."""
    seconds = total(case, spent)
    return None if seconds is None else versions.per_s(case, seconds)
