"""`runs list`: a line a run; in a narrow terminal its workload is below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loadstone.analyse.ladder import ladders_of, rate_of
from loadstone.analyse.open_loop import held
from loadstone.analyse.search import level_at_peak
from loadstone.model.asked_rate import asked
from loadstone.model.figure import Rate
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, say, user_count
from loadstone.model.numbers import NOTHING
from loadstone.model.result import Result
from loadstone.report.names import RUN_STATES
from loadstone.report.table import Column, FirstThatFits, Table, visible
from loadstone.runs.run_folder import is_named_after

_BEST = 19
"""Characters for `447 tps at 16 users`."""

Known = tuple[str, Result | None, str | None]
"""A run's folder with its result, or with what is wrong with it."""


def runs_table(runs: Iterable[Known], words: Language = ENGLISH) -> FirstThatFits:
    """Folder, state, workload, steps and best rate of each run.

    Most folders are named after their workload. A narrow terminal shows it only below the others,
    and a very narrow one has the state and the steps there as well.
    """
    rows = [_row(each, words) for each in runs]
    return FirstThatFits((_whole(rows, words), _narrow(rows, words), _narrowest(rows, words)))


@dataclass(frozen=True)
class _Row:
    """What is shown of a run."""

    name: str
    state: str
    workload: str
    steps: str
    best: str
    """The best rate, or what is wrong with a run that cannot be read."""
    is_named_after: bool
    """Whether the name has the workload already, or no workload is known."""


def _row(known: Known, words: Language) -> _Row:
    folder, result, problem = known
    # A folder's name is untrusted text.
    name = visible(folder)
    if result is None:
        damaged = words(RUN_STATES["damaged"])
        # The row names the folder already, and terminals would break its path.
        wrong = re.sub(rf"\S*{re.escape(folder)}/", "", words(problem or ""))
        return _Row(name, damaged, NOTHING, NOTHING, visible(wrong), True)
    workload = _workload(result)
    return _Row(
        name,
        words(RUN_STATES[result.run.state]),
        visible(workload),
        _steps(result),
        best(result, words),
        workload == NOTHING or is_named_after(folder, workload),
    )


def _whole(rows: Iterable[_Row], words: Language) -> Table:
    cells = ((row.name, row.state, row.workload, row.steps, row.best) for row in rows)
    run, state, workload, steps, rate = _columns(words)
    return Table((run, state, workload, steps, rate), tuple(cells))


def _narrow(rows: Sequence[_Row], words: Language) -> Table:
    """Without a column of workloads; one that the run's name lacks is below the name."""
    names = ["" if row.is_named_after else row.workload for row in rows]
    run, state, workload, steps, rate = _columns(words)
    if any(names):
        run = replace(run, head=_with_below(run.head, workload.head))
    cells = (
        (_with_below(row.name, name), row.state, row.steps, row.best)
        for row, name in zip(rows, names, strict=True)
    )
    return Table((run, state, steps, rate), tuple(cells))


def _narrowest(rows: Iterable[_Row], words: Language) -> Table:
    """All but the best rate is below the run's name."""
    run, *_, rate = _columns(words)
    cells = ((_with_below(row.name, _said_of(row, words)), row.best) for row in rows)
    return Table((run, rate), tuple(cells))


def _said_of(row: _Row, words: Language) -> str:
    steps = [] if row.steps == NOTHING else [say("steps {done}", done=row.steps)]
    said = words.value(Joined([row.state, *steps]))
    return said if row.is_named_after else _with_below(said, row.workload)


def _columns(words: Language) -> tuple[Column, ...]:
    heads = (say("run"), say("state"), say("workload"))
    texts = (Column(words(head), is_text=True, folds=False) for head in heads)
    # Where the answer alone is too long for the terminal, it folds rather than splits the table.
    rate = Column(words(say("best")), is_text=True, least=_BEST)
    return (*texts, Column(words(say("steps"))), rate)


def _with_below(text: str, below: str) -> str:
    return f"{text}\n  {below}" if below else text


def best(result: Result, words: Language = ENGLISH) -> str:
    """The answer of a search, the rate that it kept up with, or the highest rate and its users."""
    if said := found_rate(result) or _found_peak(result):
        return words(said)
    for ladder in ladders_of(result.steps):
        rates = held(ladder)
        if rates and rates.kept and rates.kept.rate:
            return words(say("kept up with {rate}/s", rate=asked(rates.kept.rate)))
        peak = max(ladder, key=lambda level: level.tps.mean if level.tps else 0.0)
        if peak.tps:
            users = user_count(peak.concurrency)
            return words(say("{tps} tps at {users}", tps=Rate(peak.tps.mean), users=users))
    return NOTHING


def found_rate(result: Result) -> Message | None:
    """The highest rate that holds the objective; `None` if the run did not search for one."""
    search = result.run.search
    if search is None or search.objective is None:
        return None
    objective = str(search.objective)
    if search.rate is None and search.beyond is None:
        return say("{objective}: no verdict", objective=objective)
    if search.rate is None:
        return say("{objective} at no rate that was tried", objective=objective)
    rate = Rate(search.rate.value)
    return say("{objective} up to {rate} events/s", objective=objective, rate=rate)


def _found_peak(result: Result) -> Message | None:
    """The fewest users at the peak, and their rate; `None` if the run did not search for it."""
    search = result.run.search
    at_peak = level_at_peak(search, result.steps) if search else None
    if at_peak is None:
        return None
    users = user_count(at_peak.concurrency)
    return say("peak from {users}: {tps} tps", users=users, tps=Rate(rate_of(at_peak)))


def _workload(result: Result) -> str:
    return str(result.run.plan["workload"]["name"]) if result.run.plan else NOTHING


def _steps(result: Result) -> str:
    finished, planned = result.run.steps_finished, result.run.steps_planned
    return f"{finished}" if planned is None or finished > planned else f"{finished}/{planned}"
