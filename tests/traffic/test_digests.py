"""Digests become a template: without Loadstone's own statements, with facts of each table."""

from __future__ import annotations

from loadstone.mysql import dialect
from loadstone.traffic import digests as of_mysql
from loadstone.traffic.build_template import Draft, draft
from loadstone.traffic.columns import ByColumn, ColumnFacts
from loadstone.traffic.counted_statements import Digest, groups_of
from loadstone.traffic.entries import OWN, ReadStats

OF_PREPARE = (
    "SELECT ? FROM `sbtest1` LIMIT ?",
    "SELECT COUNT ( * ) FROM `sbtest2`",
    "SELECT MAX ( `id` ) FROM `sbtest2`",
    "SELECT @@GLOBAL . `local_infile`",
    "SELECT `table_name` , `layout` FROM `sbtest` . `loadstone_tables`",
)
MADE = ("sbtest1", "sbtest2")


def draft_of(*texts: str, stats: ReadStats, facts: ByColumn | None = None) -> Draft:
    digests = [Digest(str(at), text, None, 10 + at) for at, text in enumerate(texts)]
    groups, _ = groups_of(of_mysql, digests, stats, MADE)
    return draft(groups, stats, dialect, 200, facts or ByColumn({}))


def test_what_prepare_sends_is_left_out_and_counted() -> None:
    stats = ReadStats("db1")
    assert draft_of(*OF_PREPARE, stats=stats).transactions == ()
    assert stats.left_out == {OWN: 10 + 11 + 12 + 13 + 14}


def test_the_same_on_tables_of_others_and_similar_statements_stay() -> None:
    stats = ReadStats("db1")
    theirs = (
        "SELECT COUNT ( * ) FROM `orders`",
        "SELECT COUNT ( * ) FROM `sbtest1` WHERE `k` = ?",
        "SELECT ? FROM `orders` LIMIT ?",
        "SELECT `c` FROM `sbtest1` WHERE `id` = ?",
    )
    assert draft_of(*theirs, stats=stats).statements == 10 + 11 + 12 + 13
    assert not stats.left_out


def test_the_sample_of_mysql_shows_whose_statement_it_is() -> None:
    stats = ReadStats("db1")
    digest = Digest("1", "SELECT `a` FROM `t`", "/* loadstone */ SELECT a FROM t", 3)
    assert groups_of(of_mysql, [digest], stats) == ([], set())
    assert stats.left_out == {OWN: 3}


def test_a_numbered_table_has_the_range_of_its_own_column() -> None:
    def fact(last: int) -> ColumnFacts:
        return ColumnFacts("int", None, None, (1, last), is_unique=True)

    facts = ByColumn({("sbtest1", "id"): fact(5000), ("sbtest2", "id"): fact(70)})
    sent = [f"SELECT `c` FROM `sbtest{number}` WHERE `id` IN ( ... )" for number in (1, 2)]
    sent += [f"SELECT `c` FROM `sbtest{number}` WHERE `id` = ?" for number in (1, 2)]
    found = draft_of(*sent, stats=ReadStats("db1"), facts=facts)
    said = {
        str(each.statements[0].sql): (each.parameters[0].keys, str(each.parameters[0].unknown))
        for each in found.transactions
        if each.parameters
    }
    for table, last in (("sbtest1", 5000), ("sbtest2", 70)):
        keys, unknown = said[f"SELECT `c` FROM `{table}` WHERE `id` = :id"]
        assert keys == {"integer": [1, last]}
        assert unknown.endswith(f"the range of {table}.id")
