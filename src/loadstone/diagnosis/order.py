"""The order of findings: by the users' time at each station, and causes before their symptoms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loadstone.diagnosis.claims import Held
from loadstone.diagnosis.holds import CORES
from loadstone.model.finding import Finding

EXPLAINS: dict[str, tuple[str, ...]] = {
    # A change that has to search for its rows locks each one that it reads.
    "missing-index": ("row-locks", "deadlocks"),
    "generic-plans": ("row-locks", "deadlocks"),
    # Others that use the disk fill its queue.
    "disk-neighbour": ("disk-cap",),
    # The log is full of changes whose pages nobody flushed in time.
    "io-capacity-low": ("redo-log-small",),
    # The session that holds the table also holds the rows that were locked before.
    "table-locks": ("row-locks",),
    # Who reopens a table waits for those that still use it.
    "tables-flushed": ("table-locks",),
    # A thread that waits to enter InnoDB counts as running.
    "thread-concurrency-low": ("no-thread-pool",),
    # A group of threads runs one statement at a time.
    "thread-pool-small": ("one-hot-core",),
}
"""By cause: its symptoms at other stations, which are causes of their own."""

FILLED_BY: dict[str, tuple[str, ...]] = {
    # Users that wait for a table do not wait for the log: what holds the table (DDL that copies)
    # fills it.
    "table-locks": ("redo-log-small", "io-capacity-low"),
}
"""By a wait of most users: limits that somebody else has reached in the meantime."""

LEAST = 0.1
"""[P] Share from which a cause comes before its symptoms, and before the rest of its station."""

SMALL = 0.03
"""[P] Weight below which a setting or a wait is a note: nobody would notice the difference."""

FIRM = 0.85
"""[P] Use of a ceiling that leaves little for others to explain."""

NAMED = 0.6
"""[P] Confidence that such a ceiling needs."""

BRINGS = 0.1
"""[P] Part of its rate that a load is predicted to gain by a remedy, from which the cause comes
before cores that are used up, and is no note next to them."""

MOST = 0.5
"""[P] Share of the users' time from which a wait is the answer even as a note, and the limits that
others have reached are not."""

ANSWERS = ("few-users", "rate-met")
"""Notes that explain the result if nothing else does."""

WAITS_NOTED = ("commit-flush", "semi-sync-wait")
"""Notes that explain more than that, if users spend most of their time so."""

GENERATOR = "client-bound"


def in_order(found: Sequence[Held]) -> list[Finding]:
    """The most important first.

    Stations (cores, commits, a row) come by the users' time that is spent there. Of a station,
    causes that can be put right come before the rest, which only more capacity would shorten. So
    do causes elsewhere, if the rate is predicted to be much higher without them: the time for which
    users wait for a core grows with their number alone.
    """
    ordered = list(_by_station([one for one in found if not _is_note(one)]))
    causes = [one.finding for one in _causes_first(_cores_last(ordered))]
    notes = sorted((one for one in found if _is_note(one)), key=_place_of_note)
    return [*causes, *(one.finding for one in notes)]


def _is_note(one: Held) -> bool:
    return one.finding.group == "note" or one.finding.is_refuted


def _place_of_note(one: Held) -> tuple[int, float]:
    if one.finding.is_refuted:
        place = 3
    elif says_where_users_are(one.finding):
        place = 0
    else:
        place = 1 if one.finding.cause in ANSWERS else 2
    return place, -one.weight


def says_where_users_are(finding: Finding) -> bool:
    """Whether a note names the wait in which the users spend most of their time."""
    return finding.cause in WAITS_NOTED and (finding.share or 0.0) >= MOST


def _by_station(found: Sequence[Held]) -> Iterator[Held]:
    groups = _groups(found)
    for group in sorted(groups, key=lambda group: -_weight(group)):
        total = sum(one.share for one in group)

        def place(one: Held, total: float = total) -> tuple[bool, float]:
            leads = one.holds.leads and not one.is_rest and one.share >= LEAST * total
            return not leads, -one.weight

        yield from sorted(group, key=place)


def _cores_last(ordered: list[Held]) -> list[Held]:
    """What brings much before the first finding that says that the cores are used up."""
    full = next((at for at, one in enumerate(ordered) if one.is_rest_of_cores), None)
    if full is None:
        return ordered
    before, after = ordered[:full], ordered[full:]
    # What was found at other levels may cost nothing where the cores are used up.
    levels = ordered[full].finding.steps
    first = [one for one in after if brings_much(one.finding) and one.is_at(levels)]
    return [*before, *first, *(one for one in after if one not in first)]


def brings_much(finding: Finding) -> bool:
    """Whether its remedy brings much, and certainly something: as measured, or else predicted."""
    trial, proof, foretold = finding.trial, finding.proof, finding.foretold
    if trial and (trial.kind == "users" or trial.settings[0].name == "shards"):
        return False  # more of what drives the server is no remedy of it
    if proof is not None and proof.change is not None:
        return proof.change >= BRINGS and (proof.change_low or 0.0) > 0
    if foretold is None or not foretold.now:
        return False
    return foretold.tps >= (1 + BRINGS) * foretold.now and foretold.low > foretold.now


def _groups(found: Iterable[Held]) -> list[list[Held]]:
    """By station; what holds no time of the users is by itself."""
    by_station: dict[int, list[Held]] = {}
    alone: list[list[Held]] = []
    for one in found:
        if one.station is None:
            alone.append([one])
        else:
            by_station.setdefault(one.station, []).append(one)
    return [*by_station.values(), *alone]


def _weight(group: Iterable[Held]) -> float:
    return sum(one.weight for one in group)


def _causes_first(ordered: list[Held]) -> list[Held]:
    for cause in [one for one in ordered if one.share_when_due >= LEAST]:
        name = cause.finding.cause
        symptoms = EXPLAINS.get(name, ())
        if cause.share_when_due >= MOST:
            symptoms += FILLED_BY.get(name, ())
        first = next((at for at, one in enumerate(ordered) if one.finding.cause in symptoms), None)
        if first is not None and first < ordered.index(cause):
            ordered.remove(cause)
            ordered.insert(first, cause)
    return ordered


def noted(found: Sequence[Held]) -> list[Held]:
    """Turn small settings and waits into notes, and what is less than a resource that is used up.

    Users that wait for a core are seen in the middle of any activity.
    """
    firm = [one for one in found if one.finding.group == "ceiling" and _is_firm(one)]
    totals = {
        one.station: sum(other.share for other in found if other.station == one.station)
        for one in firm
    }
    levels = {level for one in firm for level in one.finding.steps}

    def is_lesser(one: Held) -> bool:
        return _is_lesser(one, totals) and not (brings_much(one.finding) and one.is_at(levels))

    return [
        one.of(one.finding.model_copy(update={"group": "note"}))
        if _is_small(one) or is_lesser(one)
        else one
        for one in found
    ]


def _is_firm(ceiling: Held) -> bool:
    """Whether it explains nearly all: a doubtful ceiling does not reduce others to notes."""
    return ceiling.said >= FIRM and ceiling.finding.confidence >= NAMED


def _is_small(one: Held) -> bool:
    """Whether nobody would notice the difference.

    Cores that are used up are a fact, whatever holds the wait for them.
    """
    known = one.finding.share is not None
    is_ceiling = one.finding.group == "ceiling" and not {*one.holds.places} & {*CORES}
    return (_may_be_noted(one) or is_ceiling) and known and one.weight < SMALL * one.busy


def _is_lesser(one: Held, totals: dict[int | None, float]) -> bool:
    """Whether it holds less than a resource that is used up."""
    if not _may_be_noted(one) or not totals:
        return False
    if one.station in totals:
        return one.share < LEAST * totals[one.station]
    return one.share < max(totals.values())


def _may_be_noted(one: Held) -> bool:
    return one.finding.group in ("wait", "setting")
