"""Connections that a server turned away, for any family: what failed, and who is left out."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, counted, say

SOME = 0.05
"""[P] Share of a finding whose users all had a connection in the end."""


def left_out(case: Case) -> int:
    """Users that had no connection at the end."""
    return max(case.users - case.step.users, 0)


def share_of(case: Case) -> float:
    """The part of the users that were left out."""
    missing = left_out(case)
    return missing / case.users if missing else SOME


def failures(case: Case, failed: int) -> Message:
    """The attempts that failed, and with which errors."""
    errors = [f"{count:,} × {code}" for code, count in case.step.connect_failures.items()]
    if errors:
        return counted(
            "1 connection attempt failed ({errors}).",
            "{number} connection attempts failed ({errors}).",
            failed,
            errors=Joined(errors),
        )
    return counted("1 connection attempt failed.", "{number} connection attempts failed.", failed)


def without_connection(case: Case) -> Iterator[Message]:
    """A sentence about the users that were left out, if there are any."""
    if missing := left_out(case):
        yield say(
            "{missing} of {users} users had no connection at the end.",
            missing=Count(missing),
            users=Count(case.users),
        )
