"""What server and host did under the load, a row a level, and what was not evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.analyse.ceilings import log_syncs
from loadstone.analyse.ladder import Level, middle_step
from loadstone.model.attached import MOST_DRAWN
from loadstone.model.figure import Bytes, Percent, Seconds
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, say
from loadstone.model.numbers import NOTHING, count, digits, rate
from loadstone.model.result import AttachedFigure, HostFigures, ServerFigures, StepResult
from loadstone.report.step_table import ASKED, due_cells
from loadstone.report.table import Column, Table

_MOSTLY = 0.5
"""Below this part of the bytes written to a disk, most of them are not the server's."""

_NO_HOST = HostFigures(seconds=0.0)
_NO_SERVER = ServerFigures(seconds=0.0)


@dataclass(frozen=True)
class _Figure:
    head: Message
    cell: Callable[[ServerFigures, HostFigures], str]
    is_of_writes: bool = False
    """Whether it has no column where no level has any: a load that only reads."""


_WATCHED = (
    _Figure(say("ques-\ntions/s"), lambda server, host: rate(server.questions_per_s)),
    _Figure(say("commits\n/s"), lambda server, host: rate(server.rates.get("com_commit"))),
)
"""The rates of a watched server, as in the lines of each second."""

_TRANSACTIONS = "transactions_committed"
_WATCHED_TRANSACTIONS = (
    _Figure(say("commits\n/s"), lambda server, host: rate(server.rates.get(_TRANSACTIONS))),
    _Figure(
        say("roll-\nbacks/s"),
        lambda server, host: rate(server.rates.get("transactions_rolled_back")),
    ),
)
"""Those of a server that counts transactions and not statements: PostgreSQL."""

_COLUMNS = (
    _Figure(say("write\ncommits/s"), lambda server, host: rate(server.commits_per_s), True),
    _Figure(say("log\nsyncs/s"), lambda server, host: rate(server.log_syncs_per_s), True),
    _Figure(say("binlog\nsyncs/s"), lambda server, host: rate(server.binlog_syncs_per_s), True),
    _Figure(say("commits\n/sync"), lambda server, host: rate(server.transactions_per_sync), True),
    _Figure(say("log KiB\n/sync"), lambda server, host: _kib(server.bytes_per_sync), True),
    _Figure(say("host\ndisk\nwrites/s"), lambda server, host: rate(host.disk_write_iops)),
    _Figure(say("host\ndisk\nreads/s"), lambda server, host: rate(host.disk_read_iops)),
    _Figure(say("run-\nning"), lambda server, host: rate(server.threads_running)),
)

_NAMES = {"file_summary": say("syncs and writes by kind of file")}
"""What was not evaluated, where the name alone does not say it."""

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


def observed_table(
    ladder: Sequence[Level], words: Language = ENGLISH, *, watched: bool = False
) -> Table | None:
    """The levels of a ladder; `None` where neither server nor host was observed.

    `watched`: the load was not ours, so what counts is the number of connections.
    """
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
    servers = [middle_step(level.steps).server or _NO_SERVER for level in seen]
    by_transactions = any(_TRANSACTIONS in server.rates for server in servers)
    figures = [*(_WATCHED_TRANSACTIONS if by_transactions else _WATCHED)] if watched else []
    figures += [figure for figure in _COLUMNS if not figure.is_of_writes or _has(figure, seen)]
    first = say("connec-\ntions") if watched else say("users")
    heads = (first, *([ASKED] if rates else []), *(figure.head for figure in figures))
    shares = tuple(_CPU.values())
    columns = (
        *(Column(words(head), least=5) for head in heads),
        # A percentage has three digits at most.
        *(Column(words(shares[at]), least=3) for at in there),
    )
    rows = (
        (
            *_row(level, figures, due_cells(level.rate, rates=rates, words=words), watched=watched),
            *(row[at] for at in there),
        )
        for level, row in zip(seen, cores, strict=True)
    )
    return Table(columns, tuple(rows), title=words(say("What server and host did")))


def _has(figure: _Figure, seen: Sequence[Level]) -> bool:
    """Whether any level has some of it."""
    steps = (middle_step(level.steps) for level in seen)
    cells = (figure.cell(step.server or _NO_SERVER, step.host or _NO_HOST) for step in steps)
    return any(cell not in ("0", NOTHING) for cell in cells)


def _row(
    level: Level, figures: Sequence[_Figure], due: Sequence[str], *, watched: bool
) -> tuple[str, ...]:
    step = middle_step(level.steps)
    server, host = step.server or _NO_SERVER, step.host or _NO_HOST
    first = rate(server.threads_connected) if watched else count(level.concurrency)
    return first, *due, *(each.cell(server, host) for each in figures)


def _cpu(host: HostFigures | None) -> tuple[str, ...]:
    """The cores' time in whole percents that add up to 100 (largest remainder method)."""
    shares = [getattr(host, f"cpu_{name}", None) for name in _CPU]
    if host and "cpu_idle" in host.coarse:  # the only one that is known
        return tuple(NOTHING if share is None else f"{100 * share:.0f}" for share in shares)
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
        missing |= _untold(step)
    for name, why in missing.items():
        known = _NAMES.get(name)
        named = words(known) if known else words.lookup(name.replace("_", " "))
        yield words(say("{name} not evaluated: {why}", name=named, why=words.lookup(why)))
    yield from map(words, attached_notes(steps))
    if said := _written_by_others(steps):
        yield words(said)
    costs = [step.observing for step in steps if step.observing]
    if costs:
        own = max(cost.cpu_share for cost in costs)
        answering = max(cost.answering_share for cost in costs)
        yield words(
            say(
                "reading the counters of server and hosts took {own} of a core here; where they "
                "were read, the answers were under way for {answering} of the time, waiting for "
                "a core included: the CPU that they took is at most that share of one core",
                own=Percent(own),
                answering=Percent(answering),
            )
        )


def attached_notes(steps: Sequence[StepResult]) -> Iterator[Message]:
    """Which metrics of files were attached, and at which steps they say nothing and why."""
    first: dict[tuple[str, str], AttachedFigure] = {}
    unused: dict[tuple[str, str], list[tuple[int, Message]]] = {}
    for step in steps:
        for one in step.attached:
            key = (one.file, one.metric)
            first.setdefault(key, one)
            if one.why_not:
                unused.setdefault(key, []).append((step.step, one.why_not))
    if (more := len(first) - MOST_DRAWN) > 0:
        yield counted(
            "1 attached metric is not drawn", "{number} attached metrics are not drawn", more
        )
    for key, one in first.items():
        named = {"metric": one.metric, "file": one.file, "time": Seconds(one.granularity_s)}
        if one.figure:
            yield say(
                "{metric} ({figure}) is from {file}: means of {time}", figure=one.figure, **named
            )
        else:
            yield say("{metric} is from {file}: means of {time}, only drawn", **named)
        if one.figure and (without := unused.get(key)):
            numbers, why = Joined([number for number, _ in without]), without[0][1]
            yield say(
                "{metric} not evaluated at step {steps}: {why}",
                metric=one.metric,
                steps=numbers,
                why=why,
            )


def _written_by_others(steps: Sequence[StepResult]) -> Message | None:
    """That most of what the disk was given is not the server's, at the step with most of that."""

    def written(step: StepResult) -> tuple[float, float]:
        host = step.host or _NO_HOST
        own = host.rates.get("process.written_bytes")
        total = host.disk_write_bytes_per_s or 0.0
        return (total, own) if own is not None and own < _MOSTLY * total else (0.0, 0.0)

    total, own = max(map(written, steps), default=(0.0, 0.0))
    if not total:
        return None
    return say(
        "disk writes and reads are the whole host's: of {total}/s written, the server wrote {own}",
        total=Bytes(total),
        own=Bytes(own),
    )


def _untold(step: StepResult) -> Mapping[str, str]:
    """What was not evaluated, and what no other counter shows.

    The table of the server has the syncs of both logs, by counters that need no performance_schema:
    that MariaDB has it off by default is no news.
    """
    missing = step.server.not_evaluated if step.server else {}
    hidden = None if log_syncs(step) is None else "file_summary"
    return {name: why for name, why in missing.items() if name != hidden}


def _kib(size: float | None) -> str:
    return NOTHING if size is None else digits(size / 1024)
