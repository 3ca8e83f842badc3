"""What a variant asks for, from all its levels together."""

from __future__ import annotations

from pathlib import Path

from loadstone.experiments.variants import line_of, place_of
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
