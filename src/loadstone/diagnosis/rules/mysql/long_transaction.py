"""An old transaction keeps all versions of changed rows, or purge does not keep up."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.grown_work import grown
from loadstone.diagnosis.holds import CORES, PAGE_READS, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences

OLD_S = 5.0
"""[P] Lower bound of the oldest transaction's age: far longer than any event of the load."""

TIMES_P99 = 20.0
"""[P] The same as a multiple of the load's own p99."""

GROWS = 0.5
"""[P] History entries that stay, per commit."""

FELL = 0.05
"""[P] Part of an event's time that came with a long history, from which it is felt."""

FEWEST = 4
"""Seconds from which the start and the end of a window differ by more than chance."""

_HISTORY = "history_length"

LONG = 100_000.0
"""[P] History entries from which reads and purge slow down."""


def judge(case: Case) -> Finding | None:
    """The history grows with each commit."""
    history = case.needed(case.mean("history_length"))
    commits = case.needed(case.commits())
    oldest = case.highest("oldest_transaction_s")
    rate = _slope(case.series("server", "history_length.now"))
    old = _is_old(case)
    grows = rate is not None and commits > 0 and rate >= GROWS * commits
    if not grows and history < LONG:
        return None
    if not old and history < LONG:
        return None
    fell = _fall(case.series("load", "tps")) if grows else 0.0
    came = grown(case, _HISTORY) if grows and old else 0.0
    fall = max(fell, came)
    return Finding(
        cause="long-transaction" if old else "purge-lag",
        group="wait" if old or fall >= FELL else "note",
        sentence=sentences(
            _why(oldest if old else None),
            _history(history, rate if grows else None),
            *_felt(fell, came),
        ),
        evidence=(
            case.seen(plain("history_length"), history, say_in("unit", "entries"), LONG),
            case.seen(plain("oldest_transaction_s"), oldest or 0.0, say_in("unit", "s"), OLD_S),
        ),
        # What an old snapshot keeps, reads go through; what purge has still to do they do not.
        share=max(min(history / (10 * LONG), 0.5), fall) if old else fall,
        confidence=0.8 if old else 0.6,
        remedy=say("End that transaction (information_schema.INNODB_TRX names it).")
        if old
        else say("Raise innodb_purge_threads, and look for what slows purge down."),
        acts_on="server CPU",
    )


def _is_old(case: Case) -> bool:
    """Whether the oldest transaction is far older than the load's."""
    p99_s = (case.step.latency.response.p99 or 0.0) / 1000
    return (case.highest("oldest_transaction_s") or 0.0) >= max(OLD_S, TIMES_P99 * p99_s)


def _why(oldest_s: float | None) -> Message:
    if oldest_s is None:
        return say("Old row versions pile up because purge does not keep up.")
    return say(
        "Old row versions pile up because a transaction has been open for {seconds} s.",
        seconds=Number(oldest_s),
    )


def _history(entries: float, growth: float | None) -> Message:
    if growth is None:
        return say(
            "The history has {history} entries, and each read of a changed row goes through them.",
            history=Number(entries),
        )
    return say(
        "The history has {history} entries and grows by {rate} a second; each read of a changed "
        "row goes through them.",
        history=Number(entries),
        rate=Number(growth),
    )


def _felt(fell: float, came: float) -> Iterator[Message]:
    if came > fell:
        yield say("An event's CPU grows with it: {grown} of it came so.", grown=Percent(came))
    elif fell:
        yield say("The rate fell by {fall} meanwhile.", fall=Percent(fell))


def _holds(case: Case) -> Holds | None:
    """What came to the work of events, a lower bound; `None`: so much as the rate fell."""
    account, came = case.step.account, grown(case, _HISTORY) if _is_old(case) else 0.0
    if account is None or came <= _fall(case.series("load", "tps")):
        return None
    parts = parts_of_work(case, came * account.users * account.share_of("on core"))
    return priced(parts) if parts else None


def _fall(series: Series | None) -> float:
    """How far the rate of the last third of the window is below that of the first."""
    if series is None or len(series) < FEWEST:
        return 0.0
    third = max(len(series) // 3, 1)
    first, last = (sum(value for _, value in part) for part in (series[:third], series[-third:]))
    return max(1 - last / first, 0.0) if first > 0 else 0.0


def _slope(series: Series | None) -> float | None:
    """Growth a second between first and last."""
    if series is None or len(series) < 3:
        return None
    (start, first), (end, last) = series[0], series[-1]
    return (last - first) / (end - start) if end > start else None


RULE = Rule(
    "long-transaction",
    say("a long transaction"),
    judge,
    also={"purge-lag": say("purge that does not keep up")},
    holds=part_of(*CORES, *PAGE_READS, is_priced=True),
    holds_in=_holds,
)
