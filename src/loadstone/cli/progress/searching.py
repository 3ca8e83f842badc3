"""The progress of searches: what the last step showed, and how many steps may follow."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.search import holds, most_left, outcome
from loadstone.analyse.searches import shift_of
from loadstone.model.figure import Count, Rate, Seconds
from loadstone.model.message import Message, counted, say
from loadstone.model.numbers import roughly
from loadstone.model.plan import Plan, Step
from loadstone.model.result import StepResult
from loadstone.model.search import SearchOutcome


class Searching:
    """The searches of a run: one, or those of an experiment, one after the other."""

    def __init__(self, plan: Plan, searches: int = 1) -> None:
        """`searches`: how many there are, with those that have not begun."""
        self._plan = plan
        self._searches = searches
        self._begun = 0
        self._part: tuple[str, str, int] | None = None
        self._steps = 0
        self._done: list[StepResult] = []
        """The finished steps of the search that runs."""

    def more(self, number: int) -> None:
        """So many more searches follow those that were planned or begun."""
        self._searches = max(self._searches, self._begun) + number

    def begins(self, step: Step) -> None:
        """A step begins; one of another variant, workload or repeat begins a search."""
        # In a plain run the repeat is that of a level.
        repeat = step.repeat if self._searches > 1 else 1
        part = step.variant, step.workload, repeat
        if part != self._part:
            self._part, self._done = part, []
            self._begun += 1

    def told(self, result: StepResult) -> list[Message]:
        """The verdict on a step that has just ended; nothing without an objective."""
        if result.state == "finished":
            self._steps += 1
            self._done.append(result)
        wanted = self._plan.search
        is_alone = result.variant == "default"  # an experiment has a search for each variant
        if wanted is None or wanted.objective is None or result.rate is None or not is_alone:
            return []
        objective = str(wanted.objective)
        found = outcome(wanted, result.concurrency, self._done)
        verdict = say("does not hold {objective}", objective=objective)
        if holds(result, wanted.objective):
            verdict = say("holds {objective}", objective=objective)
        return [verdict, *_between(found)]

    def left(self, elapsed_s: float) -> Iterator[Message]:
        """The steps so far, and the most that may follow, before a step that begins."""
        if self._plan.search is None or not self._steps:
            return
        of_a_step = elapsed_s / self._steps
        done = counted(
            "1 step in {time}",
            "{number} steps in {time}",
            self._steps,
            time=Seconds(round(elapsed_s)),
        )
        most = self._most_left()
        fields = {"done": done, "most": Count(most), "time": Seconds(roughly(most * of_a_step))}
        if self._searches > 1:
            yield say(
                "search {number} of {searches}: {done}; at most {most} more if repeats agree, "
                "about {time}",
                number=Count(self._begun),
                searches=Count(max(self._searches, self._begun)),
                **fields,
            )
        else:
            yield say("{done}; at most {most} more if repeats agree, about {time}", **fields)

    def _most_left(self) -> int:
        """The steps that may follow, in this search and in those after it."""
        assert self._plan.search is not None and self._part is not None
        users, repeat = self._plan.ladder[0], self._part[2]
        shift = shift_of(repeat)
        later = max(self._searches - self._begun, 0)
        here = most_left(self._plan.search, users, self._done, shift)
        return here + later * most_left(self._plan.search, users, [])


def _between(found: SearchOutcome) -> Iterator[Message]:
    if found.rate and found.beyond:
        low, high = Rate(found.rate.value), Rate(found.beyond.value)
        yield say("the answer is from {low} to {high} events/s", low=low, high=high)
    elif found.rate:
        yield say("the answer is {low} events/s or more", low=Rate(found.rate.value))
    elif found.beyond:
        yield say("the answer is below {high} events/s", high=Rate(found.beyond.value))
