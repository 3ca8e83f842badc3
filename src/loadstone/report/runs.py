"""`runs list`: a line a run."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analyse.ladder import ladders_of, rate_of
from loadstone.analyse.open_loop import held
from loadstone.analyse.search import level_at_peak
from loadstone.model.asked_rate import asked
from loadstone.model.figure import Rate
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say, user_count
from loadstone.model.numbers import NOTHING
from loadstone.model.result import Result
from loadstone.report.names import RUN_STATES
from loadstone.report.table import Column, Table, visible

_BEST = 19
"""Characters for `447 tps at 16 users`."""

Known = tuple[str, Result | None, str | None]
"""A run's folder with its result, or with what is wrong with it."""


def runs_table(runs: Iterable[Known], words: Language = ENGLISH) -> Table:
    """Folder, state, workload, steps and best rate of each run."""
    heads = (say("run"), say("state"), say("workload"))
    texts = (Column(words(head), is_text=True, folds=False) for head in heads)
    # Where the answer alone is too long for the terminal, it folds rather than splits the table.
    rate = Column(words(say("best")), is_text=True, least=_BEST)
    columns = (*texts, Column(words(say("steps"))), rate)
    return Table(columns, tuple(_row(each, words) for each in runs))


def _row(known: Known, words: Language) -> tuple[str, ...]:
    folder, result, problem = known
    # A folder's name is untrusted text.
    name = visible(folder)
    if result is None:
        state = words(RUN_STATES["damaged"])
        return name, state, NOTHING, NOTHING, visible(words(problem or ""))
    state = words(RUN_STATES[result.run.state])
    return name, state, visible(_workload(result)), _steps(result), best(result, words)


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
