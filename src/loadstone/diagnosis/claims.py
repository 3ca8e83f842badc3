"""How much of the users' time each cause holds: claims of a step's account that do not overlap."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_shared
from loadstone.diagnosis.holds import (
    CLIENT,
    CORES,
    NOTHING,
    PLACE_OF,
    SEEN_BY_THREADS,
    STARVED,
    STATION_OF,
    STATIONS,
    Holds,
    Slot,
)
from loadstone.diagnosis.locked_rows import Hold, hold_of, with_waits, with_waits_counted_elsewhere
from loadstone.diagnosis.users_time import starved
from loadstone.model.account import Account, Place
from loadstone.model.finding import Claim, Finding

Times = dict[Slot, float]
"""Shares of the users' time by place, the generator's in two parts."""

_CORES = STATIONS.index(CORES)

UNNAMED: Slot = "unnamed"
"""What no place of the account holds."""

ROWS: Place = "row lock"

_HIDING: tuple[Slot, ...] = (UNNAMED, "in the server")
"""Where a wait may be that the looks did not name."""


@dataclass(frozen=True)
class Held:
    """A finding, and the users' time that its cause holds."""

    finding: Finding
    holds: Holds = NOTHING
    times: Mapping[Slot, float] = field(default_factory=dict)
    said: float = 0.0
    """The share that its rule says: of a ceiling, its use."""
    busy: float = 1.0
    """The part of the users' time in which an event is due."""
    prolonged: float = 0.0
    """The part of its time in which users wait for rows that its cause keeps locked for longer."""
    level: int | None = None
    """The number of the step whose figures these are; `None`: there is one."""

    @property
    def share(self) -> float:
        """Share of the users' time; of what holds none, what its rule says."""
        return sum(self.times.values()) if self.holds.places else self.finding.share or 0.0

    @property
    def weight(self) -> float:
        """Share times confidence; an unknown share counts as a tenth."""
        if not self.holds.places or self.finding.share is None:
            return self.finding.weight
        return self.share * self.finding.confidence

    @property
    def share_when_due(self) -> float:
        """Its share of the time in which an event is due: what little there is may be all held."""
        return self.share / self.busy if self.busy else 0.0

    @property
    def station(self) -> int | None:
        """The index of the station at which most of its time is spent; `None`: it is about none."""
        by_station: dict[int, float] = {}
        for place, share in self.times.items():
            number = STATION_OF.get(place, _CORES)
            by_station[number] = by_station.get(number, 0.0) + share
        if not by_station and self.holds.places:
            return STATION_OF.get(self.holds.places[0], _CORES)
        return max(by_station, key=lambda number: by_station[number], default=None)

    @property
    def is_rest(self) -> bool:
        """Whether it holds what nothing more special does."""
        return self.holds.by == "rest"

    @property
    def is_rest_of_cores(self) -> bool:
        """Whether it says that the cores are used up by nothing more special than the load."""
        return self.is_rest and set(CORES) <= set(self.holds.places)

    @property
    def follows(self) -> tuple[Place, ...]:
        """Places whose time it holds only because of what it holds elsewhere."""
        return (ROWS,) if self.prolonged else ()

    def is_at(self, levels: Collection[int]) -> bool:
        """Whether it is of one of these steps."""
        return self.level is None or self.level in levels

    def of(self, finding: Finding) -> Held:
        """The same time of a changed finding."""
        return replace(self, finding=finding)


def claimed(found: Sequence[tuple[Finding, Holds]], case: Case) -> list[Held]:
    """The findings of a step with the time that each holds.

    Without an account (an earlier version's run, or nothing observed) the places are estimated from
    the findings themselves, and no finding claims any.
    """
    # Rules look at the first target, an account is of all.
    account = None if case.step.other_targets else case.step.account
    if account is None:
        times = _parted(_estimated(found), starved(case))
        return _shared_out([(one, _as_said(holds)) for one, holds in found], times)
    there = [(one, _in_view(holds, account, case)) for one, holds in found]
    held = _shared_out(there, _parted(_times(account), starved(case)), hold_of(case))
    busy = 1.0 - account.share_of("idle")
    return [replace(_with_claims(one), busy=busy) for one in _with_words(held)]


def _as_said(holds: Holds) -> Holds:
    """Where the places are estimated from the findings, a part of a place is the share itself."""
    is_part = holds.by == "part" and holds.places[0] not in CORES
    return replace(holds, by="time") if is_part else holds


def _in_view(holds: Holds, account: Account, case: Case) -> Holds:
    """Where its time is seen.

    Without a view of threads some waits are in one place with the work, and its share is all that
    tells them from it. Answers that a generator on another host has not read are on the way.
    """
    if account.view == "sessions" and not holds.parts and SEEN_BY_THREADS & set(holds.places):
        holds = replace(holds, is_timed=True)
    if set(CLIENT) <= set(holds.places) and not is_shared(case):
        holds = replace(holds, places=(*holds.places, "way"))
    return holds


def _times(account: Account) -> Times:
    times: Times = {entry.place: entry.share for entry in account.entries if entry.place != "idle"}
    return times | {UNNAMED: account.unnamed}


def _parted(times: Times, starved: float) -> Times:
    """With the generator's time in two parts: its own, and what it waits for a core."""
    parted = dict(times)
    for place, slot in STARVED.items():
        if place in times:
            parted[slot] = starved * times[place]
            parted[place] -= parted[slot]
    return parted


def _estimated(found: Iterable[tuple[Finding, Holds]]) -> Times:
    """Places by the findings about them: users that wait elsewhere are not at the cores."""
    times: Times = {}
    for finding, holds in sorted(found, key=lambda one: one[1].by == "rest"):
        first = next(iter(holds.places), None)
        if first and first not in CORES:
            share = finding.share or 0.0
            if holds.by == "rest":
                share -= sum(times.get(p, 0.0) for p in STATIONS[STATION_OF[first]])
            times[first] = max(times.get(first, 0.0), share)
    scale = max(sum(times.values()), 1.0)
    times = {place: share / scale for place, share in times.items()}
    return times | {CORES[1]: 1.0 - sum(times.values())}


def _shared_out(
    found: Sequence[tuple[Finding, Holds]], times: Times, hold: Hold | None = None
) -> list[Held]:
    """First who else has the cores, then what is counted, then the rest.

    Two that want the same share it as they want it. What keeps rows locked for longer has its part
    of the waits for them before the rest of these is divided.
    """
    outer = _fitted([_wanted(one, holds, times, outer=True) for one, holds in found], times)
    within = _left(times, outer)
    inner = _fitted([_wanted(one, holds, within, outer=False) for one, holds in found], within)
    left = _left(within, inner)
    hidden = _hidden(found, times, left)
    left |= _left(_of(left, _HIDING), [_spread(sum(hidden), _of(left, _HIDING))])
    fitted = [{**one, **other} for one, other in zip(outer, inner, strict=True)]
    own = [
        rest if holds.by == "rest" else part
        for (_, holds), part, rest in zip(found, fitted, _rests(found, left), strict=True)
    ]
    longer = _prolonged([holds for _, holds in found], own, times, hold)
    room = left.get(ROWS, 0.0)
    scale = min(1.0, room / sum(longer)) if sum(longer) else 0.0
    kept = 1 - scale * sum(longer) / room if room else 1.0
    return [
        Held(
            finding,
            holds,
            _with(_with_rows(of_it, holds, kept, scale * rows), holds, more),
            finding.share or 0.0,
            prolonged=scale * rows,
        )
        for (finding, holds), of_it, rows, more in zip(found, own, longer, hidden, strict=True)
    ]


def _rests(found: Sequence[tuple[Finding, Holds]], left: Times) -> list[Times]:
    """What is left, for those that hold all that nothing else does."""
    wanted = [
        {place: left[place] * finding.weight for place in holds.slots if place in left}
        if holds.by == "rest"
        else {}
        for finding, holds in found
    ]
    return _filled(wanted, left)


def _prolonged(
    found: Sequence[Holds], own: Sequence[Times], times: Times, hold: Hold | None
) -> list[float]:
    """The waits for rows that each causes by what it holds: of a place, its part of them."""
    if hold is None:
        return [0.0] * len(found)
    whole: Times = {}
    for slot, share in times.items():
        if slot in PLACE_OF:
            whole[PLACE_OF[slot]] = whole.get(PLACE_OF[slot], 0.0) + share
    return [
        sum(
            hold.due_to(PLACE_OF[slot]) * share / whole[PLACE_OF[slot]]
            for slot, share in taken.items()
            if slot in PLACE_OF and whole[PLACE_OF[slot]]
        )
        if holds.prolongs and ROWS not in holds.places
        else 0.0
        for holds, taken in zip(found, own, strict=True)
    ]


def _with_rows(times: Times, holds: Holds, kept: float, more: float) -> Times:
    """With its part of the waits for rows; the rest of them without that of the others."""
    if more:
        return {**times, ROWS: more}
    if holds.by == "rest" and ROWS in times:
        return {**times, ROWS: kept * times[ROWS]}
    return times


def _with_words(held: Sequence[Held]) -> list[Held]:
    """Findings that say which waits for rows they hold, or leave to others."""
    longer = [one for one in held if one.prolonged]
    if not longer:
        return list(held)
    causes = [one.finding.cause for one in longer]
    total = sum(one.prolonged for one in longer)
    return [
        one.of(with_waits(one.finding, one.prolonged))
        if one.prolonged
        else one.of(with_waits_counted_elsewhere(one.finding, total, causes))
        if one.is_rest and ROWS in one.holds.places
        else one
        for one in held
    ]


def _left(times: Times, taken: Sequence[Times]) -> Times:
    return {
        place: max(share - sum(one.get(place, 0.0) for one in taken), 0.0)
        for place, share in times.items()
    }


def _wanted(finding: Finding, holds: Holds, times: Times, *, outer: bool) -> Times:
    """What a finding's own share says, at most what its places hold."""
    if holds.outer != outer:
        return {}
    share = min(finding.share or 0.0, 1.0)
    if holds.by == "part":
        return {
            slot: min(holds.part_of(slot, share), 1.0) * times[slot]
            for slot in holds.slots
            if slot in times
        }
    if holds.by == "time":
        return _taken(share, holds, times)
    return {}


def _taken(share: float, holds: Holds, times: Times) -> Times:
    """So much time of its places, station by station, each by what its places hold."""
    taken: Times = {}
    for number in dict.fromkeys(STATION_OF.get(place, _CORES) for place in holds.slots):
        here = [p for p in holds.slots if STATION_OF.get(p, _CORES) == number and p in times]
        total = sum(times[place] for place in here)
        amount = min(share, total)
        if amount > 0:
            taken |= {place: amount * times[place] / total for place in here}
            share -= amount
    return taken


def _fitted(wanted: Sequence[Times], times: Times) -> list[Times]:
    """Scaled where more is wanted of a place than it holds."""
    total = {place: sum(one.get(place, 0.0) for one in wanted) for place in times}
    scale = {place: min(1.0, times[place] / each) if each else 1.0 for place, each in total.items()}
    return [
        {place: share * scale[place] for place, share in one.items() if share} for one in wanted
    ]


def _filled(weights: Sequence[Times], times: Times) -> list[Times]:
    """All that a place holds, divided by weight among those that want it."""
    total = {place: sum(one.get(place, 0.0) for one in weights) for place in times}
    return [
        {place: times[place] * each / total[place] for place, each in one.items() if total[place]}
        for one in weights
    ]


def _hidden(found: Sequence[tuple[Finding, Holds]], times: Times, left: Times) -> list[float]:
    """Measured waits that no entry has: of what is unnamed, or one place with the work."""
    missing = [
        max((one.share or 0.0) - sum(times.get(slot, 0.0) for slot in holds.slots), 0.0)
        if holds.is_timed
        else 0.0
        for one, holds in found
    ]
    room = sum(_of(left, _HIDING).values())
    scale = min(1.0, room / sum(missing)) if sum(missing) else 0.0
    return [scale * one for one in missing]


def _of(times: Times, slots: Sequence[Slot]) -> Times:
    return {slot: times[slot] for slot in slots if slot in times}


def _spread(share: float, times: Times) -> Times:
    total = sum(times.values())
    return {slot: share * each / total for slot, each in times.items()} if total else {}


def _with(times: Times, holds: Holds, more: float) -> Times:
    """With hidden time, which is named by the first place."""
    if not more:
        return times
    first = holds.places[0]
    return {**times, first: times.get(first, 0.0) + more}


def _with_claims(one: Held) -> Held:
    """The finding with its claims, and their sum as its share.

    One whose share is unknown has none, unless its parts of places are known.
    """
    is_known = one.finding.share is not None or one.holds.parts
    if not one.holds.places or not is_known:
        return one
    shares: dict[Place, float] = {}
    for slot, share in one.times.items():
        shares[PLACE_OF[slot]] = shares.get(PLACE_OF[slot], 0.0) + share
    claims = tuple(Claim(place=place, share=share) for place, share in shares.items() if share)
    return one.of(one.finding.model_copy(update={"claims": claims, "share": one.share}))
