"""The slow seconds of a ladder's levels, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level
from loadstone.model.account import PLACE_NAMES, CounterGain, PlaceGain, SlowSeconds
from loadstone.model.figure import Count, Number, Percent, Rate
from loadstone.model.message import Joined, Message, counted, say, sentences, user_count
from loadstone.model.result import StepResult
from loadstone.report.account import SMALLEST, accounted

_MOST_LEVELS = 2
"""Levels that are described; those that lost less are counted."""

_MOST_PLACES = 3
_MOST_SPANS = 3


def slow_notes(ladder: Sequence[Level]) -> Iterator[Message]:
    """A paragraph for each of the levels that lost most to slow seconds."""
    found = [
        (step, step.account.slow)
        for step in accounted(ladder)
        if step.account and step.account.slow
    ]
    found.sort(key=lambda one: -one[1].lost)
    for step, slow in found[:_MOST_LEVELS]:
        yield sentences(_which(step, slow), *_where(slow))
    if left := len(found[_MOST_LEVELS:]):
        yield counted(
            "1 more level has slow seconds, which cost less.",
            "{number} more levels have slow seconds, which cost less.",
            left,
        )


def _which(step: StepResult, slow: SlowSeconds) -> Message:
    cost = say("which cost {lost} of the rate", lost=Percent(slow.lost))
    if step.rate is not None:
        cost = say("which delayed {lost} of the events", lost=Percent(slow.lost))
    return counted(
        "With {level}, 1 of {all} seconds was slow ({which}: {rate}/s against {others}/s), {cost}.",
        "With {level}, {number} of {all} seconds were slow ({which}: {rate}/s against {others}/s), "
        "{cost}.",
        slow.count,
        level=_level(step),
        all=Count(slow.of),
        which=_spans(slow),
        rate=Rate(slow.tps),
        others=Rate(slow.tps_others),
        cost=cost,
    )


def _level(step: StepResult) -> Message:
    users = user_count(step.concurrency)
    if step.rate is None:
        return users
    return say("{users} and {rate} events/s due", users=users, rate=Number(step.rate.highest))


def _spans(slow: SlowSeconds) -> Message:
    """`seconds 12 to 14, 40`: a second has the number of its end, as in the figures."""
    shown: list[Message | Count] = [
        _span(round(begin) + 1, round(end)) for begin, end in slow.spans[:_MOST_SPANS]
    ]
    if left := len(slow.spans[_MOST_SPANS:]):
        shown.append(counted("1 more time", "{number} more times", left))
    spans = Joined(shown)
    if slow.count == 1:
        return say("second {which}", which=spans)
    return say("seconds {which}", which=spans)


def _span(first: int, last: int) -> Message | Count:
    if first >= last:
        return Count(last)
    return say("{first} to {last}", first=Count(first), last=Count(last))


def _where(slow: SlowSeconds) -> Iterator[Message]:
    """What the users waited for in them, and what else differed."""
    if not slow.places:
        yield say(
            "The server was hardly looked at in them, so that it is unknown where the users' time "
            "went."
        )
    gains = [one for one in slow.places if _is_known(one)][:_MOST_PLACES]
    if gains:
        yield say("There the users' time went to {places}.", places=Joined(map(_place, gains)))
    elif slow.places:
        yield say("No place held more of the users' time in them, as far as the looks can say.")
    if any(one.known == "sampled" and one.low is None for one in gains):
        yield counted(
            "That rests on 1 look, too few for an interval.",
            "That rests on {number} looks, too few for an interval.",
            round(slow.looks),
        )
    if slow.counters:
        yield say(
            "Figures that differed most: {counters}.", counters=Joined(map(_counter, slow.counters))
        )


def _is_known(one: PlaceGain) -> bool:
    """Whether chance does not explain what the place gains, and it is worth a word."""
    return one.gain >= SMALLEST and (one.low is None or one.low > 0)


def _place(one: PlaceGain) -> Message:
    return say(
        "{place} {share} ({others} otherwise)",
        place=PLACE_NAMES[one.place],
        share=Percent(one.slow),
        others=Percent(one.others),
    )


def _counter(one: CounterGain) -> Message:
    values = {"counter": one.counter, "slow": Number(one.slow), "others": Number(one.others)}
    if one.is_rate:
        return say("{counter} {slow}/s ({others}/s otherwise)", **values)
    return say("{counter} {slow} ({others} otherwise)", **values)
