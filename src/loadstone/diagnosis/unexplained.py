"""What is said where no rule explains the result: the largest wait that has no name yet."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import outside, state_share
from loadstone.model.finding import Evidence, Finding
from loadstone.model.numbers import num, pct

NOT_OBSERVED = "not-observed"
"""The cause that stands where too little was seen to name one."""

STALLED = 0.2
"""[P] share of the users' time in the slowest hundredth or thousandth of the events. Of times that
are spread exponentially the slowest hundredth takes 5.6 %."""

TIMES_MEDIAN = 10.0
"""[P] and those take so many times the median at the least."""

_AT_WORK = ("executing", "sending data", "execute", "query", "updating", "update", "init")
"""States of connections that work rather than wait."""

_NAMED = ("commit", "writing to net", "sending to client")
"""Waits that have a rule of their own, whatever it said of them."""


_Wait = tuple[float, str, Evidence]
"""Share of the users' time, its words, its figure."""


def unexplained(case: Case) -> Finding:
    """The largest of: a state of the connections, performance_schema's waits, the way.

    Where the host was not seen it is not known what is used up, and that is what is said.
    """
    if case.step.host is None:
        return _unseen(case)
    found = sorted(_waits(case), key=lambda wait: -wait[0])
    largest = _stalls(case) or (found[0] if found else None)
    said = f" The largest wait is {largest[1]}." if largest else " No wait was seen at all."
    said = f"{_nearest(case)}{said}"
    return Finding(
        cause="unexplained",
        group="note",
        sentence=f"Unexplained: no resource is used up and no known cause fits.{said}",
        evidence=(largest[2],) if largest else (),
        share=largest[0] if largest else None,
        confidence=0.5,
        remedy=(
            "performance_schema=ON with its wait instruments names more; so does a ladder of "
            "users, and loadstone probe and calibrate for the limits of disk and generator."
        ),
    )


def nameless_wait(case: Case) -> float:
    """Share of the users' time in the largest wait that no rule has a name for; nought: unseen."""
    states = case.states() or {}
    named = [
        min(value / case.users, 1.0)
        for state, value in states.items()
        if state not in _AT_WORK and not any(name in state for name in _NAMED)
    ]
    return max([*named, blocked_inside(case) or 0.0], default=0.0)


def stalled(case: Case) -> bool:
    """Whether much of the users' time goes to few events that take far longer than the others."""
    return _stalls(case) is not None


def _stalls(case: Case) -> _Wait | None:
    """At least: (1 - q) of the events take as long as the quantile q, or longer."""
    spread = case.step.latency.service
    if not spread.mean or not spread.p50:
        return None
    of_tail = ((0.01, "p99", spread.p99), (0.001, "p99.9", spread.p999))
    known = [
        (part * slow / spread.mean, part, name, slow)
        for part, name, slow in of_tail
        if slow is not None and slow >= TIMES_MEDIAN * spread.p50
    ]
    share, part, name, slow = max(known, default=(0.0, 0.0, "", 0.0))
    if share < STALLED:
        return None
    return (
        share,
        f"stalls: the slowest {pct(part)} of the events take at least {pct(share)} of the users' "
        f"time ({name} {num(slow)} ms, median {num(spread.p50)} ms)",
        case.seen("users' time in the slowest events", share, "of their time", STALLED),
    )


def blocked_inside(case: Case) -> float | None:
    """Share of the users whose statement is carried out and neither runs nor is ready to run.

    Those that wait for a row or for the disk are counted elsewhere.
    """
    at_work = state_share(case, *_AT_WORK)
    runnable = case.host("run_queue")
    if at_work is None or runnable is None:
        return None
    rows, disk = case.mean("row_lock_current_waits"), case.host("disk_queue")
    elsewhere = runnable + (rows or 0.0) + (disk or 0.0)
    return min(max(at_work - elsewhere / case.users, 0.0), 1.0)


def _nearest(case: Case) -> str:
    """The resource that is used most, of those whose limit is known."""
    found = case.ceilings.get(case.step.step)
    used = [
        one
        for one in (found.ceilings if found else ())
        if one.used is not None and one.resource != "concurrency"
    ]
    if not used:
        return ""
    most = max(used, key=lambda one: one.used or 0.0)
    return f" Of what is known {most.resource} is used most, to {pct(most.used or 0.0)}."


def _unseen(case: Case) -> Finding:
    what = "the server's host was" if case.step.server else "neither server nor host was"
    seen = "not observed" if case.step.server else "observed"
    return Finding(
        cause=NOT_OBSERVED,
        group="note",
        sentence=f"Not evaluated: {what} {seen}.",
        evidence=(),
        share=None,
        confidence=1.0,
        remedy=(
            "Run without --no-observe; for a host that is not this machine give --host-ssh or "
            "--node-exporter (docs/observing.md)."
        ),
    )


def _waits(case: Case) -> Iterator[_Wait]:
    for state, value in (case.states() or {}).items():
        if state not in _AT_WORK:
            share = min(value / case.users, 1.0)
            yield (
                share,
                f'the state "{state}", {pct(share)} of the users\' time',
                case.seen(f"state.{state}", value, "connections"),
            )
    spots = case.step.hot_spots.waits if case.step.hot_spots else ()
    time_s = case.step.window.to_s * case.users if case.step.window else 0.0
    for spot in spots[:1]:
        share = min(spot.time_s / time_s, 1.0) if time_s else 0.0
        yield (
            share,
            f"{spot.event}, {num(spot.time_s)} s in all",
            case.seen(spot.event, spot.time_s, "s"),
        )
    blocked = blocked_inside(case)
    if blocked:
        yield (
            blocked,
            "inside statements that wait for something without a name, "
            f"{pct(blocked)} of the users' time",
            case.seen("users blocked in statements", blocked, "of their time"),
        )
    away = outside(case)
    if away is not None:
        yield (
            away,
            f"outside the server, {pct(away)} of the users' time",
            case.seen("users outside the server", away, "of their time"),
        )
