"""The checklist of fair benchmarking: which items this run meets, misses or cannot evaluate.

M. Raasveldt, P. Holanda, T. Gubner, H. Mühleisen, "Fair Benchmarking Considered Difficult: Common
Pitfalls In Database Performance Testing", DBTest 2018, end with such a list: reproducible, hot or
cold said, preprocessing alike, correct, several runs with their spread. The rest are the measuring
rules of docs/measuring.md. "Not evaluated" is an answer; a missing figure is never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loadstone.analyse.known_settings import KNOWN, KnownSettings
from loadstone.analyse.ladder import lost_share, quotable
from loadstone.model.experiment import Experiment
from loadstone.model.figure import Figure, Percent, Seconds
from loadstone.model.message import Joined, say
from loadstone.model.observed import SHARED_HOST
from loadstone.model.result import HostFigures, Result, StepResult
from loadstone.model.target_url import family_in

State = Literal["met", "missed", "not evaluated"]

Item = Literal[
    "reproducible",
    "durable",
    "client-free",
    "ceiling-known",
    "apart",
    "warm",
    "long",
    "repeated",
    "interleaved",
    "correct",
    "connected",
    "balanced",
    "observed",
    "undisturbed",
    "open-loop",
]
"""The items of the list; each language's catalogue has the words for them."""

FEWEST_REPEATS = 3
"""[P] fewer repeats do not show a meaningful spread."""

SHORTEST_S = 30.0
"""[P] long enough to include some of a server's periodic work: flushes, purges."""

MOST_ERRORS = 0.01
"""[P] of the events that started."""

STEAL_SHARE = 0.02
"""[P] of all cores: experiments leave out units above this share too."""


By = str | Figure | Joined
"""A value for people: `Language.value` writes it."""


@dataclass(frozen=True)
class Checked:
    """One line of the list."""

    item: Item
    state: State
    figure: By = ""
    """The figure on which the item was judged."""


@dataclass(frozen=True)
class _Known:
    result: Result
    environment: Mapping[str, Any]
    experiment: Experiment | None

    @property
    def steps(self) -> Sequence[StepResult]:
        return self.result.steps

    @property
    def variables(self) -> Mapping[str, str] | None:
        targets = self.environment.get("targets") or [{}]
        found = targets[0].get("variables")
        return {str(name): str(value) for name, value in found.items()} if found else None

    @property
    def settings(self) -> KnownSettings:
        targets = self.environment.get("targets") or [{}]
        return KNOWN[family_in(str(targets[0].get("target", "")))]


def checklist(
    result: Result, environment: Mapping[str, Any], experiment: Experiment | None
) -> list[Checked]:
    """All items, in the order of the list."""
    known = _Known(result, environment, experiment)
    if not result.steps:
        return []
    judges = dict(_JUDGES)
    if experiment is None or not experiment.factors:
        del judges["interleaved"]  # there is but one variant
    return [_checked(item, judge(known)) for item, judge in judges.items()]


_Judged = tuple[bool | None, By]
"""Whether an item is met (`None`: not evaluated), and the figure on which it was judged."""


def _checked(item: Item, judged: _Judged) -> Checked:
    met, figure = judged
    state: State = "not evaluated" if met is None else "met" if met else "missed"
    return Checked(item, state, figure)


def _reproducible(known: _Known) -> _Judged:
    plan = known.result.run.plan
    seed = plan["drive"]["seed"] if plan else None
    figure = "" if seed is None else say("seed {seed}", seed=seed)
    return plan is not None and known.variables is not None, figure


def _durable(known: _Known) -> _Judged:
    variables = known.variables
    if variables is None:
        return None, ""
    settings = known.settings
    wrong = settings.losing(variables)
    if not wrong and set(settings.lasting) <= set(settings.not_judged(variables)):
        return None, ""
    return not wrong, Joined(wrong)


def _client_free(known: _Known) -> _Judged:
    told = [step.generator.client_bound for step in known.steps]
    if all(one is None for one in told):
        return None, ""
    used = max((step.generator.cpu_share or 0.0 for step in known.steps), default=0.0)
    return not any(told), say("CPU {share}", share=Percent(used))


def _ceiling_known(known: _Known) -> _Judged:
    shares = [step.generator.ceiling_share for step in known.steps]
    found = [share for share in shares if share is not None]
    return (True, Percent(max(found))) if found else (None, "loadstone calibrate")


def _apart(known: _Known) -> _Judged:
    hosts = [step.host for step in known.steps if step.host]
    if not hosts:
        return None, ""
    return not any(host.facts.get(SHARED_HOST) == "yes" for host in hosts), ""


def _warm(known: _Known) -> _Judged:
    steady = [step.steady for step in known.steps]
    if any(one is False for one in steady):
        return False, f"{sum(one is False for one in steady)} / {len(steady)}"
    if all(one for one in steady):
        return True, ""
    methods = {step.window.method for step in known.steps if step.window}
    return None, Joined(sorted(methods))


def _long(known: _Known) -> _Judged:
    shortest = min(step.seconds for step in known.steps)
    return shortest >= SHORTEST_S, Seconds(shortest)


def _repeated(known: _Known) -> _Judged:
    counted: dict[tuple[str, str, int, str], int] = {}
    for step in known.steps:
        place = (step.variant, step.workload, step.concurrency, str(step.rate))
        counted[place] = counted.get(place, 0) + 1
    fewest = min(counted.values())
    return fewest >= FEWEST_REPEATS, f"{fewest}"


def _interleaved(known: _Known) -> _Judged:
    """Whether repeats alternated. The lab has no other order; an aborted run may end mid-round."""
    return known.result.run.state == "finished", "ABBA"


def _correct(known: _Known) -> _Judged:
    started = sum(step.events + step.failed + step.restarts for step in known.steps)
    if not started:
        return None, ""
    share = sum(sum(step.errors.values()) for step in known.steps) / started
    finished = all(step.state == "finished" for step in known.steps)
    return share <= MOST_ERRORS and finished, Percent(share)


def _connected(known: _Known) -> _Judged:
    worst = max(lost_share(step) for step in known.steps)
    refused = sum(sum(step.connect_failures.values()) for step in known.steps)
    return worst == 0 and not refused, Joined((Percent(worst), refused))


def _balanced(known: _Known) -> _Judged:
    told = [step.tally_balances for step in known.steps if step.tally_balances is not None]
    return (all(told), f"{sum(told)} / {len(told)}") if told else (None, "")


def _observed(known: _Known) -> _Judged:
    seen = [step for step in known.steps if step.server is not None and step.host is not None]
    return len(seen) == len(known.steps), f"{len(seen)} / {len(known.steps)}"


def _undisturbed(known: _Known) -> _Judged:
    steals = [host.cpu_steal for host in _hosts(known.steps) if host.cpu_steal is not None]
    if not steals:
        return None, ""
    return max(steals) <= STEAL_SHARE, say("steal {share}", share=Percent(max(steals)))


def _hosts(steps: Sequence[StepResult]) -> Iterator[HostFigures]:
    for step in steps:
        yield from (host for host in (step.host, step.generator_host) if host)


def _open_loop(known: _Known) -> _Judged:
    quoted = [step for step in known.steps if quotable(step)]
    return bool(quoted) and all(step.rate is not None for step in quoted), ""


_JUDGES: dict[Item, Callable[[_Known], _Judged]] = {
    "reproducible": _reproducible,
    "durable": _durable,
    "client-free": _client_free,
    "ceiling-known": _ceiling_known,
    "apart": _apart,
    "warm": _warm,
    "long": _long,
    "repeated": _repeated,
    "interleaved": _interleaved,
    "correct": _correct,
    "connected": _connected,
    "balanced": _balanced,
    "observed": _observed,
    "undisturbed": _undisturbed,
    "open-loop": _open_loop,
}
