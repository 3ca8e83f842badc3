"""The rate falls in the seconds in which a checkpoint writes and syncs its pages.

Source: https://www.postgresql.org/docs/current/runtime-config-wal.html#RUNTIME-CONFIG-WAL-CHECKPOINTS
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.diagnosis.context import Case, Missing, Series
from loadstone.diagnosis.holds import PAGE_READS, PAGE_WAITS, SYNC_WAITS, Holds, parts_of, time_at
from loadstone.diagnosis.rule import Judge, Rule
from loadstone.diagnosis.rules.postgresql import (
    forced_checkpoints,
    full_pages,
    page_images,
    wal_size,
)
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place, SlowSeconds
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, say, sentences

TELLS = 0.5
"""[P] By so much larger a part of the slow seconds than of the others has a checkpoint at work."""

SPREAD = 0.9
"""[S] The manual's default for checkpoint_completion_target, from 14 on."""

Spans = tuple[tuple[float, float], ...]
"""Begin and end of each, in seconds since the start of the load."""

_AT_DISK: tuple[Place, ...] = (*SYNC_WAITS, *PAGE_READS, *PAGE_WAITS)
_VIEWS = (
    ("pg_stat_bgwriter.buffers_checkpoint", "pg_stat_bgwriter.checkpoint_"),
    ("pg_stat_checkpointer.buffers_written", "pg_stat_checkpointer."),
)
"""The pages that checkpoints write, counted while they do, and what begins the names of the times
that they took, counted when they end; until 16 and from 17 on."""

_SAY_MORE: tuple[Judge, ...] = (wal_size.judge, forced_checkpoints.judge, full_pages.judge)
"""What says why there are checkpoints at all."""


def judge(case: Case) -> Finding | None:
    """Slow seconds are those of checkpoints, and the users wait for the disk in them."""
    case.needed(case.time_at(*_AT_DISK))
    slow = case.step.account.slow if case.step.account else None
    if slow is None:
        return None
    spans = case.needed(_at_work(case))
    inside, outside = _parts_at_work(case, slow, spans)
    share = case.needed(time_of(case, _parts(case)))
    if inside - outside < TELLS or share < page_images.MATTERS or _is_named(case, share):
        return None
    return Finding(
        cause="checkpoint-spikes",
        group="setting",
        sentence=sentences(
            say(
                "In {count} of {of} seconds the rate falls from {before} to {slow} events a "
                "second, and a checkpoint is at work in {inside} of these and {outside} of the "
                "other seconds.",
                count=slow.count,
                of=slow.of,
                before=Number(slow.tps_others),
                slow=Number(slow.tps),
                inside=Percent(inside),
                outside=Percent(outside),
            ),
            say(
                "Users wait for the disk that it writes to: {share} of their time.",
                share=Percent(share),
            ),
        ),
        evidence=(
            case.seen(say("events lost to slow seconds"), slow.lost, say("of all")),
            case.seen(say("slow seconds with a checkpoint"), inside, say("of them"), TELLS),
            case.seen(say("other seconds with a checkpoint"), outside, say("of them")),
        ),
        share=share,
        confidence=0.7,
        remedy=_remedy(case),
        acts_on="disk writes",
    )


def _remedy(case: Case) -> Message:
    target = case.number("checkpoint_completion_target")
    if target is not None and target < SPREAD:
        return say(
            "Raise checkpoint_completion_target to {spread}: a checkpoint then writes its pages "
            "over most of the time until the next one, not all at once.",
            spread=SPREAD,
        )
    return say(
        "Make checkpoints rarer (max_wal_size, checkpoint_timeout), have more pages written before "
        "them (bgwriter_lru_maxpages) and flushed while they write (checkpoint_flush_after), or "
        "give the WAL a disk of its own."
    )


def _is_named(case: Case, share: float) -> bool:
    """Whether another rule says why there are checkpoints, and claims as much."""
    return any((found.share or 0.0) >= share for found in _of_checkpoints(case))


def _of_checkpoints(case: Case) -> Iterator[Finding]:
    for judged in _SAY_MORE:
        try:
            found = judged(case)
        except Missing:
            continue
        if found is not None:
            yield found


def _parts_at_work(case: Case, slow: SlowSeconds, spans: Spans) -> tuple[float, float]:
    """The part of the slow seconds in which a checkpoint is at work, and of the others."""
    window = case.step.window
    if window is None:
        return 0.0, 0.0
    all_s, slow_s = window.to_s - window.from_s, sum(end - begin for begin, end in slow.spans)
    at_work = _overlap(spans, ((window.from_s, window.to_s),))
    both = _overlap(spans, slow.spans)
    inside = both / slow_s if slow_s else 0.0
    rest = all_s - slow_s
    return inside, max(at_work - both, 0.0) / rest if rest > 0 else inside


def _overlap(ones: Spans, others: Spans) -> float:
    """Seconds that are in both; the spans of each do not overlap."""
    return sum(
        max(min(end, other_end) - max(begin, other_begin), 0.0)
        for begin, end in ones
        for other_begin, other_end in others
    )


def _at_work(case: Case) -> Spans | None:
    """The seconds in which a checkpoint was at work; `None`: not known.

    A reading that found more pages written has one in it. One that has ended says for how long it
    wrote and synced.
    """
    for pages, times in _VIEWS:
        written = case.series("server", pages)
        if written is None:
            continue
        spans = []
        known = written[0][0] - _step(written)
        for at, count in written:
            if count > 0:
                spans.append((known, at))
            known = at
        return _joined([*spans, *_ended(case, times)])
    return None


def _ended(case: Case, times: str) -> Iterator[tuple[float, float]]:
    """From begin to end those that ended: first a checkpoint writes, and then it syncs."""
    syncs = dict(case.series("server", f"{times}sync_time") or ())
    for at, write_ms in case.series("server", f"{times}write_time") or ():
        took_s = (write_ms + syncs.get(at, 0.0)) / 1000
        if took_s > 0:
            yield at - took_s, at


def _step(series: Series) -> float:
    """The time between two readings."""
    return (series[-1][0] - series[0][0]) / (len(series) - 1) if len(series) > 1 else 1.0


def _joined(spans: list[tuple[float, float]]) -> Spans:
    """The same seconds, each once."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return tuple(joined)


def _parts(case: Case) -> Mapping[Place, float]:
    """By place at the disk the part of its time by which the slow seconds have more of it."""
    account = case.step.account
    if account is None or account.slow is None:
        return {}
    slow = account.slow
    more = {
        one.place: one.gain * slow.count / slow.of
        for one in slow.places
        if one.place in _AT_DISK and one.gain > 0 and (one.low is None or one.low > 0)
    }
    return {
        place: min(gain / account.share_of(place), 1.0)
        for place, gain in more.items()
        if account.share_of(place)
    }


def _holds(case: Case) -> Holds | None:
    parts = _parts(case)
    return parts_of(parts) if parts else None


RULE = Rule(
    "checkpoint-spikes",
    say("checkpoints write in spikes"),
    judge,
    holds=time_at(*_AT_DISK),
    holds_in=_holds,
)
