"""Which variants may lose commits that others keep."""

from __future__ import annotations

from loadstone.analyse.durability import VariantSettings, settings_of_variants, warnings
from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment

HEAD = '[[workload]]\nname = "oltp_write_only"\n[sandbox]\nserver = "mariadb"\n'
DURABLE = {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON"}


def variants(text: str, *targets: dict[str, str]) -> dict[str, dict[str, str]]:
    found = settings_of(text, *targets)
    assert {one.family for one in found.values()} == {"mysql"}
    return {name: dict(one.variables) for name, one in found.items()}


def warned(variants: dict[str, dict[str, str]]) -> list[str]:
    one_family = {name: VariantSettings("mysql", each) for name, each in variants.items()}
    return [str(each) for each in warnings(one_family)]


def settings_of(text: str, *targets: dict[str, str]) -> dict[str, VariantSettings]:
    machine = Machine(is_root=True, cores=8)
    experiment = parse_experiment(HEAD + text, "d.toml", machine).experiment
    told = [{"target": each.get("target", ""), "variables": each} for each in targets]
    return settings_of_variants(experiment, told)


def test_what_a_variant_sets_while_the_server_runs_is_its_own() -> None:
    text = "[factor.d.full]\n[factor.d.relaxed]\ndynamic = { sync_binlog = 0 }\n"
    found = variants(text, DURABLE)
    assert found["d=full"]["sync_binlog"] == "1"
    (line,) = warned(found)
    told = "durability differs: sync_binlog is 1 (d=full), 0 (d=relaxed); a power cut loses "
    assert line.startswith(told)


def test_each_server_has_its_own_variables() -> None:
    text = (
        '[factor.d.here]\n[factor.d.there]\ntarget = { url = "mysql://u@db1/s" }\n'
        "[factor.e.x]\n[factor.e.y]\nclient = { prepared = false }\n"
    )
    found = variants(text, DURABLE, DURABLE | {"innodb_doublewrite": "OFF", "log_bin": "1"})
    assert found["d=there,e=y"]["innodb_doublewrite"] == "OFF"
    # Known of one server alone, it differs from nothing; a switch is the same in either word.
    assert warned(found) == []
    found["d=here,e=x"]["innodb_doublewrite"] = "ON"
    (line,) = warned(found)
    assert "off (d=there,e=x, d=there,e=y)" in line


def test_settings_of_a_start_come_before_what_the_first_server_said() -> None:
    text = "[factor.s.a]\n[factor.s.b]\nstartup = { innodb_flush_log_at_trx_commit = 2 }\n"
    (line,) = warned(variants(text, DURABLE))
    assert line.startswith("durability differs: innodb_flush_log_at_trx_commit is 1 (s=a), 2 (s=b)")


def test_alike_and_relaxed_is_told_as_well() -> None:
    relaxed = DURABLE | {"innodb_flush_log_at_trx_commit": "2"}
    found = variants("[factor.s.a]\n[factor.s.b]\nclient = { prepared = false }\n", relaxed)
    (line,) = warned(found)
    assert line == ("no variant has each commit on disk: innodb_flush_log_at_trx_commit = 2")


def test_nothing_known_is_nothing_said() -> None:
    assert warned({"a": {}, "b": {}}) == []


BOTH = """
[factor.s.mariadb]
[factor.s.postgresql]
target = { url = "postgresql://u@db1/s" }
"""
AT = {"target": "postgresql://u@db1/s"}


def test_switches_are_shown_as_the_server_writes_them() -> None:
    found = {
        name: VariantSettings("postgresql", {"synchronous_commit": value})
        for name, value in (("a", "on"), ("b", "off"))
    }
    (line,) = warnings(found)
    assert line.startswith("durability differs: synchronous_commit is on (a), off (b); ")


def test_servers_of_two_families_are_compared_by_what_a_crash_may_lose() -> None:
    safe = AT | {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    assert warnings(settings_of(BOTH, DURABLE, safe)) == []
    (line,) = warnings(settings_of(BOTH, DURABLE, safe | {"fsync": "off"}))
    assert line == "durability differs: with fsync=off (s=postgresql) a crash may lose commits"
    relaxed = DURABLE | {"sync_binlog": "0"}
    (line,) = warnings(settings_of(BOTH, relaxed, safe))
    assert line == "durability differs: with sync_binlog=0 (s=mariadb) a crash may lose commits"
    # On both sides: neither is better than the other.
    assert warnings(settings_of(BOTH, relaxed, safe | {"fsync": "off"})) == []
