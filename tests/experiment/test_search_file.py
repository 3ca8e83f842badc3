"""`[search]` in an experiment file: what a valid one means, and which errors invalid ones get."""

from __future__ import annotations

import pytest

from experiment.searching import P99
from experiment.test_file import MACHINE
from loadstone.config.problems import ExperimentRefused
from loadstone.experiments.file import parse_experiment
from loadstone.model.experiment import Experiment
from loadstone.model.search import SearchPlan

FILE = """\
[sandbox]
[[workload]]
name = "oltp_point_select"
"""


def parsed(search: str, above: str = "", below: str = "") -> Experiment:
    text = f"{above}\n[search]\n{search}\n{FILE}{below}"
    return parse_experiment(text, "x.toml", MACHINE).experiment


def test_an_objective_is_looked_for_with_as_many_users_as_in_a_plain_run() -> None:
    found = parsed('objective = "p99 < 10ms"')
    assert (found.search, found.ladder) == (SearchPlan(objective=P99), (64,))
    assert parsed('objective = "p99<10ms"', "ladder = [16]").ladder == (16,)


def test_the_peak_has_a_limit_of_users() -> None:
    found = parsed("peak = true\nmost_users = 256")
    assert found.search == SearchPlan(peak=True, most_users=256)
    assert (found.ladder, found.most_users) == ((1,), 256)


def test_both_may_be_looked_for() -> None:
    found = parsed('peak = true\nobjective = "p99<10ms"')
    assert found.search == SearchPlan(peak=True, objective=P99)


SLO = 'objective = "p99<10ms"'
MIX = '[[workload.mix]]\nname = "oltp_read_only"\n[[workload.mix]]\nname = "oltp_write_only"\n'


@pytest.mark.parametrize(
    ("search", "above", "said", "write"),
    [
        ("", "", "2: search: it looks for nothing", 'write objective = "p99<10ms"'),
        ("peak = false", "", "2: search: it looks for nothing", "or peak = true"),
        ('objective = "fast"', "", '3: search.objective: "fast" is not an objective', "p99<10ms"),
        ('objective = "p98<1s"', "", '3: search.objective: "p98" is not one of min, mean', "p99"),
        ('objective = "p99<1.5"', "", '3: search.objective: "p99<1.5": p99 needs', '"p99<1.5ms"'),
        ('objective = "p99<soon"', "", '3: search.objective: "soon" is not a time', '"500ms"'),
        (
            f"{SLO}\nslo = 1",
            "",
            "4: search.slo: there is no such key",
            "objective, peak, most_users",
        ),
        (f"{SLO}\nmost_users = 8", "", "4: search.most_users: only the way to the peak", "peak"),
        (SLO, "ladder = [1, 8]", "1: ladder: a search drives all its rates with", "ladder = [8]"),
        ("peak = true", "ladder = [8]", "1: ladder: on its way to the peak", "most_users"),
        (SLO, "rates = [100]", "1: rates: a search chooses the rates itself", "leave it out"),
        ("peak = true", "rates = [100]", "1: rates: a search chooses the rates itself", "search"),
        (SLO, 'phases = "busy 5s 16"', "1: phases: a search chooses levels itself", "leave it out"),
        (SLO, 'max_load = ["threads_running>9"]', "1: max_load: a load that is held", "abort_if"),
        (SLO, 'think = "1s"', "1: think: events are due by a rate", "leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_stands(
    search: str, above: str, said: str, write: str
) -> None:
    with pytest.raises(ExperimentRefused) as refused:
        parsed(search, above)
    assert refused.value.message.startswith(f"x.toml:{said}")
    assert write in (refused.value.hint or "")


def test_a_mix_has_no_level_to_look_for() -> None:
    text = f"[search]\n{SLO}\n[sandbox]\n[[workload]]\n{MIX}"
    with pytest.raises(ExperimentRefused) as refused:
        parse_experiment(text, "x.toml", MACHINE)
    assert refused.value.message == (
        "x.toml:5: workload[1].mix: a search looks for the level of one workload"
    )


def test_thinking_users_may_climb_to_their_peak() -> None:
    assert parsed("peak = true", 'think = "10ms"').search == SearchPlan(peak=True)
