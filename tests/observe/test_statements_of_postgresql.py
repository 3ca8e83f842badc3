"""What pg_stat_statements counted between two readings."""

from __future__ import annotations

from loadstone.observe.postgresql.statements import Counted, Grown, Sums, grown

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
