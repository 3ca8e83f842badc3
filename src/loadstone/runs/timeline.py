"""Derives outages from users' pauses, and shows each of their seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from loadstone.model.error_codes import MYSQL, name_of, order
from loadstone.model.failover import DrillError, DrillOutage, DrillSecond, Timeline
from loadstone.model.records import Pause, Sample

MOST_OUTAGES = 100
"""A server that flaps for hours has more than anybody reads; those left out are counted."""

MOST_SECONDS = 300
"""Limit for the seconds shown of an outage; those left out are in its middle."""

_BESIDE_S = 2.0
"""Seconds shown before and after an outage, for comparison."""


def timeline_of(
    samples: Callable[[], Iterable[Sample]], users: int, family: str = MYSQL
) -> Timeline:
    """The outages of a step with so many users; `samples` returns its samples on each call.

    `family`: that of its server, whose error codes are counted.
    """
    pauses = [pause for sample in samples() for pause in sample.pauses]
    spans = sorted(_spans(pauses), key=_length, reverse=True)[:MOST_OUTAGES]
    shown = sorted(spans, key=lambda span: span.from_s)
    for sample in samples():
        for span in shown:
            span.add(sample)
    return Timeline(
        outages=tuple(_outage(span, users, family) for span in shown),
        outages_left_out=sum(1 for _ in _spans(pauses)) - len(shown),
    )


@dataclass
class _Span:
    """Pauses that overlap, and the samples around them."""

    pauses: list[Pause]
    to_s: float
    """Infinite if a pause is not over."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def from_s(self) -> float:
        """Pauses are sorted by their start."""
        return self.pauses[0].from_s

    def add(self, sample: Sample) -> None:
        """Keep a sample that is in the span or close to it."""
        if sample.to_s > self.from_s - _BESIDE_S and sample.from_s < self.to_s + _BESIDE_S:
            self.samples.append(sample)


def _spans(pauses: Sequence[Pause]) -> Iterator[_Span]:
    span: _Span | None = None
    for pause in sorted(pauses, key=lambda each: (each.from_s, each.user)):
        end = _end(pause)
        if span and pause.from_s < span.to_s:
            span.pauses.append(pause)
            span.to_s = max(span.to_s, end)
            continue
        if span:
            yield span
        span = _Span([pause], end)
    if span:
        yield span


def _end(pause: Pause) -> float:
    return math.inf if pause.to_s is None else pause.to_s


def _length(span: _Span) -> float:
    return span.to_s - span.from_s


def _outage(span: _Span, users: int, family: str) -> DrillOutage:
    lengths = [(_end(pause) - pause.from_s, pause.user) for pause in span.pauses if pause.to_s]
    slowest = max(lengths, default=None)
    silent = _silence(span.pauses, users)
    last, first = silent or (None, None)
    seconds = [_second(sample) for sample in span.samples]
    shown = _without_the_middle(seconds)
    return DrillOutage(
        from_s=span.from_s,
        to_s=_finite(span.to_s),
        users=len({pause.user for pause in span.pauses}),
        users_cut_off=sum(pause.to_s is None for pause in span.pauses),
        last_success_s=last,
        first_success_s=first,
        outage_ms=_ms(first - last) if last is not None and first is not None else None,
        slowest_user=slowest[1] if slowest else None,
        slowest_ms=_ms(slowest[0]) if slowest else None,
        median_ms=_ms(median(length for length, _ in lengths)) if lengths else None,
        errors=_errors(seconds, family),
        seconds=shown,
        seconds_left_out=len(seconds) - len(shown),
    )


def _ms(seconds: float) -> float:
    """The engine's times have a resolution of microseconds."""
    return round(seconds * 1000, 3)


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds


def _silence(pauses: Sequence[Pause], users: int) -> tuple[float, float | None] | None:
    """The longest time during which all users had a pause; `None` if there was none.

    It starts with the last success of any user, and ends with the next success of any user.
    """
    ends = [(_end(pause), -1) for pause in pauses]
    begins = [(pause.from_s, 1) for pause in pauses]
    pausing, since = 0, 0.0
    longest: tuple[float, float] | None = None
    # Ends come first, so that a user whose next pause starts as one ends is not counted twice.
    for at_s, change in sorted([*ends, *begins]):
        if (
            pausing == users
            and change < 0
            and (longest is None or at_s - since > _between(longest))
        ):
            longest = since, at_s
        pausing += change
        if pausing == users and change > 0:
            since = at_s
    return None if longest is None else (longest[0], _finite(longest[1]))


def _between(times: tuple[float, float]) -> float:
    return times[1] - times[0]


def _second(sample: Sample) -> DrillSecond:
    return DrillSecond(
        from_s=sample.from_s,
        to_s=sample.to_s,
        succeeded=sample.counts.events,
        failed=sample.counts.failed,
        errors=sample.errors,
        connect_failures=sample.connect_failures,
        users=sample.users,
    )


def _without_the_middle(seconds: Sequence[DrillSecond]) -> tuple[DrillSecond, ...]:
    if len(seconds) <= MOST_SECONDS:
        return tuple(seconds)
    half = MOST_SECONDS // 2
    return (*seconds[:half], *seconds[-half:])


def _errors(seconds: Sequence[DrillSecond], family: str) -> tuple[DrillError, ...]:
    statements, connects = Counter[str](), Counter[str]()
    for second in seconds:
        statements.update(second.errors)
        connects.update(second.connect_failures)
    counted = statements + connects
    return tuple(
        DrillError(
            family=family,
            code=code,
            name=name_of(family, code),
            statements=statements[code],
            connects=connects[code],
        )
        for code, _ in sorted(counted.items(), key=lambda item: (-item[1], order(item[0])))
    )
