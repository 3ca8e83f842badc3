"""The settings that a client asks of its session."""

from __future__ import annotations

import pytest

from loadstone.pgbench.connecting import meant_by
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Place
from loadstone.pgbench.startup import VARIABLE, statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("-c geqo=off", ("SET geqo = 'off'",)),
        ("-cgeqo=off  --work-mem=4MB", ("SET geqo = 'off'", "SET work_mem = '4MB'")),
        (
            r"-c default_transaction_isolation=repeatable\ read",
            ("SET default_transaction_isolation = 'repeatable read'",),
        ),
        (r"-c my.name=it's\\", (r"SET my.name = 'it''s\'",)),
    ],
)
def test_each_setting_is_a_statement(text: str, expected: tuple[str, ...]) -> None:
    assert statements(text, {}) == expected
    assert statements(None, {VARIABLE: text}) == expected


def test_the_parameter_goes_before_the_environment() -> None:
    environment = {VARIABLE: "-c geqo=off"}
    for database in (
        "host=db1 user=u options='-c geqo=on'",
        "postgresql://u@db1/shop?options=-c%20geqo=on",
    ):
        found = meant_by(Place(database=database), environment)
        assert found.startup == ("SET geqo = 'on'",)
        assert found.endpoint.target.host == "db1"
    assert meant_by(Place("db1", user="u"), environment).startup == ("SET geqo = 'off'",)


@pytest.mark.parametrize("text", ["-x", "word", "-c", "-c geqo", "-c 1a=2", "--"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(Failed):
        statements(text, {})
