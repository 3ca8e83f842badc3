"""A failover drill as text: its outages, their seconds, and the outcome of acknowledged writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from loadstone.analyse.ladder import Level
from loadstone.model.error_codes import order
from loadstone.model.failover import DrillOutage, DrillSecond, LedgerPlace, LedgerVerdict
from loadstone.model.figure import Count
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, say
from loadstone.model.numbers import count
from loadstone.model.result import StepResult
from loadstone.report.lines import Line, lines_of, spaced
from loadstone.report.table import Column, Table

_FOUND: Mapping[str, Message] = {
    "lost": say("acknowledged, but missing"),
    "twice": say("present more than once"),
    "though_refused": say("present, although each attempt was refused or cut off before COMMIT"),
    "altered": say("present with another amount"),
    "untold": say("present, and written after the last report of a lost generator"),
}


def drill_parts(ladder: Sequence[Level], words: Language = ENGLISH) -> list[RenderableType]:
    """What a run's text shows of the drills in a ladder; nothing where there was none."""
    parts: list[RenderableType] = []
    for step in (step for level in ladder for step in level.steps):
        parts += _outages(step, words)
        parts += lines_of(line for each in step.ledger for line in verdict_lines(each, words))
        if step.ledger:
            parts.append(Text())
    return parts


def _outages(step: StepResult, words: Language) -> Iterator[RenderableType]:
    if step.timeline is None:
        return
    if not step.timeline.outages:
        said = say("No outage in step {step}: no user waited for a second.", step=step.step)
        yield spaced(Line(words(said)))
    for outage in step.timeline.outages:
        yield from lines_of(outage_lines(outage, step.concurrency, words))
        yield spaced(_seconds_table(outage, words))
    if left_out := step.timeline.outages_left_out:
        said = counted("and 1 shorter outage", "and {number} shorter outages", left_out)
        yield spaced(Line(words(said)))


def outage_lines(outage: DrillOutage, users: int, words: Language = ENGLISH) -> Iterator[str]:
    """How long an outage was: for all users together, and for the slowest of them."""
    first, *others = _outage(outage, users)
    yield words(first)
    yield from (f"  {words(line)}" for line in others)
    for error in outage.errors:
        amounts = Joined(_amounts(error.statements, error.connects))
        name = error.name or words(say("no name here"))
        yield "  " + words.pair(f"{error.code:>4} {name}", words.value(amounts))


def _outage(outage: DrillOutage, users: int) -> Iterator[Message]:
    end = say("the step's end")
    if outage.to_s is not None:
        end = say("{second} s", second=f"{outage.to_s:.3f}")
    yield counted(
        "Outage from {begin} s to {end}: the only user had to wait",
        "Outage from {begin} s to {end}: {waited} of {number} users had to wait",
        users,
        begin=f"{outage.from_s:.3f}",
        end=end,
        waited=Count(outage.users),
    )
    last = f"{outage.last_success_s:.3f}" if outage.last_success_s is not None else None
    if outage.outage_ms is not None:
        yield say(
            "nobody was served for {duration} ms: the last success was at {last} s, the next one "
            "at {next} s",
            duration=_ms(outage.outage_ms),
            last=last,
            next=f"{outage.first_success_s:.3f}",
        )
    elif last is not None:
        yield say("nobody was served from {last} s until the step's end", last=last)
    else:
        yield say("some users were served at all times")
    if outage.slowest_ms is not None and outage.median_ms is not None:
        yield say(
            "slowest user: {slowest} ms (number {user}); median {median} ms",
            slowest=_ms(outage.slowest_ms),
            user=outage.slowest_user,
            median=_ms(outage.median_ms),
        )
    if outage.users_cut_off:
        yield counted(
            "1 user was never served again",
            "{number} users were never served again",
            outage.users_cut_off,
        )


def _amounts(statements: int, connects: int) -> Iterator[Message]:
    if statements:
        yield counted("1 statement", "{number} statements", statements)
    if connects:
        yield counted("1 connect", "{number} connects", connects)


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}"


def _seconds_table(outage: DrillOutage, words: Language) -> Table:
    names = {error.code: error.name for error in outage.errors}
    heads = (say("from s"), say("succeeded"), say("failed"), say("users"))
    numbers = (Column(words(head), least=5) for head in heads)
    rows = [
        (
            f"{second.from_s:.1f}",
            count(second.succeeded),
            count(second.failed),
            count(second.users),
            words.value(Joined(_errors(second, names))),
        )
        for second in outage.seconds
    ]
    if left_out := outage.seconds_left_out:
        more = counted("1 more second", "{number} more seconds", left_out)
        rows.insert(len(rows) // 2, ("…", "", "", "", words(more)))
    return Table((*numbers, Column(words(say("errors")), is_text=True)), tuple(rows), top=True)


def _errors(second: DrillSecond, names: Mapping[str, str | None]) -> Iterator[str]:
    yield from _by_code(second.errors, names)
    for text in _by_code(second.connect_failures, names):
        yield say("connect: {error}", error=text)


def _by_code(errors: Mapping[str, int], names: Mapping[str, str | None]) -> Iterator[str]:
    for code, amount in sorted(errors.items(), key=lambda item: (-item[1], order(item[0]))):
        name = names.get(code)
        yield f"{count(amount)} × {code}" + (f" {name}" if name else "")


def verdict_lines(verdict: LedgerVerdict, words: Language = ENGLISH) -> Iterator[str]:
    """What one server has of the entries that were acknowledged."""
    yield words(_sums(verdict))
    yield from (f"  {words(line)}" for line in _doubts(verdict))
    for place in verdict.places:
        said = say(
            "user {user}: {entries} {found}",
            user=place.user,
            entries=_numbers(place),
            found=_FOUND[place.what],
        )
        yield f"  {words(said)}"
    told = sum(place.last - place.first + 1 for place in verdict.places if place.what != "untold")
    if (rest := verdict.lost + verdict.doubled + verdict.altered - told) > 0:
        more = counted("and 1 more entry", "and {number} more entries", rest)
        yield f"  {words(more)}"


def _sums(verdict: LedgerVerdict) -> Message:
    fields = {
        "target": verdict.target,
        "entries": counted(
            "1 acknowledged entry", "{number} acknowledged entries", verdict.acknowledged
        ),
        "lost": _none_or(verdict.lost),
        "doubled": _none_or(verdict.doubled),
    }
    if verdict.altered:
        return say(
            "Ledger at {target}: {lost} of {entries} lost, {doubled} doubled, {altered} altered",
            **fields,
            altered=Count(verdict.altered),
        )
    return say("Ledger at {target}: {lost} of {entries} lost, {doubled} doubled", **fields)


def _doubts(verdict: LedgerVerdict) -> Iterator[Message]:
    if doubts := verdict.in_doubt_present + verdict.in_doubt_absent:
        yield say(
            "{number} in doubt, as COMMIT was sent and its answer did not come: {present} "
            "present, {absent} missing",
            number=Count(doubts),
            present=Count(verdict.in_doubt_present),
            absent=Count(verdict.in_doubt_absent),
        )
    if not verdict.is_complete:
        yield counted(
            "a generator was lost before its end: whether 1 entry that it wrote last was "
            "acknowledged is not known, nor whether others are missing",
            "a generator was lost before its end: whether {number} entries that it wrote last "
            "were acknowledged is not known, nor whether others are missing",
            verdict.untold_present,
        )
    if verdict.sum_expected != verdict.sum_found:
        yield say(
            "the amounts add up to {found} instead of {expected}",
            found=Count(verdict.sum_found),
            expected=Count(verdict.sum_expected),
        )


def _none_or(amount: int) -> Message | Count:
    return Count(amount) if amount else say("none")


def _numbers(place: LedgerPlace) -> Message:
    first, last = Count(place.first), Count(place.last)
    if place.first == place.last:
        return say("entry {number}", number=first)
    return say("entries {first} to {last}", first=first, last=last)
