"""Packets are lost on the way: a user whose answer is lost waits for a timer."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

TIMER_S = 0.2
"""[S] Linux's least retransmission timeout (TCP_RTO_MIN): with one statement on its way there are
no later packets whose acknowledgement would tell of the loss sooner."""

SHARE = 0.3
"""[P] of the users' time that they wait for it."""

OFTEN = 0.001
"""[P] segments sent again by those sent: below it a network is healthy."""


def judge(case: Case) -> Finding | None:
    """By Little's law: losses by second times the timer are the users that wait for it."""
    share = case.needed(wait_share(case))
    again, sent, whose = _again(case) or (0.0, 0.0, "")
    part = again / (sent or 1.0)
    if share < SHARE or part < OFTEN:
        return None
    return Finding(
        cause="packet-loss",
        group="wait",
        sentence=(
            f"The network loses packets: {whose} sends {num(again)} segments a second "
            f"again ({pct(part)} of all), and each time a user waits {num(TIMER_S)} s or more, "
            f"which is {pct(share)} of the users' time."
        ),
        evidence=(
            case.seen("tcp.retransmits", again, "/s"),
            case.seen("segments sent again", part, "of all", OFTEN),
        ),
        share=share,
        confidence=0.8,
        remedy=(
            "Look for errors and drops of the interfaces on the way (ip -s link, ethtool -S), for "
            "a full queue, and for a duplex mismatch."
        ),
    )


def wait_share(case: Case) -> float | None:
    """Share of the users that wait for a lost packet to be sent again."""
    found = _again(case)
    if found is None or not case.users:
        return None
    longest_ms = case.step.latency.response.max
    if longest_ms is not None and longest_ms < 1000 * TIMER_S:
        return 0.0  # the host's segments, and none of this load's: nobody waited so long
    return min(found[0] * TIMER_S / case.users, 1.0)


def _again(case: Case) -> tuple[float, float, str] | None:
    """Segments that an end sent again and all that it sent, by second: of the end with more.

    Answers are sent again by the server's host, statements by the generator's.
    """
    ours = case.step.generator_host.rates if case.step.generator_host else {}
    sent, again = case.host_rate("tcp.segments_out"), case.host_rate("tcp.retransmits")
    ends = (
        (again, sent, "the server's host"),
        (ours.get("tcp.retransmits"), ours.get("tcp.segments_out"), "the generator's host"),
    )
    known = [(lost, all_sent or 0.0, whose) for lost, all_sent, whose in ends if lost is not None]
    return max(known, key=lambda end: end[0], default=None)


RULE = Rule("packet-loss", say("packets are lost on the way"), judge)
