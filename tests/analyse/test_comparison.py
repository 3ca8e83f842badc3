"""What excludes a step from a comparison, whatever its result."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from loadstone.analyse.comparison import spoiled
from loadstone.model.experiment import CgroupLimit, Level, Variant
from loadstone.model.result import HostFigures

LIMITED = Variant(levels=(("size", Level(name="small", cgroup=CgroupLimit(cores=1))),))


@pytest.mark.parametrize(("steal", "found"), [(0.05, set()), (0.11, {"steal"})])
@pytest.mark.parametrize("where", ["host", "generator_host"])
def test_a_machine_that_others_have_is_none(where: str, steal: float, found: set[str]) -> None:
    host = HostFigures(seconds=10.0, cpu_steal=steal)
    step = a_step().model_copy(update={where: host})
    assert spoiled(step, Variant()) == found


def test_a_limit_that_was_asked_for_spoils_nothing() -> None:
    host = HostFigures(seconds=10.0, rates={"cgroup.throttled_s": 0.3})
    assert spoiled(a_step(host=host), Variant()) == {"throttled"}
    assert spoiled(a_step(host=host), LIMITED) == set()
