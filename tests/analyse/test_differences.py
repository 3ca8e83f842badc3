"""What differs between two hosts: what was changed on purpose, and nothing else."""

from __future__ import annotations

import pytest

from analyse.runs import HOST, VARIABLES, a_run, environment, repeats
from loadstone.analyse.differences import NO_SUCH, Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.meaning import WEIGHTS
from loadstone.analyse.mysql.setting_effects import MEANINGS, PLACES
from loadstone.analyse.paired_sides import Run, parts_of

ELSEWHERE = {
    "datadir": "/data/mysql/",
    "hostname": "bravo",
    "port": "3307",
    "log_bin_basename": "/data/mysql/binlog",
    "server_uuid": "b",
    "gtid_binlog_pos": "0-1-99",
}


def found(**sides: Run) -> Differences:
    return differences(
        {name: [surroundings_of(part) for part in parts_of(run)] for name, run in sides.items()}
    )


def run_with(variables: dict[str, str] | None = None, host: dict[str, str] | None = None) -> Run:
    return a_run("x", repeats(100), around=environment(variables, host))


def test_equal_servers_in_other_places_do_not_differ() -> None:
    seen = found(a=run_with({"server_uuid": "a"}), b=run_with(ELSEWHERE))
    assert seen.rows == ()
    assert seen.not_evaluated == ()


def test_two_hosts_differ_in_what_was_changed_and_in_nothing_else() -> None:
    changed = {
        **ELSEWHERE,
        "version": "10.5.23-MariaDB-log",
        "innodb_flush_log_at_trx_commit": "2",
        "innodb_buffer_pool_size": "268435456",
        "innodb_buffer_pool_chunk_size": "4194304",
    }
    libc = {"libc": "glibc 2.31 (Debian GLIBC 2.31-13)", "os": "Debian GNU/Linux 11 (bullseye)"}
    seen = found(a=run_with(), b=run_with(changed, libc))
    assert [(row.group, row.name) for row in seen.rows] == [
        ("setting", "innodb_flush_log_at_trx_commit"),
        ("setting", "innodb_buffer_pool_size"),
        ("server", "version"),
        ("host", "os"),
        ("host", "libc"),
    ]
    assert seen.rows[0].weight == "unfair"
    assert seen.rows[0].values == ("1", "2")
    assert seen.rows[0].meaning is not None
    assert "power cut" in (seen.rows[0].meaning.durability or "")
    # What the server derives from the pool's size is reported alongside it.
    assert seen.rows[1].followers == (("innodb_buffer_pool_chunk_size", ("2097152", "4194304")),)
    assert [row.name for row in seen.durability] == ["innodb_flush_log_at_trx_commit"]


def test_a_setting_that_no_table_knows_comes_last() -> None:
    changed = {"aria_block_size": "4096", "sync_binlog": "0", "max_connections": "10"}
    seen = found(a=run_with({"max_connections": "20"}), b=run_with(changed))
    assert [row.name for row in seen.rows] == ["sync_binlog", "max_connections", "aria_block_size"]
    assert [row.weight for row in seen.rows] == ["unfair", "slow", "note"]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("innodb_doublewrite", "ON", "1"),
        ("innodb_doublewrite", "OFF", "0"),
        ("long_query_time", "10.000000", "10"),
        ("version", "10.11.6-MariaDB", "10.11.6-MariaDB-log"),
    ],
)
def test_ways_to_write_one_value_are_one(name: str, one: str, other: str) -> None:
    assert found(a=run_with({name: one}), b=run_with({name: other})).rows == ()


@pytest.mark.parametrize("name", sorted(MEANINGS.keys() - PLACES))
def test_every_setting_of_the_table_is_seen_to_differ(name: str) -> None:
    seen = found(a=run_with({name: "4"}), b=run_with({name: "8"}))
    (row,) = seen.rows
    assert (row.name, row.values) == (name, ("4", "8"))


def test_a_setting_has_one_name_whatever_the_server_calls_it() -> None:
    mariadb = {"tx_isolation": "REPEATABLE-READ", "rpl_semi_sync_master_enabled": "OFF"}
    mysql = {"transaction_isolation": "REPEATABLE-READ"}
    assert found(a=run_with(mariadb), b=run_with(mysql)).rows == ()
    waiting = {**mariadb, "rpl_semi_sync_master_enabled": "ON"}
    seen = found(a=run_with(waiting), b=run_with(mysql))
    assert [(row.name, row.values) for row in seen.rows] == [
        ("rpl_semi_sync_source_enabled", ("ON", NO_SUCH))
    ]


def test_only_what_differs_of_a_long_list_is_told() -> None:
    seen = found(a=run_with(), b=run_with({"optimizer_switch": "index_merge=on,mrr=on"}))
    assert [row.values for row in seen.rows] == [("mrr=off", "mrr=on")]


def test_what_is_not_known_is_neither_equal_nor_different() -> None:
    known = {name: text for name, text in HOST.items() if name != "governor"}
    around = environment()
    around["targets"][0]["host"] = {"known": known, "not_evaluated": {"governor": "hidden"}}
    seen = found(a=run_with(), b=a_run("b", repeats(100), around=around))
    assert seen.rows == ()
    assert seen.not_evaluated == (("CPU governor", (("b", "hidden"),)),)


def test_a_libc_of_which_only_the_version_is_known_may_be_the_same() -> None:
    assert found(a=run_with(), b=run_with(None, {"libc": "glibc 2.36"})).rows == ()
    seen = found(a=run_with(), b=run_with(None, {"libc": "glibc 2.17"}))
    assert [row.name for row in seen.rows] == ["libc"]


def test_the_setting_of_a_log_that_is_not_there_is_no_warning() -> None:
    off = {"log_bin": "OFF"}
    seen = found(a=run_with(off), b=run_with({**off, "sync_binlog": "0"}))
    assert [(row.name, row.weight) for row in seen.rows] == [("sync_binlog", "note")]


def test_settings_that_one_server_does_not_have_are_counted() -> None:
    mysql = {"version": "9.7.0", "innodb_redo_log_capacity": "104857600", "mysql_only": "1"}
    seen = found(a=run_with(), b=run_with(mysql))
    assert [row.name for row in seen.rows] == ["innodb_redo_log_capacity", "version"]
    assert dict(seen.on_one_side) == {"mysql_only": (NO_SUCH, "1")}
    assert seen.rows[0].values == (NO_SUCH, "104857600")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"targets": None, "generator": [], "variants": 7},
        {"targets": [7, {"variables": [], "host": {"known": 7}}]},
        {"targets": [{"variables": {"version": 8, "port": None}, "host": {"unheard": {}}}]},
    ],
)
def test_a_damaged_document_is_not_evaluated(document: dict[str, object]) -> None:
    seen = found(a=run_with(), b=a_run("b", repeats(100), around=document))
    assert "settings" in dict(seen.not_evaluated)
    assert [row.name for row in seen.rows if row.group != "generator"] == []


def test_other_work_is_unfair() -> None:
    other = a_run("b", repeats(100))
    assert other.result.run.plan is not None
    other.result.run.plan["workload"]["table_size"] = 10
    seen = found(a=run_with(), b=other)
    assert [(row.group, row.name, row.weight) for row in seen.rows] == [("work", "rows", "unfair")]
    assert seen.other_work == seen.rows
    assert seen.durability == ()
    other.result.run.plan["workload"] |= {"table_size": 1000, "warehouses": 2}
    seen = found(a=run_with(), b=other)
    assert [row.name for row in seen.other_work] == ["warehouses"]
    other.result.run.plan["workload"] |= {"warehouses": 0, "template": {"transactions": []}}
    seen = found(a=run_with(), b=other)
    assert [row.name for row in seen.other_work] == ["template"]


def test_all_that_is_said_of_settings_is_a_phrase() -> None:
    for name, meaning in MEANINGS.items():
        assert meaning.weight in WEIGHTS
        assert (meaning.weight == "unfair") is (meaning.durability is not None), name
        for text in filter(None, (meaning.performance, meaning.durability)):
            assert text[0] == text[0].lower() or text.startswith(("O_", "AFTER")), name
            assert not text.endswith("."), name


def test_the_made_up_variables_hold_what_the_cases_change() -> None:
    assert VARIABLES["innodb_flush_log_at_trx_commit"] == "1"


def test_members_of_a_list_that_only_one_server_knows_are_no_difference() -> None:
    own = found(a=run_with(), b=run_with({"optimizer_switch": "index_merge=on,mrr=off,hash=on"}))
    assert own.rows == ()
    assert own.on_one_side["optimizer_switch"] == ("", "hash=on")
    both = found(a=run_with(), b=run_with({"optimizer_switch": "index_merge=on,mrr=on,hash=on"}))
    assert [row.values for row in both.rows] == [("mrr=off", "mrr=on")]


def test_directories_next_to_the_data_do_not_differ_by_the_names_of_folders() -> None:
    one = {"datadir": "/tmp/rep-1/data/", "tmpdir": "/tmp/rep-1/tmp"}
    other = {"datadir": "/tmp/rep-2/data/", "tmpdir": "/tmp/rep-2/tmp"}
    assert found(a=run_with(one), b=run_with(other)).rows == ()
    elsewhere = found(a=run_with(one), b=run_with({**other, "tmpdir": "/dev/shm"}))
    assert [row.name for row in elsewhere.rows] == ["tmpdir"]


def on_postgresql(**variables: str) -> Run:
    around = environment(dict(variables))
    around["targets"] = [
        {**around["targets"][0], "target": "postgresql://u@h/db", "variables": variables}
    ]
    return a_run("x", repeats(100), around=around)


@pytest.mark.parametrize(
    ("mysql", "postgresql", "told"),
    [
        ({}, {"fsync": "off"}, ((NO_SUCH, "fsync=off"),)),
        ({}, {"fsync": "on"}, ()),
        ({"innodb_flush_log_at_trx_commit": "2"}, {"synchronous_commit": "off"}, ()),
        (
            {"innodb_flush_log_at_trx_commit": "2"},
            {"fsync": "on"},
            (("innodb_flush_log_at_trx_commit=2", NO_SUCH),),
        ),
    ],
)
def test_of_two_families_what_only_one_may_lose_is_told(
    mysql: dict[str, str], postgresql: dict[str, str], told: tuple[tuple[str, str], ...]
) -> None:
    seen = found(a=run_with(mysql), b=on_postgresql(**postgresql))
    assert tuple(row.values for row in seen.durability if row.name == "lost_in_a_crash") == told


def test_an_isolation_level_is_the_same_in_each_family_s_spelling() -> None:
    mysql = run_with({"transaction_isolation": "READ-COMMITTED"})
    same = found(a=mysql, b=on_postgresql(transaction_isolation="read committed"))
    other = found(a=mysql, b=on_postgresql(transaction_isolation="serializable"))
    assert "transaction_isolation" not in [row.name for row in same.rows]
    assert "transaction_isolation" in [row.name for row in other.rows]
