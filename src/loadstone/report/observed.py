"""What server and host did under the load, a row a level, and what was not evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.numbers import NOTHING, asked, count, digits, rate
from loadstone.model.result import HostFigures, ServerFigures, StepResult
from loadstone.report.table import Column, Table
from loadstone.report.words import ENGLISH, Messages, localize

_NO_HOST = HostFigures(seconds=0.0)
_NO_SERVER = ServerFigures(seconds=0.0)


@dataclass(frozen=True)
class _Figure:
    head: str
    cell: Callable[[ServerFigures, HostFigures], str]


_COLUMNS = (
    _Figure("commits\n/s", lambda server, host: rate(server.commits_per_s)),
    _Figure("log\nsyncs/s", lambda server, host: rate(server.log_syncs_per_s)),
    _Figure("binlog\nsyncs/s", lambda server, host: rate(server.binlog_syncs_per_s)),
    _Figure("commits\n/sync", lambda server, host: rate(server.transactions_per_sync)),
    _Figure("log KB\n/sync", lambda server, host: _thousands(server.bytes_per_sync)),
    _Figure("disk\nwrites/s", lambda server, host: rate(host.disk_write_iops)),
    _Figure("disk\nreads/s", lambda server, host: rate(host.disk_read_iops)),
    _Figure("run-\nning", lambda server, host: rate(server.threads_running)),
    _Figure("user\n%", lambda server, host: _percent(host.cpu_user)),
    _Figure("sys\n%", lambda server, host: _percent(host.cpu_sys)),
    _Figure("idle\n%", lambda server, host: _percent(host.cpu_idle, host.cpu_iowait)),
)


def observed_table(ladder: Sequence[Level]) -> Table | None:
    """The levels of a ladder; `None` where neither server nor host was seen."""
    seen = [level for level in ladder if _is_seen(middle_step(level.steps))]
    if not seen:
        return None
    rates = any(level.rate for level in ladder)
    heads = ("users", *(["due\n/s"] if rates else []), *(figure.head for figure in _COLUMNS))
    # Percents have three digits at most, and with all columns a line is to stay below 100.
    columns = (Column(head, least=3 if head.endswith("%") else 5) for head in heads)
    return Table(tuple(columns), tuple(_row(level, rates=rates) for level in seen))


def _row(level: Level, *, rates: bool) -> tuple[str, ...]:
    step = middle_step(level.steps)
    server, host = step.server or _NO_SERVER, step.host or _NO_HOST
    due = [asked(level.rate) if level.rate else NOTHING] if rates else []
    return count(level.concurrency), *due, *(each.cell(server, host) for each in _COLUMNS)


def _is_seen(step: StepResult) -> bool:
    return step.server is not None or step.host is not None


def observed_notes(steps: Sequence[StepResult], words: Messages = ENGLISH) -> Iterator[str]:
    """What was not evaluated, each once, and what the looking cost."""
    missing: dict[str, str] = {}
    for step in steps:
        missing |= step.server.not_evaluated if step.server else {}
    for name, why in missing.items():
        yield words.note_not_evaluated.format(
            name=localize(name.replace("_", " "), words), why=localize(why, words)
        )
    costs = [step.observing for step in steps if step.observing]
    if costs:
        own = 100 * max(cost.cpu_share for cost in costs)
        answering = 100 * max(cost.answering_share for cost in costs)
        yield words.note_observing.format(own=f"{own:.2g}", answering=f"{answering:.2g}")


def _percent(*shares: float | None) -> str:
    known = [share for share in shares if share is not None]
    return f"{100 * sum(known):.0f}" if known else NOTHING


def _thousands(size: float | None) -> str:
    return NOTHING if size is None else digits(size / 1000)
