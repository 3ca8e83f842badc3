"""Hot spots: what grew between two readings of performance_schema's sums."""

from __future__ import annotations

from loadstone.observe.hot_spots import Snapshot, Sums
from loadstone.observe.mysql.hot_spots import SWITCH_ON, difference

DIGEST = ("d1", "sbtest", "SELECT c  FROM sbtest1\nWHERE id = ?")


def a_snapshot(**kinds: Sums) -> Snapshot:
    return Snapshot({name.replace("_", " "): sums for name, sums in kinds.items()})


def statement(seconds: float, count: float, *rest: float) -> tuple[float, ...]:
    values = (seconds * 1e12, count, 0.0, *rest)
    return values + (0.0,) * (11 - len(values))


def test_only_what_grew_is_told_in_seconds_and_in_one_line() -> None:
    before = a_snapshot(statements={DIGEST: statement(1.0, 100), ("d2", "a", "x"): statement(9, 9)})
    after = a_snapshot(
        statements={DIGEST: statement(3.0, 150, 700), ("d2", "a", "x"): statement(9, 9)}
    )
    (spot,) = difference(before, after).statements
    assert (spot.count, spot.time_s, spot.rows_examined) == (50, 2.0, 700)
    assert spot.statement == "SELECT c FROM sbtest1 WHERE id = ?"


def test_statements_on_numbered_tables_are_one_with_their_sum() -> None:
    numbers = range(1, 251)
    text = "SELECT `c` FROM `sbtest{}` WHERE `id` = ?"
    after: Sums = {
        (f"d{number}", "sbtest", text.format(number)): statement(0.1, 10, 5) for number in numbers
    }
    after["e", "other", text.format(1)] = statement(1.0, 1)
    after["f", "sbtest", "UPDATE `sbtest7` SET `k` = ?"] = statement(0.5, 1)
    after["g", None, None] = statement(0.25, 1)
    spots = difference(a_snapshot(statements={}), a_snapshot(statements=after)).statements
    assert [spot.statement for spot in spots] == [
        "SELECT `c` FROM `sbtestN` WHERE `id` = ?",
        "SELECT `c` FROM `sbtest1` WHERE `id` = ?",
        "UPDATE `sbtest7` SET `k` = ?",
        "other statements",
    ]
    assert (spots[0].count, round(spots[0].time_s, 6), spots[0].rows_examined) == (2500, 25.0, 1250)
    assert [spot.schema_name for spot in spots] == ["sbtest", "other", "sbtest", None]


def test_the_longest_comes_first_and_ten_are_kept() -> None:
    waits: Sums = {(f"wait/{n}",): (n * 1e12, 1.0) for n in range(1, 30)}
    spots = difference(Snapshot({"waits": {}}), Snapshot({"waits": waits})).waits
    assert [spot.time_s for spot in spots] == [float(n) for n in range(29, 19, -1)]


def test_sums_that_were_reset_meanwhile_count_from_nought() -> None:
    before = Snapshot({"waits": {("wait/a",): (9e12, 50.0)}})
    after = Snapshot({"waits": {("wait/a",): (2e12, 5.0)}})
    (spot,) = difference(before, after).waits
    assert (spot.time_s, spot.count) == (2.0, 5)


def test_what_was_not_there_before_is_all_growth() -> None:
    (spot,) = difference(
        Snapshot({"files": {}}), Snapshot({"files": {("/a",): (1e12, 1, 2, 3, 4, 5)}})
    ).files
    assert (spot.reads, spot.writes, spot.syncs) == (1, 2, 3)
    assert (spot.read_bytes, spot.written_bytes) == (4, 5)


def test_files_are_named_from_the_data_directory_on() -> None:
    grown = (1e12, 1.0, 0.0, 0.0, 0.0, 0.0)
    files: Sums = {("/srv/a/data/sbtest/sbtest1.ibd",): grown, ("/srv/a/database/x",): grown}
    after = Snapshot({"files": files}, datadir="/srv/a/data/")
    spots = difference(Snapshot({"files": {}}), after).files
    assert {spot.file for spot in spots} == {"sbtest/sbtest1.ibd", "/srv/a/database/x"}


def test_table_locks_stand_beside_the_tables_rows() -> None:
    after = a_snapshot(
        tables={("sbtest", "sbtest1"): (3e12, 10.0, 4.0)},
        table_locks={("sbtest", "sbtest1"): (2e12,)},
    )
    (spot,) = difference(a_snapshot(tables={}, table_locks={}), after).tables
    assert (spot.table, spot.io_s, spot.lock_s) == ("sbtest.sbtest1", 3.0, 2.0)


def test_a_server_without_the_instruments_says_what_to_switch_on() -> None:
    off = Snapshot(refused={"statements": SWITCH_ON, "waits": SWITCH_ON})
    spots = difference(off, off)
    assert spots.statements == ()
    assert "performance_schema=ON" in spots.not_evaluated["statements"]


def test_instruments_that_summed_nothing_are_not_taken_for_a_server_at_rest() -> None:
    spots = difference(a_snapshot(statements={}, waits={}), a_snapshot(statements={}, waits={}))
    assert "setup_consumers" in spots.not_evaluated["waits"]
    assert "statements_digest" in spots.not_evaluated["statements"]


def test_what_was_not_read_before_is_not_taken_for_growth() -> None:
    refused = Snapshot(refused={"waits": "timed out"})
    after = Snapshot({"waits": {("wait/a",): (9e12, 1.0)}})
    assert difference(refused, after).waits == ()
    assert "timed out" in difference(refused, after).not_evaluated["waits"]


def _of_indexes(**used: tuple[float, float]) -> Sums:
    return {("shop", "t", None if name == "rows" else name): sums for name, sums in used.items()}


def test_indexes_into_which_nobody_looked_are_told_with_the_rows_inserted() -> None:
    before = Snapshot({"indexes": _of_indexes(rows=(50.0, 0.0), a=(0.0, 7.0), b=(0.0, 7.0))})
    after = _of_indexes(rows=(250.0, 0.0), a=(0.0, 9.0), b=(0.0, 7.0), c=(0.0, 0.0))
    (found,) = difference(before, Snapshot({"indexes": after})).unread or ()
    assert (found.table, found.inserted, found.indexes) == ("shop.t", 200, ("b", "c"))
    assert difference(before, before).unread == ()
    assert difference(Snapshot({}), Snapshot({"indexes": after})).unread is None


def test_stages_and_waits_for_the_servers_own_locks_are_counted_together() -> None:
    grown = Snapshot(
        {
            "waits": {("wait/synch/a",): (1e12, 5.0), ("wait/io/table/b",): (1e12, 9.0)},
            "stages": {("stage/sql/c",): (1e12, 40.0)},
        }
    )
    assert difference(Snapshot({"waits": {}, "stages": {}}), grown).fine_events == 45
    assert difference(Snapshot({"waits": {}}), Snapshot({"waits": {}})).fine_events is None
