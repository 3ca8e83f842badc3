"""What pg_stat_statements counted between two readings."""

from __future__ import annotations

import pytest

from loadstone.observe.postgresql.statements import Counted, Grown, Sums, grown, with_n

COUNTS = ("exec_ms", "calls", "rows", "hit", "read", "temp", "wal")
MANY = 5000


def sums(calls: int, exec_ms: float) -> Sums:
    """A row of the view; the other columns are zero."""
    return (exec_ms, float(calls), *[0.0] * 8)


def reading(**rows: tuple[int, float]) -> Counted:
    """Calls and milliseconds, by a letter that makes the statement."""
    return Counted(
        {(name, "10"): sums(*row) for name, row in rows.items()},
        {name: f"SELECT {name} FROM t" for name in rows},
        COUNTS,
    )


def test_statements_beyond_the_longest_are_summed_up() -> None:
    after = reading(**{f"s{chr(97 + at)}": (2, 1000.0 * (30 - at)) for at in range(25)})
    found = grown(reading(), after)
    assert isinstance(found, Grown)
    assert len(found.shown) == 20
    assert found.shown[0].statement == "SELECT sa FROM t"
    assert found.rest is not None
    assert (found.rest.statement, found.rest.calls) == ("", 10)
    assert found.rest.exec_s == 10 + 9 + 8 + 7 + 6
    assert found.rest.plan_s is None


def test_without_others_there_is_no_rest() -> None:
    found = grown(reading(a=(1, 1.0)), reading(a=(3, 5.0)))
    assert isinstance(found, Grown)
    assert (found.shown[0].calls, found.rest) == (2, None)


def test_a_new_statement_beside_more_than_are_read_is_the_reason() -> None:
    old = {f"s{at}": (1, 9.0) for at in range(MANY)}
    found = grown(reading(**old), reading(**old, new=(5, 10.0)))
    assert isinstance(found, str)
    assert "5000 or more statements" in found


def test_statements_that_the_user_may_not_see_are_the_reason() -> None:
    found = grown(Counted(), Counted(hides=True))
    assert isinstance(found, str)
    assert "GRANT pg_read_all_stats" in found
    assert grown(Counted(), Counted()) == "pg_stat_statements has counted no statement of the load"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("SELECT c FROM sbtest12 WHERE id=$1", "SELECT c FROM sbtestN WHERE id=?"),
        ("SELECT a FROM t1 JOIN t2 ON x > $1", "SELECT a FROM t1 JOIN t2 ON x > ?"),
        (
            "UPDATE t1 SET k1=k1+$1 WHERE i IN ($2, $3) -- x",
            "UPDATE tN SET k1=k1+? WHERE i IN (?, ?)",
        ),
        ("SET x = 'a secret that is cut o", "SET …"),
        ("/*user=4711,secret" + "x" * 1000, "…"),
        ("SELECT/*secret, cut o", "SELECT …"),
    ],
)
def test_values_are_left_out_and_numbers_of_tables(written: str, shown: str) -> None:
    assert with_n(written) == shown
