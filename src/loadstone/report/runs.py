"""`runs list`: a line a run."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analyse.ladder import ladders_of, shape
from loadstone.model.figure import Rate
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say, user_count
from loadstone.model.numbers import NOTHING
from loadstone.model.result import Result
from loadstone.report.names import RUN_STATES
from loadstone.report.table import Column, Table, visible

Known = tuple[str, Result | None, str | None]
"""A run's folder with its result, or with what is wrong with it."""


def runs_table(runs: Iterable[Known], words: Language = ENGLISH) -> Table:
    """Folder, state, workload, steps and best rate of each run."""
    heads = (say("run"), say("state"), say("workload"))
    texts = (Column(words(head), is_text=True, folds=False) for head in heads)
    numbers = (Column(words(head)) for head in (say("steps"), say("best tps")))
    return Table((*texts, *numbers), tuple(_row(each, words) for each in runs), gap=2)


def _row(known: Known, words: Language) -> tuple[str, ...]:
    folder, result, problem = known
    # A folder's name is untrusted text.
    name = visible(folder)
    if result is None:
        state = words(RUN_STATES["damaged"])
        return name, state, visible(words(problem or "")), NOTHING, NOTHING
    state = words(RUN_STATES[result.run.state])
    return name, state, visible(_workload(result)), _steps(result), best(result, words)


def best(result: Result, words: Language = ENGLISH) -> str:
    """The answer of a search, else the highest rate with the level it was reached at."""
    if said := found_rate(result):
        return words(said)
    for ladder in ladders_of(result.steps):
        found = shape(ladder)
        peak = found.peak if found else ladder[0]
        if peak.tps:
            users = user_count(peak.concurrency)
            return words(say("{tps} at {users}", tps=Rate(peak.tps.mean), users=users))
    return NOTHING


def found_rate(result: Result) -> Message | None:
    """The highest rate that holds the objective; `None` if the run did not search for one."""
    search = result.run.search
    if search is None or search.objective is None or search.rate is None:
        return None
    rate = Rate(search.rate.value)
    return say("{objective} up to {rate}/s", objective=str(search.objective), rate=rate)


def _workload(result: Result) -> str:
    return str(result.run.plan["workload"]["name"]) if result.run.plan else NOTHING


def _steps(result: Result) -> str:
    finished, planned = result.run.steps_finished, result.run.steps_planned
    return f"{finished}" if planned is None or finished > planned else f"{finished}/{planned}"
