"""What differs between targets, the settings that matter, and the machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from loadstone.analyse.settings import Machine, review
from loadstone.model.language import Language
from loadstone.model.message import say, say_in
from loadstone.model.numbers import NOTHING
from loadstone.model.observed import SHARED_HOST
from loadstone.report.markup import Markup, cell, element, folded, paragraph
from loadstone.report.names import WEIGHTS, yes_no
from loadstone.report.sections.context import ReportContext, localized
from loadstone.report.table import table_of

Variables = Mapping[str, str]

MATTERS = (
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "log_bin",
    "binlog_format",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "max_binlog_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_adaptive_hash_index",
    "innodb_deadlock_detect",
    "innodb_lock_wait_timeout",
    "innodb_thread_concurrency",
    "transaction_isolation",
    "tx_isolation",
    "thread_handling",
    "thread_pool_size",
    "thread_pool_oversubscribe",
    "max_connections",
    "table_open_cache",
    "sort_buffer_size",
    "join_buffer_size",
    "query_cache_type",
    "performance_schema",
    "require_secure_transport",
)
"""Durability first: what is compared must lose as much in a crash."""

_OWN = re.compile(
    r"host|port|socket|pid|datadir|server_id|uuid|timestamp|basedir|_dir$|_file$|_path$|secure_auth"
    r"|gtid|identity|rand_seed|last_insert|pseudo|uptime|connection_id|_basename$|log_error$"
)
"""Names of variables that differ between any two servers and change no figure."""


def settings_section(context: ReportContext) -> Markup:
    """Settings and environment; what differs between several targets comes first."""
    words = context.words
    targets = _targets(context)
    inside = [*_differences(targets, words), *_review(context, targets)]
    for place, target in targets.items():
        inside.append(element("h3", f"{place} {target.get('version') or ''}".strip()))
        inside += _variables(target.get("variables") or {}, words)
    if not targets:
        inside.append(paragraph(words(say("Not known: it was not asked, or not kept.")), "note"))
    inside += [element("h3", words(say("The generator's machine"))), _machine(context)]
    return context.section("settings", words(say("Settings and environment")), *inside)


def _targets(context: ReportContext) -> dict[str, dict[str, Any]]:
    """What each server said of itself, by its URL."""
    found = context.run.environment.get("targets") or []
    return {str(one.get("target") or number): one for number, one in enumerate(found, 1)}


def _differences(targets: Mapping[str, Mapping[str, Any]], words: Language) -> Iterator[Markup]:
    """Variables that are not the same on all targets."""
    told = {place: one.get("variables") or {} for place, one in targets.items()}
    if len(told) < 2 or not all(told.values()):
        return
    names = sorted({name for variables in told.values() for name in variables})
    differing = [
        name
        for name in names
        if not _OWN.search(name) and len({each.get(name) for each in told.values()}) > 1
    ]
    yield element("h3", words(say("What differs between the targets")))
    if not differing:
        yield paragraph(words(say("No setting that matters differs.")))
        return
    order = {name: at for at, name in enumerate(MATTERS)}
    differing.sort(key=lambda name: (order.get(name, len(order)), name))
    rows = [(name, *(each.get(name, NOTHING) for each in told.values())) for name in differing]
    yield table_of((words(say("variable")), *told), rows, text=1 + len(told)).html()


def _review(context: ReportContext, targets: Mapping[str, Mapping[str, Any]]) -> Iterator[Markup]:
    """What `loadstone check` would say of the first target, on the day of the run."""
    words = context.words
    first = next(iter(targets.values()), {})
    variables = {str(name): str(value) for name, value in (first.get("variables") or {}).items()}
    if not variables:
        return
    found = review(variables, _machine_of(context))
    yield element("h3", words(say("Review for a benchmark")))
    if not found:
        yield paragraph(words(say("Nothing to say: these settings suit a benchmark.")))
        return
    rows = [
        (
            cell(words(WEIGHTS[one.weight]), class_="bad" if one.weight == "unfair" else None),
            f"{one.variable} = {one.value}",
            localized(one.why, words),
        )
        for one in found
    ]
    yield table_of(
        (words(say("weight")), words(say("variable")), words(say("why"))), rows, text=3
    ).html()


def _machine_of(context: ReportContext) -> Machine:
    """The server's machine where it is the generator's too; the day is the run's, not today."""
    began = context.result.run.started_at
    today = date.fromisoformat(began[:10]) if began else None
    first = context.result.steps[0] if context.result.steps else None
    shared = bool(first and first.host and first.host.facts.get(SHARED_HOST) == "yes")
    if not shared:
        return Machine(today=today)
    here = context.run.environment.get("generator") or {}
    memory = (here.get("memory") or {}).get("total_kb")
    cores = (here.get("cpu") or {}).get("cores_online")
    return Machine(memory_bytes=1024 * memory if memory else None, cores=cores, today=today)


def _variables(variables: Variables, words: Language) -> Iterator[Markup]:
    if not variables:
        yield paragraph(words(say("Not known: it was not asked, or not kept.")), "note")
        return
    known = [(name, variables[name]) for name in MATTERS if name in variables]
    yield table_of((words(say("variable")), words(say("value"))), known, text=2).html()
    rows = sorted(variables.items())
    all_of = words(say("All {number} variables", number=len(rows)))
    yield folded(
        all_of, table_of((words(say("variable")), words(say("value"))), rows, text=2).html()
    )


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
        folded(words(say("All that is known of it")), element("pre", whole)),
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
