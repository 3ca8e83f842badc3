"""What pg_stat_statements counted of the load's statements in the step, where it is there.

Its times are those of statements from begin to end, their waits for a core and for locks included.
A rule that can do without it asks whether it is `None`; nothing of it is a constant.

Source: https://www.postgresql.org/docs/current/pgstatstatements.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.model.account import Place
from loadstone.model.hot_spots import CountedStatement
from loadstone.model.message import Message, say


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
    worst = max(statements(case) or (), key=lambda one: spent(one) or 0.0, default=None)
    if worst is None or not spent(worst):
        return []
    return [say("Most by: {statement}", statement=worst.statement)]


def parts_of_time(case: Case, users: float) -> Mapping[Place, float]:
    """By place of the cores, the part that so many users' time is who work there or wait for it.

    Empty without an account.
    """
    account = case.step.account
    inside = account.users * account.share_of(*CORES) if account else 0.0
    return dict.fromkeys(CORES, min(users / inside, 1.0)) if inside else {}


def cores_of(case: Case, users: float | None) -> float | None:
    """Cores that so many users take, who wait for one as long as all do; `None`: not known."""
    account = case.step.account
    if users is None or account is None:
        return None
    running, waiting = account.share_of("on core"), account.share_of("waiting for a core")
    return users * running / (running + waiting) if running else None


def share_of_time(case: Case, users: float) -> float:
    """The share of the users' time that this is, as far as they are at the cores.

    Raises:
        Missing: the step has no account.
    """
    return min(users / case.users, case.needed(case.time_at(*CORES)))


def _users(case: Case, spent: Callable[[CountedStatement], float | None]) -> float | None:
    """By Little's law: their seconds a second."""
    known = [value for one in statements(case) or () if (value := spent(one)) is not None]
    return versions.per_s(case, sum(known)) if known else None
