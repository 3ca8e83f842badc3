"""For how long transactions lock rows, and what makes others wait for these rows.

A transaction keeps its rows from its first write until its commit is over. Whatever takes time in
between keeps them locked, so that who waits for a row waits for the place where its holder is. How
much of the holders' time each place has follows from the step's account and from the generator's
clock, which times reads, writes and commits apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from loadstone.analyse.queues import holding
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import COMMIT, SERVER
from loadstone.model.account import Account, Place
from loadstone.model.figure import Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, say, sentences
from loadstone.model.result import FLIGHT, LatencyMs

_TRIPS: tuple[Place, ...] = ("way", "answer unread", "sending")
"""Places outside the server that each statement passes, and that its time contains."""

_OUTSIDE: tuple[Place, ...] = (*_TRIPS, "generator")

_SHOWN = 0.005
"""Less of the users' time would be shown as 0 %."""


@dataclass(frozen=True)
class Hold:
    """Where transactions are while they have rows locked, and the waits for these rows."""

    places: Mapping[Place, float]
    """Share of the users' time by place."""
    waits: float
    """Share of the users' time in which they wait for rows that the load itself has locked."""

    def due_to(self, *places: Place) -> float:
        """The share of the users' time in which they wait for rows while holders are there."""
        total = sum(self.places.values())
        there = sum(self.places.get(place, 0.0) for place in places)
        return self.waits * there / total if total else 0.0


def due_to(case: Case, *places: Place) -> float:
    """The same of a step; zero where it is not known."""
    hold = hold_of(case)
    return hold.due_to(*places) if hold else 0.0


def hold_of(case: Case) -> Hold | None:
    """The time for which a step's transactions lock rows; `None`: not known.

    Reads are taken to come before the first write, which makes the time as short as it can be; but
    if only reads take long enough to contain the waits for rows, reads lock rows as well.
    """
    account, step = case.step.account, case.step
    if account is None or step.other_targets or not step.tps or not step.seconds:
        return None
    if FLIGHT in step.statements:
        return None  # the times of statements that are sent at once overlap
    timed = _timed(account, step.statements, step.seconds)
    if timed is None or not timed["write"].count:
        return None
    places = _places(account, timed, _commits(case))
    return Hold(places, account.share_of("row lock") * _own_part(account, places, step.tps))


@dataclass(frozen=True)
class _Class:
    """The statements of a class."""

    count: int
    share: float
    """Share of the users' time in the server for them."""


def _timed(
    account: Account, statements: Mapping[str, LatencyMs], seconds: float
) -> Mapping[str, _Class] | None:
    """Reads, writes and others, without their way; `None` if one of them was not timed."""
    names = ("read", "write", "other")
    total = sum(statements[name].count for name in names if name in statements)
    if not total:
        return None
    trip = account.share_of(*_TRIPS) / total
    found = {}
    for name in names:
        spread = statements.get(name)
        count = spread.count if spread else 0
        if spread is None or not count:
            found[name] = _Class(0, 0.0)
            continue
        if spread.mean is None:
            return None
        share = spread.mean / 1000 * count / seconds / account.users
        found[name] = _Class(count, max(share - trip * count, 0.0))
    return found


def _commits(case: Case) -> float:
    """Commits in the window that ended a transaction with changes."""
    by_server = case.commits()
    return by_server * case.step.seconds if by_server is not None else case.step.events


def _places(account: Account, timed: Mapping[str, _Class], commits: float) -> Mapping[Place, float]:
    """Where transactions are while they have rows locked: share of the users' time by place."""
    read, write, other = timed["read"], timed["write"], timed["other"]
    waits, in_commit = account.share_of("row lock"), account.share_of(*COMMIT)
    reads_lock = read.share > write.share and waits > write.share
    # A commit is a statement of its own, or the end of a write.
    ends = min(float(other.count), commits)
    apart = ends / commits if commits else 0.0
    writes = max(write.share - (0.0 if reads_lock else waits) - (1 - apart) * in_commit, 0.0)
    others = max(other.share - apart * in_commit, 0.0)
    reads = max(read.share - (waits if reads_lock else 0.0), 0.0)
    locking = writes + (others * ends / other.count if other.count else 0.0)
    locking += reads if reads_lock else 0.0
    everything = writes + others + reads
    work = locking / everything if everything else 1.0
    count = write.count + ends + (read.count if reads_lock else 0)
    trips = count / (read.count + write.count + other.count)
    inside = [place for place in SERVER if place not in ("row lock", "sending", *COMMIT)]
    return {
        **{place: account.share_of(place) for place in COMMIT},
        **{place: trips * account.share_of(place) for place in _OUTSIDE},
        **{place: work * account.share_of(place) for place in inside},
    }


def _own_part(account: Account, places: Mapping[Place, float], tps: float) -> float:
    """The part of the waits for rows that the load's own transactions explain.

    Rows that somebody else has locked are waited for as well. The rate and the waits say for how
    long the rows are locked at least, if all wait for the same one; the part is that of the time
    for which the load's own transactions have theirs.
    """
    users, waits = account.users, account.share_of("row lock")
    if users < 2 or not waits:
        return 0.0
    needed = tps * holding(waits * users / tps, users, tps)
    own = users * sum(places.values())
    return min(own / needed, 1.0) if needed else 0.0


def with_waits(finding: Finding, share: float) -> Finding:
    """The finding of what keeps rows locked, with the waits that it causes in its sentence."""
    if share < _SHOWN:
        return finding
    said = say(
        "Transactions keep their rows locked in the meantime: users wait for rows for {share} of "
        "their time because of that.",
        share=Percent(share),
    )
    return finding.model_copy(update={"sentence": sentences(finding.sentence, said)})


def with_waits_counted_elsewhere(
    finding: Finding, share: float, causes: Collection[str]
) -> Finding:
    """The finding of locked rows, with the part of the waits that others have in its sentence."""
    if share < _SHOWN:
        return finding
    said = say(
        "Of these waits, {share} of the users' time counts with what keeps the rows locked for "
        "longer: {causes}.",
        share=Percent(share),
        causes=Joined(causes),
    )
    return finding.model_copy(update={"sentence": sentences(finding.sentence, said)})
