"""A failover drill as text: its outages, their seconds, and what became of acknowledged writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from loadstone.analyse.ladder import Level
from loadstone.model.error_codes import MYSQL, name_of, order
from loadstone.model.failover import DrillOutage, DrillSecond, LedgerPlace, LedgerVerdict
from loadstone.model.numbers import count, number_of
from loadstone.model.result import StepResult
from loadstone.report.table import Column, Table

_WORDS = {
    "lost": "acknowledged, and not there",
    "twice": "there more than once",
    "though_refused": "there, although each attempt was refused or cut off before its COMMIT",
    "altered": "there with another amount",
    "untold": "there, and younger than the last word of a generator that was lost",
}


def drill_parts(ladder: Sequence[Level]) -> list[RenderableType]:
    """What a run's text shows of the drills in a ladder; nothing where there was none."""
    parts: list[RenderableType] = []
    for step in (step for level in ladder for step in level.steps):
        parts += _outages(step)
        parts += [Text(line) for verdict in step.ledger for line in verdict_lines(verdict)]
        if step.ledger:
            parts.append(Text())
    return parts


def _outages(step: StepResult) -> Iterator[RenderableType]:
    if step.timeline is None:
        return
    if not step.timeline.outages:
        yield Text(f"No outage in step {step.step}: no user had to wait for a second.\n")
    for outage in step.timeline.outages:
        yield Text("\n".join(outage_lines(outage, step.concurrency)))
        yield Padding(_seconds_table(outage), (0, 0, 1, 0))
    if left_out := step.timeline.outages_left_out:
        yield Text(f"and {number_of(left_out, 'shorter outage')}\n")


def outage_lines(outage: DrillOutage, users: int) -> Iterator[str]:
    """How long an outage was: for all users together, and for the slowest of them."""
    end = "the step's end" if outage.to_s is None else f"{outage.to_s:.3f} s"
    yield (
        f"Outage from {outage.from_s:.3f} s to {end}: "
        f"{number_of(outage.users, 'user')} of {count(users)} had to wait"
    )
    if outage.outage_ms is not None:
        yield (
            f"  nobody was served for {_ms(outage.outage_ms)}: last success at "
            f"{outage.last_success_s:.3f} s, first one after it at {outage.first_success_s:.3f} s"
        )
    elif outage.last_success_s is not None:
        yield (f"  nobody was served from {outage.last_success_s:.3f} s on, until the step's end")
    else:
        yield "  at no time was nobody served"
    if outage.slowest_ms is not None and outage.median_ms is not None:
        yield (
            f"  slowest user: {_ms(outage.slowest_ms)} (number {outage.slowest_user}); "
            f"median {_ms(outage.median_ms)}"
        )
    if outage.users_cut_off:
        had = "was" if outage.users_cut_off == 1 else "were"
        yield f"  {number_of(outage.users_cut_off, 'user')} {had} never served again"
    for error in outage.errors:
        counted = [
            number_of(amount, word)
            for amount, word in ((error.statements, "statement"), (error.connects, "connect"))
            if amount
        ]
        yield f"  {error.code:>4} {error.name or 'no name here'}: {', '.join(counted)}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:,.0f} ms"


def _seconds_table(outage: DrillOutage) -> Table:
    numbers = (Column(head, least=5) for head in ("from s", "succeeded", "failed", "users"))
    rows = [
        (
            f"{second.from_s:.1f}",
            count(second.succeeded),
            count(second.failed),
            count(second.users),
            _said(second),
        )
        for second in outage.seconds
    ]
    if left_out := outage.seconds_left_out:
        rows.insert(len(rows) // 2, ("…", "", "", "", number_of(left_out, "more second")))
    return Table((*numbers, Column("errors", is_text=True)), tuple(rows), top=True)


def _said(second: DrillSecond) -> str:
    connects = [f"connect: {text}" for text in _counted(second.connect_failures)]
    return ", ".join([*_counted(second.errors), *connects])


def _counted(errors: Mapping[str, int]) -> Iterator[str]:
    for code, amount in sorted(errors.items(), key=lambda item: (-item[1], order(item[0]))):
        name = name_of(MYSQL, code)
        yield f"{count(amount)} × {code}" + (f" {name}" if name else "")


def verdict_lines(verdict: LedgerVerdict) -> Iterator[str]:
    """What one server has of the entries that were acknowledged."""
    yield (
        f"Ledger at {verdict.target}: {_none_or(verdict.lost)} of "
        f"{number_of(verdict.acknowledged, 'acknowledged entry', 'acknowledged entries')} lost, "
        f"{_none_or(verdict.doubled)} doubled"
        + (f", {count(verdict.altered)} altered" if verdict.altered else "")
    )
    if doubts := verdict.in_doubt_present + verdict.in_doubt_absent:
        yield (
            f"  {count(doubts)} in doubt, as COMMIT was sent and its answer did not come: "
            f"{count(verdict.in_doubt_present)} there, {count(verdict.in_doubt_absent)} not"
        )
    if not verdict.is_complete:
        yield (
            "  a generator was lost before its end: nobody knows what became of "
            f"{number_of(verdict.untold_present, 'entry', 'entries')} that it wrote last and that "
            f"{'is' if verdict.untold_present == 1 else 'are'} there, nor of any that are not"
        )
    if verdict.sum_expected != verdict.sum_found:
        yield (
            f"  the amounts sum up to {count(verdict.sum_found)}, and not to "
            f"{count(verdict.sum_expected)}"
        )
    for place in verdict.places:
        yield f"  user {place.user}: {_numbers(place)} {_WORDS[place.what]}"
    told = sum(place.last - place.first + 1 for place in verdict.places if place.what != "untold")
    if (rest := verdict.lost + verdict.doubled + verdict.altered - told) > 0:
        yield f"  and {number_of(rest, 'more entry', 'more entries')}"


def _none_or(amount: int) -> str:
    return count(amount) if amount else "none"


def _numbers(place: LedgerPlace) -> str:
    if place.first == place.last:
        return f"entry {count(place.first)}"
    return f"entries {count(place.first)} to {count(place.last)}"
