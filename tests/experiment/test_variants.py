"""What a variant asks for, from all its levels together."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.variants import drive_of, line_of, place_of, step_plan
from loadstone.model.experiment import Experiment, Factor, Level, NetworkLimit, SandboxChoice
from loadstone.model.plan import WorkloadSpec
from loadstone.model.target import Target

SLOW = Level(name="slow", network=NetworkLimit(bits_per_s=10**6))
FAR = Level(name="far", network=NetworkLimit(delay_s=0.001))


def experiment(*factors: tuple[Level, ...], **more: object) -> Experiment:
    asked = {
        "name": "x",
        "workloads": (WorkloadSpec(name="w", tables=1, table_size=1),),
        "ladder": (1,),
        "factors": [
            Factor(name=f"f{number}", levels=levels) for number, levels in enumerate(factors)
        ],
    }
    return Experiment.model_validate(asked | {"sandbox": SandboxChoice()} | more)


def test_limits_of_a_line_are_those_of_all_levels_together() -> None:
    asked = experiment((Level(name="fast"), SLOW), (Level(name="near"), FAR))
    assert [line_of(variant) for variant in asked.variants] == [
        None,
        NetworkLimit(delay_s=0.001),
        NetworkLimit(bits_per_s=10**6),
        NetworkLimit(bits_per_s=10**6, delay_s=0.001),
    ]
    # The same server and the same line for all: only the queues differ.
    assert len({place_of(asked, variant).key for variant in asked.variants}) == 1
    assert place_of(asked, asked.variants[0]).apart


def test_without_a_limited_line_a_sandbox_stays_here() -> None:
    asked = experiment((Level(name="a"), Level(name="b", dynamic={"x": "1"})))
    assert not any(place_of(asked, variant).apart for variant in asked.variants)


def test_a_level_may_have_its_server_from_another_system() -> None:
    old = Level(name="old", sandbox=SandboxChoice(root=Path("/srv/old")))
    own = Level(name="own", target=Target(host="db1"))
    base = SandboxChoice(server="mariadb", settings={"a": "1"})
    asked = experiment((Level(name="here"), old, own), sandbox=base)
    here, elsewhere, target = (place_of(asked, variant) for variant in asked.variants)
    assert here.sandbox is not None and elsewhere.sandbox is not None
    assert (here.sandbox.root, elsewhere.sandbox.root) == (None, Path("/srv/old"))
    assert elsewhere.sandbox.server == "mariadb" and elsewhere.sandbox.settings == {"a": "1"}
    assert target.sandbox is None and target.target == own.target


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "mysql://me@db/s",
            ("SET SESSION sort_buffer_size = 2097152", "SET SESSION tmp_dir = 'O''N'"),
        ),
        (
            "postgresql://me@db/s",
            ("SET SESSION \"sort_buffer_size\" = '2M'", "SET SESSION \"tmp_dir\" = 'O''N'"),
        ),
    ],
)
def test_variables_of_sessions_become_statements_after_those_of_the_file(
    url: str, said: tuple[str, ...]
) -> None:
    text = f"""
target = "{url}"
init_sql = ["SELECT 1"]
[[workload]]
name = "oltp_read_only"
[factor.memory.small]
[factor.memory.large]
session = {{ sort_buffer_size = "2M", tmp_dir = "O'N" }}
"""
    experiment = parse_experiment(text, "x.toml", Machine(is_root=True, cores=4)).experiment
    assert experiment.target
    for variant, wanted in zip(experiment.variants, ((), said), strict=True):
        drive = drive_of(experiment, variant, 1, 1)
        plan = step_plan(experiment, experiment.workloads[0], [experiment.target], drive)
        assert plan.drive.session.init_sql == ("SELECT 1", *wanted)
        assert not plan.drive.session.variables
