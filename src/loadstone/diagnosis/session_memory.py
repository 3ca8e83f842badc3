"""The memory that sessions have for themselves, where each of them is a process."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.model.account import MemoryOf
from loadstone.model.figure import Bytes, Count, Number
from loadstone.model.finding import Evidence
from loadstone.model.message import Message, say, say_in


def of_users(case: Case) -> MemoryOf | None:
    """What the users' sessions have; `None`: they are no processes, or were not read."""
    case.reads.append(say("the memory of sessions"))
    account = case.step.account
    return account.memory.users if account and account.memory else None


def said(found: MemoryOf | None) -> Iterator[Message]:
    """A sentence: how much the users' sessions have together."""
    if found:
        yield say(
            "The processes of {sessions} sessions have {total} of memory for themselves, {each} "
            "each.",
            sessions=Number(found.sessions),
            total=Bytes(found.total),
            each=Bytes(found.each),
        )


def said_of_more(found: MemoryOf | None, missing: int) -> Iterator[Message]:
    """A sentence: how much more sessions would need that are like those that are there."""
    if found and missing:
        yield say(
            "Each session's process has {each} of memory for itself: {missing} more need {total}.",
            each=Bytes(found.each),
            missing=Count(missing),
            total=Bytes(missing * found.each),
        )


def evidence(case: Case, found: MemoryOf | None) -> Iterator[Evidence]:
    """What each session has."""
    if found:
        yield case.seen(say("memory of a session's process"), found.each, say_in("unit", "B"))
