"""The outcome of the gates: a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from loadstone.analyse.effects import says_nothing
from loadstone.analyse.gates import Check
from loadstone.analyse.metrics import Metric
from loadstone.model.figure import Change, Figure, Percent, Rate, Short
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, counted, say
from loadstone.report.names import GATE_STATES


def value_of(metric: Metric, value: float, words: Language = ENGLISH) -> str:
    """A figure with its unit."""
    return words.value(figure_of(metric, value))


def figure_of(metric: Metric, value: float) -> Message | Figure:
    """The same as a part of a message."""
    match metric.kind:
        case "time":
            return say("{value} ms", value=Rate(value))
        case "share":
            return Percent(value)
        case "rate":
            return say("{value}/s", value=Rate(value))
        case "bytes":
            return say("{value} bytes", value=Rate(value))
        case "count":
            return Rate(value)


def sentence(check: Check, words: Language = ENGLISH) -> str:
    """`p99<20ms failed: p99 31.2 ms at oltp_read_write, 64 users`."""
    fields = {"gate": check.gate, "state": GATE_STATES[check.state], "where": check.where}
    said = say("{gate} {state}: {where}", **fields)
    if check.value is not None:
        value = _value(check, check.value)
        said = say("{gate} {state}: {value} at {where}", value=value, **fields)
    return words(say("{said} ({why})", said=said, why=check.why) if check.why else said)


def _value(check: Check, value: float) -> Message:
    name = check.metric.name
    if not check.is_change:
        return say("{metric} {value}", metric=name, value=figure_of(check.metric, value))
    if check.interval is None:
        return say("{metric} {value}", metric=name, value=Change(value))
    if says_nothing(check.interval):
        return say(
            "{metric} {value} (no usable interval: neither half nor twice is excluded)",
            metric=name,
            value=Change(value),
        )
    return say(
        "{metric} {value} ({confidence} %: {low} to {high})",
        metric=name,
        value=Change(value),
        confidence=Short(100 * check.interval.confidence),
        low=Change(check.interval.low),
        high=Change(check.interval.high),
    )


def lines(checks: Sequence[Check], words: Language = ENGLISH) -> Iterator[str]:
    """One line for each gate that held and one for each other outcome; failures go to stderr."""
    for gate in dict.fromkeys(check.gate for check in checks):
        mine = [check for check in checks if check.gate == gate]
        held = [check for check in mine if check.state == "held"]
        if held:
            levels = _levels(len(held), len(mine))
            yield words(say("gate  {gate} held at {levels}", gate=gate, levels=levels))
        yield from _open(gate, mine, words)


def _open(gate: str, checks: Sequence[Check], words: Language) -> Iterator[str]:
    """A line for each undecided level; levels without a figure and with one reason share one."""
    opened = [check for check in checks if check.state == "not decided"]
    shared = Counter(check.why for check in opened if check.value is None)
    for each in opened:
        if each.value is not None or shared[each.why] == 1:
            yield words(say("gate  {said}", said=sentence(each, words)))
    for why, number in shared.items():
        if number > 1:
            levels = _levels(number, len(checks))
            fields = {"gate": gate, "levels": levels, "why": why}
            yield words(say("gate  {gate} not decided at {levels} ({why})", **fields))


def _levels(some: int, every: int) -> Message:
    whole = counted("1 level", "{number} levels", every)
    return whole if some == every else say("{part} of {whole}", part=some, whole=whole)
