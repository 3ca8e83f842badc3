"""All variables of real servers that may be drawn: tried, and put back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from faults.case import Draw, maker_of
from faults.drawn.handling import HANDLING
from faults.drawn.setting import try_setting
from loadstone.sandbox import SandboxSpec, start_sandbox
from pooled import need

ENOUGH = 100
"""Variables that a server of any release can be asked to change."""


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    "release",
    ["mariadb", "mysql", "mysql-8.0", "mysql-5.7", "postgresql-15", "postgresql-18"],
)
def test_each_variable_that_may_be_drawn_is_put_back(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    draw, how = Draw(random.Random("7"), maker_of(release)), HANDLING[maker_of(release)]
    with (
        start_sandbox(SandboxSpec(server=need(release))) as sandbox,
        sandbox.connect() as connection,
        connection.cursor() as cursor,
    ):
        before = how.values(cursor)
        found = []
        for variable in how.listed(cursor):
            value = how.drawn(draw, variable)
            found.append(value and try_setting(how, cursor, variable, value))
        after = how.values(cursor)
    assert len(found) > ENOUGH
    kept = [one for one in found if one]
    assert {one.at_start for one in kept} == {True, False}
    stuck = {one.name for one in kept if one.at_start}
    changed = {name for name, value in before.items() if after[name] != value}
    assert changed <= stuck, "put back, or left to a start of its own"
