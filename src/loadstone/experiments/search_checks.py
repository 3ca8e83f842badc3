"""What does not go together with a search: the same as in a plain run."""

from __future__ import annotations

from loadstone.config.problems import Problems
from loadstone.model.experiment import Experiment
from loadstone.model.plan import Closed
from loadstone.model.search import SearchPlan


def check_search(experiment: Experiment, search: SearchPlan, faults: Problems) -> None:
    """Add what keeps the experiment from searching to the faults."""
    if experiment.phases:
        said = "a search chooses levels itself, and phases have none to choose"
        faults.add(("phases",), said, "leave it out, or [search]")
    else:
        _check_levels(experiment, search, faults)
    for at, workload in enumerate(experiment.workloads):
        if workload.mix:
            said = "a search looks for the level of one workload"
            faults.add(("workload", at, "mix"), said, "leave all but one out, or [search]")
    if experiment.protection.max_load:
        said = "a load that is held back says nothing of what the server can do"
        faults.add(("max_load",), said, "leave it out, or write abort_if")
    arrival = experiment.drive.arrival
    if search.objective and isinstance(arrival, Closed) and arrival.think_s:
        said = "events are due by a rate, whatever users think"
        faults.add(("think",), said, "leave it out, or the objective")


def _check_levels(experiment: Experiment, search: SearchPlan, faults: Problems) -> None:
    if experiment.rates:
        said = "a search chooses the rates itself"
        faults.add(("rates",), said, "leave it out, or [search]")
    if search.peak and faults.has(("ladder",)):
        said = "on its way to the peak a search chooses the users itself"
        faults.add(("ladder",), said, "leave it out; most_users in [search] is its limit")
    elif len(experiment.ladder) > 1:
        said = "a search drives all its rates with one number of users"
        faults.add(("ladder",), said, f"write ladder = [{max(experiment.ladder)}]")
