"""Loadstone's own statements are distinguished from those of others."""

from __future__ import annotations

import pytest

from loadstone.mysql.own_statements import MARK, is_own

OWN = [
    f"{MARK} SELECT 1",
    "SELECT table_name, layout, state FROM `sbtest`.loadstone_tables",
    "SELECT GET_LOCK('loadstone.sbtest.1', 0)",
    "SELECT IS_USED_LOCK('loadstone.sbtest'), CONNECTION_ID()",
    "PREPARE loadstone_trial FROM 'SELECT 1'",
    "LOAD DATA LOCAL INFILE 'loadstone' INTO TABLE `sbtest1` CHARACTER SET binary (id, k, c, pad)",
    "SELECT @@GLOBAL.local_infile",
    "SELECT 1 FROM `sbtest1` LIMIT 0",
]
OF_OTHERS = [
    "SELECT c FROM sbtest1 WHERE id = 1",
    "SELECT name FROM loadstone_ledger1",
    "INSERT INTO visits (page) VALUES ('loadstone.example')",
    "SELECT GET_LOCK('cron', 0)",
    "SELECT @@session.transaction_isolation",
    "SELECT COUNT(*) FROM `orders`",
    "/* shop */ SELECT 1 FROM `a` LIMIT 10",
]


@pytest.mark.parametrize("sql", OWN)
def test_own_statements_are_known(sql: str) -> None:
    assert is_own(sql)


@pytest.mark.parametrize("sql", OF_OTHERS)
def test_statements_of_others_are_not_taken_for_ours(sql: str) -> None:
    assert not is_own(sql)
