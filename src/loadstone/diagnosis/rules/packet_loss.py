"""Packets are lost in the network: a user whose answer is lost waits for a timer."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import WAY, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in

TIMER_S = 0.2
"""[S] Linux's shortest retransmission timeout (TCP_RTO_MIN): with one statement in flight there are
no later packets whose acknowledgement would show the loss sooner."""

SHARE = 0.3
"""[P] Share of the users' time that they wait for the timer."""

OFTEN = 0.001
"""[P] Retransmitted segments divided by those sent; a network with less is healthy."""


def judge(case: Case) -> Finding | None:
    """Little's law: losses per second times the timer are the users that wait for it."""
    share = case.needed(wait_share(case))
    again, sent, whose = _again(case) or (0.0, 0.0, plain(""))
    part = again / (sent or 1.0)
    if share < SHARE or part < OFTEN:
        return None
    return Finding(
        cause="packet-loss",
        group="wait",
        sentence=say(
            "The network loses packets: {host} retransmits {again} segments a second ({part} of "
            "all), and each time a user waits {timer} s or more, which is {share} of the users' "
            "time.",
            host=whose,
            again=Number(again),
            part=Percent(part),
            timer=Number(TIMER_S),
            share=Percent(share),
        ),
        evidence=(
            case.seen(plain("tcp.retransmits"), again, say_in("unit", "/s")),
            case.seen(say("retransmitted segments"), part, say("of all"), OFTEN),
        ),
        share=share,
        confidence=0.8,
        remedy=say(
            "Look for errors and drops of the interfaces on the path (ip -s link, ethtool -S), for "
            "a full queue, and for a duplex mismatch."
        ),
    )


def wait_share(case: Case) -> float | None:
    """Share of the users that wait for a retransmission."""
    found = _again(case)
    if found is None or not case.users:
        return None
    longest_ms = case.step.latency.response.max
    if longest_ms is not None and longest_ms < 1000 * TIMER_S:
        return 0.0  # the host's segments, and none of this load's: nobody waited so long
    return min(found[0] * TIMER_S / case.users, 1.0)


def _again(case: Case) -> tuple[float, float, Message] | None:
    """Segments per second that an end retransmitted, and all that it sent, for the end with more.

    Answers are retransmitted by the server's host, statements by the generator's.
    """
    ours = case.step.generator_host.rates if case.step.generator_host else {}
    sent, again = case.host_rate("tcp.segments_out"), case.host_rate("tcp.retransmits")
    ends = (
        (again, sent, say("the server's host")),
        (ours.get("tcp.retransmits"), ours.get("tcp.segments_out"), say("the generator's host")),
    )
    known = [(lost, all_sent or 0.0, whose) for lost, all_sent, whose in ends if lost is not None]
    return max(known, key=lambda end: end[0], default=None)


RULE = Rule("packet-loss", say("the network loses packets"), judge, holds=time_at(*WAY))
