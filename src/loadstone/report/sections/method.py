"""How it was measured: the plan, the checklist of fair benchmarking, the command to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from loadstone.model.figure import Seconds
from loadstone.model.language import Language
from loadstone.model.message import say, say_in
from loadstone.model.numbers import count
from loadstone.report.checklist import checklist
from loadstone.report.markup import Markup, cell, element, list_of, not_on_paper, paragraph
from loadstone.report.names import (
    CHECKED,
    CHECKLIST_ITEMS,
    NOT_PRINTED,
    row_count,
    table_count,
    yes_no,
)
from loadstone.report.notes import of_the_cores, run_notes
from loadstone.report.observed import observed_notes
from loadstone.report.sections.context import ReportContext
from loadstone.report.sentences import warmup_of
from loadstone.report.table import table_of

_SIGNS = {"met": ("✓", "good"), "missed": ("✗", "bad"), "not evaluated": ("–", "unknown")}


def method_section(context: ReportContext) -> Markup:
    """Everything that readers need to repeat the run, or to question it."""
    words, run = context.words, context.run
    asked = run.asked
    parts = [
        table_of((words(say("what")), words(say("value"))), _plan(context), text=2).html(),
        element("h3", words(say("The checklist of fair benchmarking"))),
        paragraph(
            words(
                say(
                    'After Raasveldt, Holanda, Gubner and Mühleisen, "Fair Benchmarking '
                    "Considered Difficult\" (DBTest 2018), and Loadstone's measuring rules. A "
                    "missing figure is never a pass."
                )
            ),
            "about",
        ),
        _checklist(context),
        *_command(context),
        *_notes(context),
    ]
    if asked is not None:
        subject = asked.experiment or asked.plan
        told = json.dumps(subject.model_dump(mode="json"), indent=1, ensure_ascii=False)
        whole = element("pre", told)
        parts.append(not_on_paper(words(say("The whole plan")), whole, words(NOT_PRINTED)))
    return context.section("method", words(say("How it was measured")), *parts)


def _plan(context: ReportContext) -> Iterator[tuple[str, str]]:
    words, info = context.words, context.result.run
    yield words(say("run")), info.id
    if info.started_at:
        yield words(say("when")), f"{info.started_at} … {info.ended_at or ''}"
    yield "Loadstone", info.loadstone or ""
    if info.plan is None:
        return
    yield from _of_plan(info.plan, words)
    planned = info.steps_planned
    of_plan = f" / {planned}" if planned and planned >= info.steps_finished else ""
    yield words(say("steps")), f"{count(info.steps_finished)}{of_plan}"
    first = context.result.steps[0] if context.result.steps else None
    for target in first.targets if first else ():
        yield words(say("target")), f"{target.target} {target.server_version or ''}".strip()
    if first is not None and first.encrypted_users is not None:
        yield words(say_in("heading", "encryption")), first.tls or words(yes_no(answer=False))
        if first.compressed_users:
            yield words(say("compression")), first.compression or ""


def _of_plan(plan: dict[str, Any], words: Language) -> Iterator[tuple[str, str]]:
    workload, drive, warmup = plan["workload"], plan["drive"], plan["warmup"]
    tables, size = workload.get("tables"), workload.get("table_size")
    name = workload["name"]
    # The size of a script's tables is unknown.
    if tables and size and not (plan.get("mix") or workload.get("script")):
        name = say(
            "{workload} ({tables} × {rows})",
            workload=name,
            tables=table_count(tables),
            rows=row_count(size),
        )
    yield words(say("workload")), words(name)
    yield words(say("window of a step")), words.value(Seconds(plan["duration_s"]))
    how = (
        words(say("automatic"))
        if warmup["kind"] == "auto"
        else words.value(Seconds(warmup_of(plan)))
    )
    yield words(say("warm-up")), how
    yield words(say("repeats")), count(plan["repeats"])
    yield words(say_in("heading", "statements")), str(drive["protocol"])
    yield (
        words(say("arrivals")),
        words(say("open loop: at a rate"))
        if plan.get("rates")
        else words(say("closed loop: as fast as answers come")),
    )
    yield words(say("seed")), str(drive["seed"])


def _checklist(context: ReportContext) -> Markup:
    words, run = context.words, context.run
    experiment = run.asked.experiment if run.asked else None
    found = checklist(context.result, run.environment, experiment)
    rows = [
        (
            cell(f"{sign} {words(CHECKED[one.state])}", class_=f"word {look}"),
            words(CHECKLIST_ITEMS[one.item]),
            words.value(one.figure),
        )
        for one in found
        for sign, look in (_SIGNS[one.state],)
    ]
    return table_of(
        (words(say("state")), words(say("rule")), words(say("figure"))), rows, text=3
    ).html()


def _command(context: ReportContext) -> Iterator[Markup]:
    words, asked = context.words, context.run.asked
    yield element("h3", words(say("The command that repeats it")))
    if asked is None:
        yield paragraph(
            words(say("Not known: run.json is missing, damaged or of another version.")), "note"
        )
        return
    if asked.is_without_names:
        yield paragraph(words(say("Not in this copy of the run, which has no names.")), "note")
        return
    yield element("pre", shlex.join(asked.command_line), tabindex="0")
    if asked.experiment is not None:
        yield paragraph(
            words(say("The experiment as it was understood is below, with its whole file.")),
            "about",
        )


def _notes(context: ReportContext) -> Iterator[Markup]:
    """The messages of the run."""
    words, result = context.words, context.result
    lines = [
        *map(words, run_notes(result.run)),
        *map(words, of_the_cores(result.steps)),
        *observed_notes(result.steps, words),
    ]
    if lines:
        yield element("h3", words(say("Notes")))
        yield list_of(lines)
