"""Where a user's second goes, as a table: a row for each place, a column for each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.account import PLACE_NAMES, PLACES, Account, AccountEntry, Place
from loadstone.model.asked_rate import asked_per_second
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.language import Language
from loadstone.model.message import Message, say, user_count
from loadstone.model.result import StepResult
from loadstone.report.table import Column, Table

SMALLEST = 0.01
"""Places that hold less at every level are one row."""

PERCENT_OF_TIME = say("% of the users' time")
"""The unit of the shares."""

REST = say("other places")
"""The name of the sum of small places."""

UNNAMED = say("unnamed")
"""The name of what no place holds."""


class Row(NamedTuple):
    """The shares of a place, one for each step; `place` is `None` for sums and for the rest."""

    place: Place | None
    name: Message
    shares: tuple[float, ...]


def accounted(ladder: Sequence[Level]) -> list[StepResult]:
    """The middle step of each level that has an account."""
    steps = (middle_step(level.steps) for level in ladder)
    return [step for step in steps if step.account is not None]


def account_rows(accounts: Sequence[Account]) -> Iterator[Row]:
    """The places in their order, small ones summed, and at last what no place holds."""
    small = [0.0] * len(accounts)
    for place in PLACES:
        shares = tuple(account.share_of(place) for account in accounts)
        if max(shares) >= SMALLEST:
            yield Row(place, PLACE_NAMES[place], shares)
        else:
            small = [so_far + share for so_far, share in zip(small, shares, strict=True)]
    if max(small) >= SMALLEST / 2:
        yield Row(None, REST, tuple(small))
    yield Row(None, UNNAMED, tuple(account.unnamed for account in accounts))


def account_table(ladder: Sequence[Level], words: Language) -> Table | None:
    """Percent of the users' time; `None` if no level has an account."""
    steps = accounted(ladder)
    accounts = [step.account for step in steps if step.account is not None]
    if not accounts:
        return None
    head = Column(words(PERCENT_OF_TIME), is_text=True)
    levels = (Column(level_name(step, words), least=5) for step in steps)
    rows = tuple(
        (words(row.name), *(f"{100 * share:.1f}" for share in row.shares))
        for row in account_rows(accounts)
    )
    return Table((head, *levels), rows, words(say("Where a user's second goes")))


def account_notes(ladder: Sequence[Level]) -> Iterator[Message]:
    """How the table's figures are known."""
    accounts = [step.account for step in accounted(ladder) if step.account is not None]
    if not accounts:
        return
    entries = [one for each in accounts for one in each.entries]
    looking = Percent(max(each.looking or 0.0 for each in accounts))
    if any(one.known == "sampled" and one.high is None for one in entries):
        yield say(
            "Some places are known from too few looks, or too few of the threads, for an "
            "interval. The looks took up to {looking} of a core.",
            looking=looking,
        )
    else:
        yield say(
            "Time on a core, without one and in the generator is counted; the rest is sampled, to "
            "± {points} points or better (95 %). The looks took up to {looking} of a core.",
            points=Number(100 * max(map(_half_width, entries), default=0.0)),
            looking=looking,
        )
    yield from _whose_cores(accounts)
    yield from _whose_disks(accounts)
    yield from _whose_memory(accounts)
    beyond = max(each.beyond for each in accounts)
    if beyond >= SMALLEST:
        yield say(
            "The places were measured apart, and come to {beyond} more than all time.",
            beyond=Percent(beyond),
        )
    for why in dict.fromkeys(each.why for each in accounts if each.why):
        yield say("The server's time is divided by its list of sessions only: {why}.", why=why)


def _half_width(entry: AccountEntry) -> float:
    """The larger half of its interval: a bound of zero or one cuts the other one short."""
    if entry.low is None or entry.high is None:
        return 0.0
    return max(entry.high - entry.share, entry.share - entry.low)


def _whose_cores(accounts: Sequence[Account]) -> Iterator[Message]:
    """Whom the servers worked for, at the level where others had most of it."""
    known = [(each.cores, each.users) for each in accounts if each.cores]
    if not known:
        return
    cores, users = max(known, key=lambda one: one[0].others)
    if cores.own is None or cores.others < SMALLEST * (cores.users + cores.others + cores.own):
        return
    yield say(
        "With {users} the server used {mine} cores for them, {others} for other clients' sessions "
        "and {own} in its own threads.",
        users=user_count(users),
        mine=Number(cores.users),
        others=Number(cores.others),
        own=Number(cores.own),
    )


def _whose_disks(accounts: Sequence[Account]) -> Iterator[Message]:
    """Whom the servers read and wrote for, at the level where others had most of it."""
    known = [(each.disks, each.users) for each in accounts if each.disks]
    if not known:
        return
    disks, users = max(known, key=lambda one: one[0].others.both)
    own = disks.own
    if own is None or not disks.others.both:
        return
    if disks.others.both < SMALLEST * (disks.users.both + disks.others.both + own.both):
        return
    yield say(
        "With {users} the server read {user_read} and wrote {user_written} a second for them, "
        "{other_read} and {other_written} for other clients' sessions, and {own_read} and "
        "{own_written} in its own threads.",
        users=user_count(users),
        user_read=Bytes(disks.users.read),
        user_written=Bytes(disks.users.written),
        other_read=Bytes(disks.others.read),
        other_written=Bytes(disks.others.written),
        own_read=Bytes(own.read),
        own_written=Bytes(own.written),
    )


def _whose_memory(accounts: Sequence[Account]) -> Iterator[Message]:
    """What sessions have for themselves, at the level where that is most."""
    known = [(each.memory, each.users) for each in accounts if each.memory]
    if not known:
        return
    memory, users = max(known, key=lambda one: one[0].users.total)
    yield say(
        "With {users} each session's process had {each} of memory for itself, {tables} of which "
        "are page tables; all {sessions} together had {total}.",
        users=user_count(users),
        each=Bytes(memory.users.each),
        tables=Bytes(memory.users.page_tables),
        sessions=Number(memory.users.sessions),
        total=Bytes(memory.users.total),
    )


def level_name(step: StepResult, words: Language) -> str:
    """The level of a step: its users, or its rate in an open loop."""
    if step.rate is not None:
        return words(asked_per_second(step.rate))
    return f"{step.concurrency:,}"
