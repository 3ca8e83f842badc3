"""The finding if no rule explains the result: the largest wait that has no name yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import outside, state_share
from loadstone.diagnosis.holds import PAGE_READS
from loadstone.model.account import PLACE_NAMES, Place
from loadstone.model.ceilings import RESOURCES
from loadstone.model.error_codes import MYSQL
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

NOT_OBSERVED = "not-observed"
"""The cause if too little was observed to name one."""

UNEXPLAINED = "unexplained"

TITLES: Mapping[str, Message] = {
    NOT_OBSERVED: say("the server or its host was not observed"),
    UNEXPLAINED: say("nothing that has a name yet"),
}
"""Titles of the causes that no rule names."""

STALLED = 0.2
"""[P] Share of the users' time in the slowest hundredth or thousandth of the events. With
exponentially distributed times the slowest hundredth takes 5.6 %.
"""

TIMES_MEDIAN = 10.0
"""[P] The least multiple of the median that such events take."""

_AT_WORK = ("active", "executing", "sending data", "execute", "query", "updating", "update", "init")
"""States of connections that work rather than wait."""

_NAMED = (
    *("commit", "writing to net", "sending to client", "Client:ClientWrite"),
    *("IO:WALSync", "IO:WalSync", "IO:WALWrite", "IO:WalWrite", "LWLock:WALWrite", "IPC:SyncRep"),
)
"""Waits that have a rule of their own, whatever that rule found."""


_BLOCKED: tuple[Place, ...] = (
    *("disk read", "disk write", "row lock", "table lock", "admission", "latch", "sending"),
    *("paused", "other"),
)
"""Places where a user waits for something that more users do not bring more of."""

_Wait = tuple[float, Message, Evidence]
"""Share of the users' time, the wait in words, its figure."""


def unexplained(case: Case) -> Finding:
    """The largest of: a state of the connections, performance_schema's waits, the network.

    If the host was not observed, it is not known what is used up: then the finding says that.
    """
    if case.step.host is None:
        return _unseen(case)
    found = sorted(_placed(case) or _waits(case), key=lambda wait: -wait[0])
    largest = _stalls(case) or (found[0] if found else None)
    said = [say("Unexplained: no resource is used up and no known cause fits."), *_nearest(case)]
    said.append(
        say("The largest wait is {wait}.", wait=largest[1])
        if largest
        else say("No wait was seen at all.")
    )
    return Finding(
        cause=UNEXPLAINED,
        group="note",
        sentence=sentences(*said),
        evidence=(largest[2],) if largest else (),
        share=largest[0] if largest else None,
        confidence=0.5,
        remedy=_more_to_see(case),
    )


def _more_to_see(case: Case) -> Message:
    limits = say(
        "loadstone probe and loadstone calibrate measure the limits of disk and generator."
    )
    if case.family != MYSQL:
        return sentences(say("A ladder of users shows more."), limits)
    return sentences(
        say(
            "performance_schema=ON with its wait instruments shows more; so does a ladder of users."
        ),
        limits,
    )


def nameless_wait(case: Case) -> float:
    """Share of the users' time in the largest wait without a rule for it; zero if none was seen.

    Where users are that nobody saw is no wait that more users bring more of, either.
    """
    account = case.step.account
    placed = max((case.time_at(place) or 0.0 for place in _BLOCKED), default=0.0)
    unnamed = account.unnamed if account else 0.0
    if account and account.view == "threads":
        return max(placed, unnamed)
    states = case.states() or {}
    named = [
        min(value / case.users, 1.0)
        for state, value in states.items()
        if state not in _AT_WORK and not any(name in state for name in _NAMED)
    ]
    return max([*named, blocked_inside(case) or 0.0, placed, unnamed])


def waits_most(case: Case) -> bool:
    """Whether users spend more time in such a wait than anywhere else, as looks at threads show."""
    account = case.step.account
    if account is None or account.view != "threads":
        return False
    # Of reads more users bring more.
    waits = {*_BLOCKED} - {*PAGE_READS}
    others = [one.share for one in account.entries if one.place not in (*waits, "idle")]
    most = max((account.share_of(place) for place in waits), default=0.0)
    return most > max(others, default=1.0)


def stalled(case: Case) -> bool:
    """Whether much of the users' time goes to a few events that take far longer than the others."""
    return _stalls(case) is not None


def _stalls(case: Case) -> _Wait | None:
    """A lower bound: (1 - q) of the events take as long as the quantile q, or longer."""
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
    said = say(
        "stalls: the slowest {part} of the events take at least {share} of the users' time "
        "({quantile} {slow} ms, median {median} ms)",
        part=Percent(part),
        share=Percent(share),
        quantile=name,
        slow=Number(slow),
        median=Number(spread.p50),
    )
    counter = say("users' time in the slowest events")
    return share, said, case.seen(counter, share, say("of their time"), STALLED)


def blocked_inside(case: Case) -> float | None:
    """Share of the users whose statement is executed, but neither runs nor is ready to run.

    Users that wait for a row or for the disk are counted elsewhere.
    """
    at_work = state_share(case, *_AT_WORK)
    runnable = case.host("run_queue")
    if at_work is None or runnable is None:
        return None
    rows, disk = case.mean("row_lock_current_waits"), case.host("disk_queue")
    elsewhere = runnable + (rows or 0.0) + (disk or 0.0)
    return min(max(at_work - elsewhere / case.users, 0.0), 1.0)


def _nearest(case: Case) -> Iterator[Message]:
    """The most used resource among those whose limit is known."""
    found = case.ceilings.get(case.step.step)
    used = [
        one
        for one in (found.ceilings if found else ())
        if one.used is not None and one.resource != "concurrency"
    ]
    if used:
        most = max(used, key=lambda one: one.used or 0.0)
        fields = {"resource": RESOURCES[most.resource], "used": Percent(most.used)}
        if most.resource == "row locks":
            yield say(
                "Of the resources with a known limit, {resource} are used most ({used} of the "
                "writes found their row locked).",
                **fields,
            )
        else:
            yield say(
                "Of the resources with a known limit, {resource} is used most ({used}).", **fields
            )


def _unseen(case: Case) -> Finding:
    largest = max(_placed(case) or _waits(case), key=lambda wait: wait[0], default=None)
    said = [
        say("Not evaluated: the server's host was not observed.")
        if case.step.server
        else say("Not evaluated: neither the server nor its host was observed.")
    ]
    if largest:
        said.append(say("The largest wait is {wait}.", wait=largest[1]))
    return Finding(
        cause=NOT_OBSERVED,
        group="note",
        sentence=sentences(*said),
        evidence=(largest[2],) if largest else (),
        share=largest[0] if largest else None,
        confidence=1.0,
        remedy=say(
            "Run without --no-observe; for a host that is not this machine give --host-ssh, "
            "--node-exporter or --prometheus, or add its console's export with loadstone runs "
            "attach (docs/observing.md)."
        ),
    )


def _waits(case: Case) -> Iterator[_Wait]:
    for state, value in (case.states() or {}).items():
        if state not in _AT_WORK:
            share = min(value / case.users, 1.0)
            said = say(
                'the state "{state}", {share} of the users\' time',
                state=state,
                share=Percent(share),
            )
            unit = say_in("unit", "connections")
            yield share, said, case.seen(plain(f"state.{state}"), value, unit)
    yield from _timed_waits(case)
    blocked = blocked_inside(case)
    if blocked:
        said = say(
            "inside statements that wait for something without a name, {share} of the users' time",
            share=Percent(blocked),
        )
        counter = say("users blocked in statements")
        yield blocked, said, case.seen(counter, blocked, say("of their time"))
    away = outside(case)
    if away is not None:
        said = say("outside the server, {share} of the users' time", share=Percent(away))
        yield away, said, case.seen(say("users outside the server"), away, say("of their time"))


def _placed(case: Case) -> list[_Wait]:
    """The places of the account where users wait, for a core or anything else, and the way."""
    account = case.step.account
    if account is None or account.view != "threads":
        return []
    idle = ("idle", "generator", "answer unread", "on core", "in the server")
    return [
        (
            entry.share,
            say(
                '"{place}", {share} of the users\' time',
                place=PLACE_NAMES[entry.place],
                share=Percent(entry.share),
            ),
            case.seen(PLACE_NAMES[entry.place], entry.share, say("of their time")),
        )
        for entry in account.entries
        if entry.place not in idle
    ]


def _timed_waits(case: Case) -> Iterator[_Wait]:
    """The largest wait in performance_schema."""
    spots = case.step.hot_spots.waits if case.step.hot_spots else ()
    time_s = case.step.window.to_s * case.users if case.step.window else 0.0
    for spot in spots[:1]:
        share = min(spot.time_s / time_s, 1.0) if time_s else 0.0
        said = say("{event}, {seconds} s in total", event=spot.event, seconds=Number(spot.time_s))
        yield share, said, case.seen(plain(spot.event), spot.time_s, say_in("unit", "s"))
