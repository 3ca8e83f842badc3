"""What server and host did under the load, a row a level, and what was not evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say
from loadstone.model.numbers import NOTHING, asked, count, digits, rate
from loadstone.model.result import HostFigures, ServerFigures, StepResult
from loadstone.report.step_table import DUE
from loadstone.report.table import Column, Table

_NO_HOST = HostFigures(seconds=0.0)
_NO_SERVER = ServerFigures(seconds=0.0)


@dataclass(frozen=True)
class _Figure:
    head: Message
    cell: Callable[[ServerFigures, HostFigures], str]


_COLUMNS = (
    _Figure(say("commits\n/s"), lambda server, host: rate(server.commits_per_s)),
    _Figure(say("log\nsyncs/s"), lambda server, host: rate(server.log_syncs_per_s)),
    _Figure(say("binlog\nsyncs/s"), lambda server, host: rate(server.binlog_syncs_per_s)),
    _Figure(say("commits\n/sync"), lambda server, host: rate(server.transactions_per_sync)),
    _Figure(say("log KB\n/sync"), lambda server, host: _thousands(server.bytes_per_sync)),
    _Figure(say("disk\nwrites/s"), lambda server, host: rate(host.disk_write_iops)),
    _Figure(say("disk\nreads/s"), lambda server, host: rate(host.disk_read_iops)),
    _Figure(say("run-\nning"), lambda server, host: rate(server.threads_running)),
)

_CPU = {
    "user": say("user\n%"),
    "sys": say("sys\n%"),
    "iowait": say("iowait\n%"),
    "steal": say("steal\n%"),
    "idle": say("idle\n%"),
}
"""The states of a core, named as in iostat. Interrupts are part of sys, as in the host's record."""

_MAY_BE_ABSENT = ("iowait", "steal")
"""States that are left out where no level has any."""


def observed_table(ladder: Sequence[Level], words: Language = ENGLISH) -> Table | None:
    """The levels of a ladder; `None` where neither server nor host was observed."""
    seen = [level for level in ladder if _is_seen(middle_step(level.steps))]
    if not seen:
        return None
    rates = any(level.rate for level in ladder)
    cores = [_cpu(middle_step(level.steps).host) for level in seen]
    there = [
        at
        for at, name in enumerate(_CPU)
        if name not in _MAY_BE_ABSENT or any(row[at] not in ("0", NOTHING) for row in cores)
    ]
    heads = (say("users"), *([DUE] if rates else []), *(figure.head for figure in _COLUMNS))
    shares = tuple(_CPU.values())
    columns = (
        *(Column(words(head), least=5) for head in heads),
        # A percentage has three digits at most.
        *(Column(words(shares[at]), least=3) for at in there),
    )
    rows = (
        (*_row(level, rates=rates), *(row[at] for at in there))
        for level, row in zip(seen, cores, strict=True)
    )
    return Table(columns, tuple(rows))


def _row(level: Level, *, rates: bool) -> tuple[str, ...]:
    step = middle_step(level.steps)
    server, host = step.server or _NO_SERVER, step.host or _NO_HOST
    due = [asked(level.rate) if level.rate else NOTHING] if rates else []
    return count(level.concurrency), *due, *(each.cell(server, host) for each in _COLUMNS)


def _cpu(host: HostFigures | None) -> tuple[str, ...]:
    """The cores' time in whole percents that add up to 100 (largest remainder method)."""
    shares = [getattr(host, f"cpu_{name}", None) for name in _CPU]
    # Counters are read one after the other, so their rates add up to 1 only approximately.
    total = sum(share or 0.0 for share in shares)
    if not total:
        return (NOTHING,) * len(_CPU)
    exact = [100 * (share or 0.0) / total for share in shares]
    whole = [int(percent) for percent in exact]
    by_rest = sorted(range(len(exact)), key=lambda at: whole[at] - exact[at])
    for at in by_rest[: 100 - sum(whole)]:
        whole[at] += 1
    return tuple(
        NOTHING if share is None else str(percent)
        for share, percent in zip(shares, whole, strict=True)
    )


def _is_seen(step: StepResult) -> bool:
    return step.server is not None or step.host is not None


def observed_notes(steps: Sequence[StepResult], words: Language = ENGLISH) -> Iterator[str]:
    """Notes on what was not evaluated, each once, and on the cost of observing."""
    missing: dict[str, str] = {}
    for step in steps:
        missing |= step.server.not_evaluated if step.server else {}
    for name, why in missing.items():
        named = words.lookup(name.replace("_", " "))
        yield words(say("{name} not evaluated: {why}", name=named, why=words.lookup(why)))
    costs = [step.observing for step in steps if step.observing]
    if costs:
        own = 100 * max(cost.cpu_share for cost in costs)
        answering = 100 * max(cost.answering_share for cost in costs)
        yield words(
            say(
                "observing took {own} % of a core here; the slowest source spent "
                "{answering} % of the time answering",
                own=f"{own:.2g}",
                answering=f"{answering:.2g}",
            )
        )


def _thousands(size: float | None) -> str:
    return NOTHING if size is None else digits(size / 1000)
