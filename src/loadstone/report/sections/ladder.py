"""The ladder with its tables, and the client's figures and the server's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from loadstone.analyse.ladder import Level, middle_step, shape
from loadstone.analyse.usl import Refused, Usl, of_ladder
from loadstone.model.asked_rate import asked
from loadstone.model.figure import Percent, Rate
from loadstone.model.language import Language
from loadstone.model.message import say, user_count
from loadstone.model.numbers import NOTHING, count, digits, rate, signed
from loadstone.model.result import StepResult
from loadstone.report.account import account_notes, account_table
from loadstone.report.breakdowns import breakdowns
from loadstone.report.event_kinds import event_kinds
from loadstone.report.figures.account import account_figure
from loadstone.report.figures.ladder import ladder_figure, variants_figure
from loadstone.report.marks import marked_level, marks
from loadstone.report.markup import Markup, element, folded, paragraph
from loadstone.report.sections.context import ReportContext
from loadstone.report.sentences import law_sentence, verdict
from loadstone.report.slow_seconds import slow_notes
from loadstone.report.table import table_of

DISAGREE = 0.05
"""[P] The client's and the server's counts disagree when they differ by more. Smaller differences
come from the server's own statements, the reading of its counters, and the edges of seconds."""

_ENDS = 2
"""Statements of an event that start and end its transaction."""

_SHOWN = 6
"""Ladders that have a figure of their own."""


def ladder_section(context: ReportContext) -> Markup:
    """A figure and a table for each ladder, after one figure of all variants of a workload."""
    words = context.words
    inside: list[Markup] = []
    for workload in dict.fromkeys(ladder[0].workload for ladder in context.ladders):
        mine = [ladder for ladder in context.ladders if ladder[0].workload == workload]
        several = [ladder for ladder in mine if len(ladder) > 1]
        if len(mine) > 1 and several:
            inside.append(element("h3", words(say("{workload}: all variants", workload=workload))))
            figure = variants_figure(several, words)
            inside += [paragraph(figure.about, "about"), context.figures.place(figure)]
    shown = [_of_ladder(context, ladder) for ladder in context.ladders]
    inside += shown[:_SHOWN]
    if shown[_SHOWN:]:
        inside.append(
            folded(words(say("{number} more", number=len(shown) - _SHOWN)), *shown[_SHOWN:])
        )
    return context.section("ladder", words(say("The ladder")), *inside)


def _of_ladder(context: ReportContext, ladder: list[Level]) -> Markup:
    words = context.words
    parts: list[Markup] = []
    if context.is_several():
        parts.append(element("h3", context.name(ladder)))
    if said := verdict(ladder, words):
        parts.append(paragraph(said))
    if len(ladder) > 1:
        law = None if any(level.rate for level in ladder) else of_ladder(ladder)
        figure = ladder_figure(ladder, law if isinstance(law, Usl) else None, words)
        parts += [paragraph(figure.about, "about"), context.figures.place(figure)]
        if isinstance(law, Usl | Refused):
            parts.append(paragraph(law_sentence(law, words), "note"))
    rows = folded(words(say("The figures as a table")), _table(ladder, words), is_open=True)
    steps = [step for level in ladder for step in level.steps]
    legend = [paragraph(words(line), "note") for line in marks(steps)]
    details = [*_account(context, ladder), *_breakdowns(context, ladder)]
    both = [
        context.heading_in_ladder(words(say("The client's count and the server's own"))),
        *_both_counts(context, ladder),
    ]
    return element("div", *parts, rows, *legend, *details, *both)


def _account(context: ReportContext, ladder: Sequence[Level]) -> list[Markup]:
    """Where a user's second goes: a picture, the figures, and how they are known."""
    words = context.words
    figure, table = account_figure(ladder, words), account_table(ladder, words)
    if figure is None or table is None:
        return []
    return [
        context.heading_in_ladder(figure.title),
        paragraph(figure.about, "about"),
        context.figures.place(figure),
        folded(words(say("The figures as a table")), table.html()),
        *(paragraph(words(said), "note") for said in account_notes(ladder)),
        *(paragraph(words(said)) for said in slow_notes(ladder)),
    ]


def _breakdowns(context: ReportContext, ladder: Sequence[Level]) -> list[Markup]:
    """The breakdowns of steps: workloads of a mix, phases, connections, kinds of events."""
    words = context.words
    found: list[Markup] = []
    for each in (*breakdowns(ladder, words), *event_kinds(ladder, words)):
        found += [context.heading_in_ladder(each.title), each.html()]
    return found


def _table(ladder: Sequence[Level], words: Language) -> Markup:
    """A row for each level; a figure that no level has gets no column."""
    found = shape(ladder)
    columns: list[tuple[str, Callable[[Level], str]]] = [(words(say("users")), _users)]
    if any(level.rate for level in ladder):
        columns.append((words(say("rate/s")), partial(_due, words)))
    columns.append((words(say("TPS")), _tps))
    if any(level.tps and level.tps.of_a_rate is not None for level in ladder):
        columns.append(("± (95 %)", _half))
    columns += [
        (words(say("QPS")), _qps),
        (words(say("p50, ms")), partial(_latency, "p50")),
        (words(say("p95, ms")), partial(_latency, "p95")),
        (words(say("p99, ms")), partial(_latency, "p99")),
        (words(say("max, ms")), partial(_latency, "max")),
        (words(say("errors/s")), _errors),
        (words(say("reconnects")), lambda level: count(middle_step(level.steps).reconnects)),
    ]
    rows = ([of(level) for _, of in columns] for level in ladder)
    peak = [level is found.peak for level in ladder].index(True) if found else None
    shown = table_of([head for head, _ in columns], rows, text=0)
    return replace(shown, styles={} if peak is None else {peak: "bold"}).html()


def _users(level: Level) -> str:
    return count(level.concurrency)


def _due(words: Language, level: Level) -> str:
    return words(asked(level.rate)) if level.rate else NOTHING


def _tps(level: Level) -> str:
    """The rate with its marks, as in the text."""
    step = middle_step(level.steps)
    return rate(level.tps.mean if level.tps else step.tps) + marked_level(level)


def _half(level: Level) -> str:
    half = level.tps.of_a_rate if level.tps else None
    return NOTHING if half is None else digits(half)


def _qps(level: Level) -> str:
    return rate(level.qps)


def _latency(name: str, level: Level) -> str:
    return str(middle_step(level.steps).latency.response.figure(name))


def _errors(level: Level) -> str:
    step = middle_step(level.steps)
    return rate(sum(step.errors.values()) / step.seconds) if step.seconds else NOTHING


def _both_counts(context: ReportContext, ladder: Sequence[Level]) -> list[Markup]:
    """The client's rates and the server's counters, with a note where they disagree."""
    words = context.words
    steps = [middle_step(level.steps) for level in ladder]
    seen = [step for step in steps if step.server is not None]
    if not seen:
        return [
            paragraph(words(say("The server's counters were not read: not evaluated.")), "note")
        ]
    if any(step.server and _TRANSACTIONS in step.server.rates for step in seen):
        nothing = say(
            "The server counts neither statements nor COMMITs, but transactions, of which a "
            "statement outside of one is another: not compared."
        )
        return [paragraph(words(nothing), "note")]
    heads: tuple[str, ...] = (
        words(say("users")), words(say("TPS")), "Com_commit/s", words(say("difference")),
        words(say("QPS")), "Questions/s",
        words(say("difference")),
    )  # fmt: skip
    repeats = max(len(level.steps) for level in ladder)
    rows = [_pair(step, repeats, words) for step in seen]
    if all(_commits(step) is None for step in seen):
        # Events that are no transactions: there is nothing to compare.
        heads, rows = _but_commits(heads), [_but_commits(row) for row in rows]
    said = [paragraph(line, "bad") for step in seen for line in _disagreements(step, words)]
    unseen = [paragraph(_unseen(step, words), "note") for step in seen if not _is_seen(step)]
    said += unseen
    return [
        table_of(heads, rows, text=0).html(),
        *(said or [paragraph(words(say("Client and server agree to within 5 %.")), "note")]),
    ]


_TRANSACTIONS = "transactions_committed"
"""A counter of servers that count transactions and no statements: PostgreSQL's."""


def _but_commits(cells: Sequence[str]) -> tuple[str, ...]:
    return (*cells[:2], *cells[4:])


def _pair(step: StepResult, repeats: int, words: Language) -> tuple[str, ...]:
    """A step's counts; of several repeats, the middle one is named, as its rate is no mean."""
    commits, questions = _commits(step), step.server.questions_per_s if step.server else None
    users = count(step.concurrency)
    if step.repeat > 1 or repeats > 1:
        users = words(say("{users}, repeat {number}", users=users, number=step.repeat))
    return (
        users,
        rate(step.tps),
        rate(commits),
        _apart(step, step.tps, commits),
        rate(step.qps),
        rate(questions),
        _apart(step, step.qps, questions),
    )


def _commits(step: StepResult) -> float | None:
    """COMMITs by second; `None` where some events are no transactions.

    With BEGIN and COMMIT each would have two statements that neither read nor write.
    """
    least = _ENDS * step.events * (1 - DISAGREE)
    if step.server is None or not step.other or step.other < least:
        return None
    return step.server.rates.get("com_commit")


def _is_seen(step: StepResult) -> bool:
    """Whether the server was up all the time; else its rates cover other seconds."""
    return step.server is not None and step.server.seconds >= (1 - DISAGREE) * step.seconds


def _unseen(step: StepResult, words: Language) -> str:
    seconds = step.server.seconds if step.server else 0.0
    return words(
        say(
            "{users}: the server's counters could be read in {seen} of the window's "
            "{window} s: its rates are of these seconds, the client's of all, and "
            "the two are not compared.",
            users=user_count(step.concurrency),
            seen=Rate(seconds),
            window=Rate(step.seconds),
        )
    )


def _apart(step: StepResult, client: float | None, server: float | None) -> str:
    if not client or server is None or not _is_seen(step):
        return NOTHING
    return signed(server / client - 1)


def _disagreements(step: StepResult, words: Language) -> list[str]:
    if not _is_seen(step):
        return []
    pairs = (
        (words(say("TPS")), step.tps, "Com_commit", _commits(step)),
        (
            words(say("QPS")),
            step.qps,
            "Questions",
            step.server.questions_per_s if step.server else None,
        ),
    )
    return [
        words(
            say(
                "{users}: client and server disagree by {share}: the client counts "
                "{client} {what}, the server {server} {counter}/s. Other sessions, an "
                "event that is no transaction, or a proxy that counts otherwise may be "
                "why.",
                users=user_count(step.concurrency),
                what=what,
                client=Rate(client),
                counter=counter,
                server=Rate(server),
                share=Percent(abs(server / client - 1)),
            )
        )
        for what, client, counter, server in pairs
        if client and server is not None and abs(server / client - 1) > DISAGREE
    ]
