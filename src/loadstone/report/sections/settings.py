"""What differs between targets, the settings that matter, and the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from loadstone.analyse.advice import Machine
from loadstone.analyse.known_settings import KNOWN, KnownSettings
from loadstone.analyse.run_machine import machine_of
from loadstone.analyse.settings_review import review
from loadstone.lab.machine.generator_ceilings import limits_of
from loadstone.model.compatible import is_another
from loadstone.model.language import Language
from loadstone.model.message import say, say_in
from loadstone.model.numbers import NOTHING
from loadstone.model.target_url import family_in
from loadstone.report.markup import Markup, cell, element, not_on_paper, paragraph
from loadstone.report.names import NOT_PRINTED, WEIGHTS, yes_no
from loadstone.report.sections.context import ReportContext, localized
from loadstone.report.table import table_of

Variables = Mapping[str, str]


def settings_section(context: ReportContext) -> Markup:
    """Settings and environment; what differs between several targets comes first."""
    words = context.words
    targets = _targets(context)
    inside = [*_differences(targets, words), *_review(context, targets)]
    for place, target in targets.items():
        inside.append(element("h3", f"{place} {target.get('version') or ''}".strip()))
        inside += _variables(target.get("variables") or {}, KNOWN[family_in(place)], words)
    if not targets:
        inside.append(paragraph(words(say("Not known: it was not asked, or not kept.")), "note"))
    inside += [element("h3", words(say("The generator's machine"))), _machine(context)]
    return context.section("settings", words(say("Settings and environment")), *inside)


def _targets(context: ReportContext) -> dict[str, dict[str, Any]]:
    """What each server reported about itself, by its URL."""
    found = context.run.environment.get("targets") or []
    return {str(one.get("target") or number): one for number, one in enumerate(found, 1)}


def _differences(targets: Mapping[str, Mapping[str, Any]], words: Language) -> Iterator[Markup]:
    """Variables that are not the same on all targets."""
    told = {place: one.get("variables") or {} for place, one in targets.items()}
    if len(told) < 2 or not all(told.values()):
        return
    names = sorted({name for variables in told.values() for name in variables})
    known = [KNOWN[family] for family in dict.fromkeys(map(family_in, told))]
    differing = [
        name
        for name in names
        if not any(one.is_own(name) for one in known)
        and len({each.get(name) for each in told.values()}) > 1
    ]
    yield element("h3", words(say("What differs between the targets")))
    if not differing:
        yield paragraph(words(say("No setting that matters differs.")))
        return
    matters = dict.fromkeys(name for one in known for name in one.matters)
    order = {name: at for at, name in enumerate(matters)}
    differing.sort(key=lambda name: (order.get(name, len(order)), name))
    rows = [(name, *(each.get(name, NOTHING) for each in told.values())) for name in differing]
    yield table_of((words(say("variable")), *told), rows, text=1 + len(told)).html()


def _review(context: ReportContext, targets: Mapping[str, Mapping[str, Any]]) -> Iterator[Markup]:
    """The review of the first target by `loadstone check`, as of the day of the run."""
    words = context.words
    place, first = next(iter(targets.items()), ("", {}))
    variables = {str(name): str(value) for name, value in (first.get("variables") or {}).items()}
    if not variables:
        return
    if is_another(first.get("flavour")):
        return
    found = review(variables, _machine_of(context), family_in(place))
    yield element("h3", words(say("Review for a benchmark")))
    if not found:
        yield paragraph(words(say("Nothing to say: these settings suit a benchmark.")))
        return
    rows = [
        (
            cell(words(WEIGHTS[one.weight]), class_="bad" if one.weight == "unfair" else None),
            f"{one.variable} = {one.value}",
            localized(one.said, words),
        )
        for one in found
    ]
    yield table_of(
        (words(say("weight")), words(say("variable")), words(say("why"))), rows, text=3
    ).html()


def _machine_of(context: ReportContext) -> Machine:
    """The server's machine as it was observed with the first step, as of the day of the run."""
    began = context.result.run.started_at
    today = date.fromisoformat(began[:10]) if began else None
    if not context.result.steps:
        return Machine(today=today)
    limits = limits_of(context.run.path)
    return machine_of(context.result.steps[0], context.run.environment, limits, today)


def _variables(variables: Variables, settings: KnownSettings, words: Language) -> Iterator[Markup]:
    if not variables:
        yield paragraph(words(say("Not known: it was not asked, or not kept.")), "note")
        return
    known = [(name, variables[name]) for name in settings.matters if name in variables]
    yield table_of((words(say("variable")), words(say("value"))), known, text=2).html()
    rows = sorted(variables.items())
    all_of = words(say("All {number} variables", number=len(rows)))
    table = table_of((words(say("variable")), words(say("value"))), rows, text=2).html()
    yield not_on_paper(all_of, table, words(NOT_PRINTED))


def _machine(context: ReportContext) -> Markup:
    """The generator's machine; the server's is known by what was observed of it."""
    words, here = context.words, context.run.environment.get("generator") or {}
    if not here:
        return paragraph(words(say("Not known: it was not asked, or not kept.")), "note")
    cpu, memory = here.get("cpu") or {}, here.get("memory") or {}
    shown = {
        words(say("host")): here.get("host"),
        words(say_in("heading", "system")): (here.get("os") or {}).get("name"),
        words(say("kernel")): (here.get("kernel") or {}).get("release"),
        "libc": here.get("libc"),
        words(say("processor")): cpu.get("model"),
        words(say("cores")): _of(cpu.get("cores_allowed"), cpu.get("cores_online")),
        words(say("CPU governor")): cpu.get("governor"),
        words(say("virtual machine")): words(yes_no(answer=bool(cpu.get("hypervisor"))))
        if cpu
        else None,
        words(say("memory")): _gib(memory.get("total_kb")),
        words(say("huge pages")): here.get("huge_pages"),
        **{
            words(say("disk of {what}", what=what)): _disk(each)
            for what, each in (here.get("disks") or {}).items()
        },
    }
    rows = [(name, str(value)) for name, value in shown.items() if value not in (None, "")]
    whole = json.dumps(here, indent=1, sort_keys=True, ensure_ascii=False)
    return element(
        "div",
        table_of((words(say("what")), words(say("value"))), rows, text=2).html(),
        not_on_paper(
            words(say("All that is known of it")), element("pre", whole), words(NOT_PRINTED)
        ),
    )


def _of(part: object, whole: object) -> str | None:
    if whole is None:
        return None
    return f"{whole}" if part in (None, whole) else f"{part} / {whole}"


def _gib(kilobytes: int | None) -> str | None:
    return f"{kilobytes / 1024**2:.3g} GiB" if kilobytes else None


def _disk(disk: Mapping[str, Any]) -> str:
    names = ("device", "file_system", "options", "scheduler", "write_cache")
    return ", ".join(str(disk[name]) for name in names if disk.get(name))
