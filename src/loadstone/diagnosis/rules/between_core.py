"""The first thread of a pooler or proxy never rests: it takes no more from clients than a core can.

PgBouncer and many relays serve all clients in one thread. The kernel counts how long it runs, and
how long it is ready to run without a core; the rest of the time it has nothing to do.

Source: https://www.pgbouncer.org/config.html#so_reuseport
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, busy_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.model.account import Place
from loadstone.model.figure import Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say
from loadstone.model.observed import BETWEEN_DELAY, BETWEEN_RUN

SHARE = 0.1
"""[P] Share of the users' time."""

NEVER_RESTS = 0.9
"""[P] Part of the time, as of cores that are used up: means over a second hide peaks."""

_WAITS: tuple[Place, ...] = ("admission", "way")
"""Who waits for that thread has sent a statement that it has not read, or waits for an
answer that the server has given: it is on its way. Connections that it does not come to give back
are missing to those who wait for one."""

_SEEN = "pgbouncer.sv_active"


def judge(case: Case) -> Finding | None:
    """The thread never rests, and the cores of its host are not used up by others."""
    if not never_rests(case):
        return None
    share, busy = case.needed(case.time_at(*_WAITS)), case.needed(busy_share(case))
    if share < SHARE or busy > FULL:
        return None
    runs, waits = case.host_rate(BETWEEN_RUN) or 0.0, case.host_rate(BETWEEN_DELAY) or 0.0
    return Finding(
        cause="pooler-core-full",
        group="ceiling",
        sentence=say(
            "The thread of the pooler or proxy before the server never rests: it runs {runs} of "
            "the time and waits for a core {waits} of it, while {idle} of the cores are idle. "
            "Users spend {share} of their time before it and on the way through it.",
            runs=Percent(runs),
            waits=Percent(waits),
            idle=Percent(1 - busy),
            share=Percent(share),
        ),
        evidence=(
            case.seen(say("the thread in between"), runs + waits, say("of its time"), NEVER_RESTS),
            case.seen(plain(BETWEEN_RUN), runs, say("of a core")),
            case.seen(say("CPU busy"), busy, say("of the cores"), FULL),
        ),
        share=share,
        confidence=0.85,
        remedy=say(
            "Give it more threads or processes (PgBouncer: several on the same port with "
            "so_reuseport=1, with peers so that each finds the others' clients), or the cores that "
            "a limit takes from it."
        ),
        acts_on="hottest core",
    )


def never_rests(case: Case) -> bool:
    """Whether the pooler's thread is known to be at work, or to wait for a core, all the time.

    Raises:
        Missing: there is a pooler, and nobody reads its host.
    """
    if case.mean(_SEEN) is None:
        return is_seen_at_its_limit(case)
    case.needed(case.host_rate(BETWEEN_RUN))
    return is_seen_at_its_limit(case)


def is_seen_at_its_limit(case: Case) -> bool:
    """The same, as far as somebody reads its host."""
    runs, waits = case.host_rate(BETWEEN_RUN), case.host_rate(BETWEEN_DELAY)
    return runs is not None and runs + (waits or 0.0) >= NEVER_RESTS


RULE = Rule(
    "pooler-core-full",
    say("the thread of a pooler or proxy is at its limit"),
    judge,
    holds=rest_of(*_WAITS),
)
"""Where it is named, no other cause holds the wait before it: see `line_full`, `pooler_small`."""
