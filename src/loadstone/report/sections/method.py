"""How it was measured: the plan, the checklist of fair benchmarking, the command to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from loadstone.model.numbers import count, duration
from loadstone.report.checklist import checklist
from loadstone.report.markup import Markup, cell, element, folded, list_of, paragraph
from loadstone.report.notes import of_the_cores
from loadstone.report.observed import observed_notes
from loadstone.report.sections.context import ReportContext
from loadstone.report.sections.ladder import marks
from loadstone.report.table import table_of
from loadstone.report.words import Messages, localize

_SIGNS = {"met": ("✓", "good"), "missed": ("✗", "bad"), "not evaluated": ("–", "unknown")}


def method_section(context: ReportContext) -> Markup:
    """All that somebody needs to repeat the run, or to doubt it."""
    words, run = context.words, context.run
    asked = run.asked
    parts = [
        table_of((words.what, words.value), _plan(context), text=2).html(),
        element("h3", words.checklist),
        paragraph(words.checklist_about, "about"),
        _checklist(context),
        *_command(context),
        *_notes(context),
    ]
    if asked is not None:
        subject = asked.experiment or asked.plan
        told = json.dumps(subject.model_dump(mode="json"), indent=1, ensure_ascii=False)
        parts.append(folded(words.whole_plan, element("pre", told)))
    return context.section("method", words.method, *parts)


def _plan(context: ReportContext) -> Iterator[tuple[str, str]]:
    words, info = context.words, context.result.run
    yield words.run, info.id
    if info.started_at:
        yield words.when, f"{info.started_at} … {info.ended_at or ''}"
    yield "Loadstone", info.loadstone or ""
    if info.plan is None:
        return
    yield from _of_plan(info.plan, words)
    yield words.steps_head, f"{count(info.steps_finished)} / {info.steps_planned or '?'}"
    first = context.result.steps[0] if context.result.steps else None
    for target in first.targets if first else ():
        yield words.target, f"{target.target} {target.server_version or ''}".strip()
    if first is not None and first.encrypted_users is not None:
        yield words.encryption, first.tls or words.yes_no(answer=False)
        if first.compressed_users:
            yield words.compression, first.compression or ""


def _of_plan(plan: dict[str, Any], words: Messages) -> Iterator[tuple[str, str]]:
    workload, drive, warmup = plan["workload"], plan["drive"], plan["warmup"]
    tables, size = workload.get("tables"), workload.get("table_size")
    rows = words.tables_of.format(tables=tables, rows=f"{size:,}") if tables and size else ""
    # A script's tables are not ours to count.
    has_rows = not (plan.get("mix") or workload.get("script"))
    yield words.workload, f"{workload['name']} {rows if has_rows else ''}".strip()
    yield words.window, duration(plan["duration_s"])
    kind = warmup["kind"]
    yield words.warmup, words.automatic if kind == "auto" else duration(warmup["warmup_s"])
    yield words.repeats, count(plan["repeats"])
    yield words.protocol, str(drive["protocol"])
    yield words.arrivals, words.open_loop if plan.get("rates") else words.closed_loop
    yield words.seed, str(drive["seed"])


def _checklist(context: ReportContext) -> Markup:
    words, run = context.words, context.run
    experiment = run.asked.experiment if run.asked else None
    found = checklist(context.result, run.environment, experiment)
    rows = [
        (
            cell(f"{sign} {words.checked[one.state]}", class_=f"word {look}"),
            words.checklist_items[one.item],
            one.figure,
        )
        for one in found
        for sign, look in (_SIGNS[one.state],)
    ]
    return table_of((words.state, words.rule, words.figure), rows, text=3).html()


def _command(context: ReportContext) -> Iterator[Markup]:
    words, asked = context.words, context.run.asked
    yield element("h3", words.repeat_it)
    if asked is None:
        yield paragraph(words.command_unknown, "note")
        return
    yield element("pre", shlex.join(asked.command_line), tabindex="0")
    if asked.experiment is not None:
        yield paragraph(words.experiment_file_below, "about")


def _notes(context: ReportContext) -> Iterator[Markup]:
    """What was said while it ran, and what the marks mean."""
    words, result = context.words, context.result
    lines = [
        *(localize(note, words) for note in result.run.notes),
        *of_the_cores(result.steps, words),
        *observed_notes(result.steps, words),
        *marks(result.steps, words),
    ]
    if lines:
        yield element("h3", words.notes)
        yield list_of(lines)
