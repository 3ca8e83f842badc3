"""Experiment files: what a valid one means, and which errors invalid ones get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from called import called
from loadstone.cli.errors import exit_code_of
from loadstone.config.problems import ExperimentRefused
from loadstone.engine import WorkloadInfo
from loadstone.experiments.checks import Machine, check_variables, check_workloads
from loadstone.experiments.file import ExperimentFile, parse_experiment, read_experiment
from loadstone.experiments.variants import client_of, place_of, protocol_of, spoken_to
from loadstone.model.cluster import ClusterAsked
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment, SandboxChoice, Until
from loadstone.model.plan import Rate, Uniform, WarmupAuto, WarmupSeconds
from loadstone.model.target import Credentials, Endpoint, Target, Tls

MACHINE = Machine(is_root=True, cores=8, memory_bytes=16 * 1024**3)
DOCUMENT = Path(__file__).parents[2] / "docs" / "experiments.md"

GOOD = """\
name = "pool"
duration = "90s"
warmup = "10s"
ladder = [8, 64]
repeats = 6
until = "2%"
time_limit = "2h"
margin = "5%"

[sandbox]
server = "mariadb"
settings = { innodb-buffer-pool-size = "256M", performance_schema = false }

[[workload]]
name = "oltp_read_write"
tables = 10
table_size = "10k"
options = { point-selects = 5 }
distribution = "uniform"

[factor.pool.off]
[factor.pool.on]
startup = { thread_handling = "pool-of-threads", thread_pool_size = 4 }

[factor.durability.full]
[factor.durability.relaxed]
dynamic = { sync_binlog = 0 }
client = { tls = "disabled", prepared = false, compression = "zstd,zlib" }
"""


def parsed(text: str, machine: Machine = MACHINE) -> ExperimentFile:
    return parse_experiment(text, "pool.toml", machine)


def good(text: str) -> Experiment:
    return parsed(text).experiment


def test_a_good_file_means_what_it_says() -> None:
    found = good(GOOD)
    assert (found.name, found.duration_s, found.ladder) == ("pool", 90.0, (8, 64))
    assert found.warmup == WarmupSeconds(warmup_s=10.0)
    assert found.until == Until(half_width=0.02, time_limit_s=7200.0)
    assert (found.rules.level, found.rules.margin) == (0.05, 0.05)
    assert found.sandbox == SandboxChoice(
        server="mariadb",
        settings={"innodb_buffer_pool_size": "256M", "performance_schema": "OFF"},
    )
    (workload,) = found.workloads
    assert (workload.table_size, workload.options) == (10_000, {"point_selects": 5})
    assert workload.distribution == Uniform()


def on_cluster(level: str = "") -> str:
    return f"""\
[target]
url = "mysql://bench@db1/sbtest"
[cluster]
address = "10.0.0.1:6379"
generators = 3
on_node_loss = "repeat"
[[workload]]
name = "oltp_read_only"
[factor.way.a]
[factor.way.b]
client = {{ tls = "required"{level} }}
"""


def test_a_ladder_may_be_a_range() -> None:
    found = good(GOOD.replace("[8, 64]", '"1..8, 64"'))
    assert found.ladder == (1, 2, 4, 8, 64)


def test_a_file_may_name_the_machines_that_drive() -> None:
    cluster = ClusterAsked(address="10.0.0.1:6379", generators=3, on_node_loss="repeat")
    assert good(on_cluster()).cluster == cluster
    with pytest.raises(ExperimentRefused, match="a unix socket cannot be reached from other"):
        good(on_cluster(', connect = "socket"'))


def test_variants_are_each_level_with_each_of_the_others() -> None:
    variants = good(GOOD).variants
    assert [variant.name for variant in variants] == [
        "pool=off,durability=full",
        "pool=off,durability=relaxed",
        "pool=on,durability=full",
        "pool=on,durability=relaxed",
    ]
    assert variants[3].startup == {"thread_handling": "pool-of-threads", "thread_pool_size": "4"}
    assert variants[3].dynamic == {"sync_binlog": "0"}
    assert good(GOOD).restarting == {"pool"}


def test_what_is_not_said_has_a_default() -> None:
    found = good('[sandbox]\n[workload]\nname = "oltp_read_only"\n')
    assert (found.name, found.ladder, found.repeats) == ("pool", (1,), 6)
    assert found.warmup == WarmupAuto()
    assert found.until is None
    assert [variant.name for variant in found.variants] == ["default"]


def test_open_loops_and_targets() -> None:
    found = good(
        'rates = [1000, "2k", "1k..8k/60s"]\n[target]\nurl = "mysql://bench@db1:3306/sbtest"\n'
        '[[workload]]\nname = "hot_row"\n'
    )
    assert found.rates == (Rate(rate=1000), Rate(rate=2000), Rate(rate=1000, to=8000, over_s=60))
    assert found.target is not None and found.target.host == "db1"


def test_a_target_may_be_its_address_alone() -> None:
    found = good('target = "mysql://bench@db1:3306/sbtest"\n[[workload]]\nname = "hot_row"\n')
    assert (
        found.target
        == good(
            '[target]\nurl = "mysql://bench@db1:3306/sbtest"\n[[workload]]\nname = "hot_row"\n'
        ).target
    )
    with pytest.raises(ExperimentRefused, match=r"^\S+:1: target.*mysql"):
        parsed('target = "db1"\n[[workload]]\nname = "hot_row"\n')


def test_levels_may_bring_the_only_servers() -> None:
    text = """\
[[workload]]
name = "oltp_read_only"
[factor.cloud.a]
target.url = "mysql://u@a/x"
[factor.cloud.b]
target.url = "mysql://u@b/x"
"""
    assert [variant.name for variant in good(text).variants] == ["cloud=a", "cloud=b"]


def test_a_client_may_name_versions_and_ciphers_of_tls() -> None:
    suites = "AES256-SHA:DHE-RSA-AES256-SHA, AES128-SHA"
    old = f'tls = "required", tls_version = "tlsv1.1,TLSv1", tls_cipher = "{suites}"'
    base = GOOD.replace('tls = "disabled", ', "")
    client = good(base + f"[factor.suite.today]\n[factor.suite.old]\nclient = {{ {old} }}\n")
    found = client.factors[2].levels[1].client
    assert found is not None
    assert found.tls_version == ("TLSv1.1", "TLSv1")
    assert found.tls_cipher == ("AES256-SHA", "DHE-RSA-AES256-SHA", "AES128-SHA")
    endpoint = Endpoint(target=Target(host="db1"), credentials=Credentials())
    (spoken,) = spoken_to(endpoint, found)
    assert spoken.target.tls == Tls(
        mode="required", versions=found.tls_version, ciphers=found.tls_cipher
    )
    for wrong, said in (
        ('tls_version = "SSLv3"', "tls-version is 'SSLv3', not one of TLSv1"),
        ('tls_cipher = ":"', "it names no cipher"),
    ):
        with pytest.raises(ExperimentRefused, match=said):
            parsed(base + f"[factor.suite.a]\n[factor.suite.b]\nclient = {{ {wrong} }}\n")


def test_limits_of_an_instance() -> None:
    text = GOOD + (
        '[factor.size.small]\ncgroup = { cores = 2, memory = "4G", write_iops = 1000 }\n'
        '[factor.size.large]\ncgroup = { cores = 4, memory = "8G" }\n'
        '[factor.line.slow]\nnetwork = { rate = "1Gbit", delay = "500us" }\n[factor.line.fast]\n'
    )
    small = good(text).factors[2].levels[0].cgroup
    assert small is not None
    assert (small.cores, small.memory_bytes, small.write_iops) == (2.0, 4 * 1024**3, 1000)
    slow = good(text).factors[3].levels[0].network
    assert slow is not None
    assert slow.bits_per_s == 1_000_000_000
    assert slow.delay_s == pytest.approx(0.0005)


@dataclass(frozen=True)
class Bad:
    """`was` in the valid file becomes `now`; the message names line and key, and what to write."""

    says: str
    line: int
    key: str
    what: str
    write: str
    was: str = ""
    now: str = ""


BAD = [
    Bad("not TOML", 2, "", "it is not TOML", "duration", 'duration = "90s"', "duration = 90s"),
    Bad("an unknown key", 2, "duraton", "no such key", "did you mean duration?", "duration ="
        , "duraton ="),
    Bad("an unknown key of a level", 23, "factor.pool.on.start_up", "no such key",
        "did you mean startup?", "startup = {", "start_up = {"),
    Bad("a duration of zero", 2, "duration", "of zero", '"30s"', '"90s"', '"0s"'),
    Bad("a duration that is none", 2, "duration", '"soon" is not a time', '"30s"', '"90s"'
        , '"soon"'),
    Bad("an empty ladder", 4, "ladder", "not a list of at least one", "[1, 8, 64]",
        "[8, 64]", "[]"),
    Bad("no users", 4, "ladder[1]", "0 is not a number from 1", "1 or more", "[8, 64]", "[0, 64]"),
    Bad("a level of the ladder twice", 4, "ladder", "8 is there twice", "repeats", "[8, 64]"
        , "[8, 8]"),
    Bad("a range that falls", 4, "ladder", "'8..1' does not rise", "1..128", "[8, 64]", '"8..1"'),
    Bad("repeats in words", 5, "repeats", '"six" is not a number', "whole number", "repeats = 6"
        , 'repeats = "six"'),
    Bad("uneven repeats", 5, "repeats", "AB and BA", "repeats = 8", "repeats = 6", "repeats = 7"),
    Bad("until nothing is unknown", 6, "until", "share", '"2%"', '"2%"', '"0%"'),
    Bad("a limit that nothing waits for", 6, "time_limit", "there is nothing to wait for", "until",
        'until = "2%"\n', ""),
    Bad("no target", 1, "target", "neither a target nor a sandbox", "[sandbox]",
        GOOD[GOOD.index("[sandbox]"):GOOD.index("[[workload]]")], ""),
    Bad("two places", 21, "target", "both a target and a sandbox", "leave one out",
        "[factor.pool.off]", '[target]\nurl = "mysql://u@h/x"\n[factor.pool.off]'),
    Bad("a password in the file", 22, "target.url", "has a password", "LOADSTONE_PASSWORD",
        "[factor.pool.off]", '[target]\nurl = "mysql://u:secret@h/x"\n[factor.pool.off]'),
    Bad("not a URL", 22, "target.url", "not a target's URL", "mysql://",
        "[factor.pool.off]", '[target]\nurl = "db1:3306"\n[factor.pool.off]'),
    Bad("a cluster without an address", 21, "cluster", "no address", "address =",
        "[factor.pool.off]", "[cluster]\ngenerators = 2\n[factor.pool.off]"),
    Bad("a cluster without a generator", 23, "cluster.generators", "not a number from 1", "1",
        "[factor.pool.off]", '[cluster]\naddress = "h:1"\ngenerators = 0\n[factor.pool.off]'),
    Bad("a cluster that nobody knows what to do about", 23, "cluster.on_node_loss",
        '"wait" is not one of "continue"', "write one of",
        "[factor.pool.off]",
        '[cluster]\naddress = "h:1"\non_node_loss = "wait"\n[factor.pool.off]'),
    Bad("a sandbox that a cluster does not reach", 21, "cluster", "throwaway server cannot be",
        "leave [cluster] out", "[factor.pool.off]",
        '[cluster]\naddress = "h:1"\n[factor.pool.off]'),
    Bad("no workload", 1, "workload", "no workload", "[[workload]]",
        GOOD[GOOD.index("[[workload]]"):GOOD.index("[factor.pool.off]")], ""),
    Bad("a workload twice", 22, "workload[2].name", "there twice", "levels",
        "[factor.pool.off]", '[[workload]]\nname = "oltp_read_write"\n[factor.pool.off]'),
    Bad("two levels that are the same", 26, "factor.durability.relaxed", "same as the level full",
        "leave one out", GOOD[GOOD.index("dynamic ="):], ""),
    Bad("a factor of one level", 21, "factor.pool", "fewer than two", "[factor.pool.off]",
        "[factor.pool.off]\n", ""),
    Bad("a variable set twice in a level", 24, "factor.pool.on.dynamic", "at the start and while",
        "one of the two", "thread_pool_size = 4 }\n",
        "thread_pool_size = 4 }\ndynamic = { thread_pool_size = 8 }\n"),
    Bad("a variable of the server and of each session", 24, "factor.pool.on.session",
        "for the server and for each session", "one of the two", "thread_pool_size = 4 }\n",
        "thread_pool_size = 4 }\nsession = { thread_pool_size = 8 }\n"),
    Bad("a variable of sessions set by two factors", 28,
        "factor.durability.relaxed.dynamic.sync_binlog", "the factor pool sets sync_binlog",
        "one factor", "startup = {", "session = { sync_binlog = 1 }\nstartup = {"),
    Bad("a variable set by two factors", 27, "factor.durability.relaxed.dynamic.sync_binlog",
        "the factor pool sets sync_binlog", "one factor", "thread_pool_size = 4",
        "sync_binlog = 4"),
    Bad("a variable that is a list", 23, "factor.pool.on.startup.thread_pool_size",
        "not a plain value", "a number", "thread_pool_size = 4", "thread_pool_size = [4]"),
    Bad("a mode that TLS has not", 28, "factor.durability.relaxed.client.tls",
        "not one of disabled", "disabled", '"disabled"', '"maybe"'),
    Bad("a limit of nothing", 29, "factor.durability.relaxed.cgroup", "limits nothing", "cores",
        'compression = "zstd,zlib" }\n', 'compression = "zstd,zlib" }\ncgroup = {}\n'),
    Bad("more cores than there are", 29, "factor.durability.relaxed.cgroup.cores",
        "64 cores on a machine of 8", "8 or less", 'compression = "zstd,zlib" }\n',
        'compression = "zstd,zlib" }\ncgroup = { cores = 64 }\n'),
    Bad("a line without speed", 29, "factor.durability.relaxed.network.rate", "without speed",
        "1Gbit", 'compression = "zstd,zlib" }\n',
        'compression = "zstd,zlib" }\nnetwork = { rate = "0Mbit" }\n'),
    Bad("a name that results cannot have", 26, "factor.durability.a=b", "cannot be the name",
        "letters", "[factor.durability.relaxed]", '[factor.durability."a=b"]'),
    Bad("a distribution that is none", 19, "workload[1].distribution", "not a distribution",
        "uniform", 'distribution = "uniform"', 'distribution = "flat"'),
    Bad("a share above all", 8, "margin", "not a share", '"2%"', '"5%"', '"500%"'),
    Bad("a warm-up that is none", 3, "warmup", '"warm" is not a time', '"auto"', '"10s"'
        , '"warm"'),
    Bad("a rate of zero", 4, "rates[1]", "a rate is above 0", "1000", "ladder = [8, 64]",
        "rates = [0]"),
    Bad("a table of no rows", 17, "workload[1].table_size", "0 is not a number", "1 or more",
        '"10k"', "0"),
    Bad("no name of a workload", 14, "workload[1]", "without a name", "oltp_read_write",
        'name = "oltp_read_write"\n', ""),
    Bad("more memory than there is", 29, "factor.durability.relaxed.cgroup.memory", "on a machine",
        "what this machine has", 'compression = "zstd,zlib" }\n',
        'compression = "zstd,zlib" }\ncgroup = { memory = "900T" }\n'),
    Bad("an address that is none", 28, "factor.durability.relaxed.client.hosts[1]", "not an addr",
        "db1:3306", 'tls = "disabled"', 'hosts = ["db1:x"]'),
    Bad("a sandbox and a target in a level", 22, "factor.pool.off.sandbox",
        "both a target and a sandbox", "leave one out", "[factor.pool.off]",
        '[factor.pool.off]\nsandbox = {}\ntarget = { url = "mysql://u@h/x" }'),
    Bad("a word that restore does not know", 6, "restore", "is not one of", '"prepare"',
        "repeats = 6", 'repeats = 6\nrestore = "undo"'),
    Bad("a root that is no whole path", 11, "sandbox.root", "not an absolute path", "/srv",
        'server = "mariadb"', 'root = "el7"'),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.says)
def test_the_program_refuses_a_bad_file_with_line_key_and_remedy(
    bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("loadstone.runner.experiment.cores", lambda: MACHINE.cores)
    assert GOOD.count(bad.was) == 1
    Path("pool.toml").write_text(GOOD.replace(bad.was, bad.now))
    assert exit_code_of(["experiment", "pool.toml"]) == ExitCode.PLAN
    said = capsys.readouterr()
    # Of several problems each is a line with its hint, and the last line counts them.
    first, second, *_ = said.err.splitlines()
    where = f"{bad.line}: {bad.key}: " if bad.key else f"{bad.line}: "
    assert first.removeprefix("error: ").startswith(f"pool.toml:{where}")
    assert bad.what in first
    assert bad.write in (second if second.startswith("hint: ") else first)
    assert "secret" not in said.err and said.out == ""
    assert [made.name for made in tmp_path.iterdir()] == ["pool.toml"], "nothing was started"


def test_more_steps_than_can_be_compared_are_refused_before_anything_starts() -> None:
    many = ", ".join(map(str, range(1, 3_001)))
    with pytest.raises(ExperimentRefused, match="pool.toml:1: 12,000 steps in a round"):
        parsed(GOOD.replace("[8, 64]", f"[{many}]"))


def test_lists_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(ExperimentRefused, match="pool.toml:1: it is nested too deeply"):
        parsed(f"a = {9_999 * '['}")


def test_a_word_that_is_one_of_many_is_told_with_the_nearest() -> None:
    with pytest.raises(ExperimentRefused) as refused:
        parsed('columns = ["commits", "log_sync"]\n' + GOOD)
    said = 'columns[2]: "log_sync" is not one of the 36 that there are'
    assert refused.value.message.endswith(said)
    assert refused.value.hint == "did you mean log_syncs?"


def test_the_only_workload_may_be_a_plain_table_and_keeps_its_line() -> None:
    with pytest.raises(ExperimentRefused) as refused:
        parsed('[sandbox]\n[workload]\nname = "oltp_read_only"\ntables = 0\n')
    assert refused.value.message.startswith("pool.toml:4: workload.tables: 0 is not a number")


def test_a_cgroup_takes_root() -> None:
    text = GOOD + "[factor.size.small]\ncgroup = { cores = 2 }\n[factor.size.all]\n"
    assert len(good(text).variants) == 8
    with pytest.raises(
        ExperimentRefused, match="pool.toml:30: factor.size.small.cgroup: only root"
    ):
        parsed(text, Machine(is_root=False, cores=8))


def test_a_socket_is_not_the_way_over_a_line() -> None:
    text = GOOD + (
        '[factor.way.socket]\nclient = { connect = "socket" }\n[factor.way.tcp]\n'
        '[factor.line.slow]\nnetwork = { rate = "1Gbit" }\n[factor.line.fast]\n'
    )
    with pytest.raises(ExperimentRefused) as refused:
        parsed(text)
    (fault,) = refused.value.faults
    assert (fault.line, fault.key) == (30, "factor.way.socket.client.connect")


def test_how_statements_are_sent_is_a_level_and_said_once() -> None:
    text = (
        '[target]\nurl = "postgresql://u@h/x"\n[workload]\nname = "w"\n'
        '[factor.sent.alone]\n[factor.sent.at-once.client]\nprotocol = "pipelined"\n'
    )
    sent = [protocol_of(client_of(variant)) for variant in good(text).variants]
    assert sent == [None, "pipelined"]
    twice = text + "[factor.text.no]\n[factor.text.yes.client]\nprepared = false\n"
    with pytest.raises(ExperimentRefused) as refused:
        parsed(twice)
    (fault,) = refused.value.faults
    assert fault.key == "factor.sent.at-once.client.protocol"


def test_a_pooler_is_the_way_to_a_sandbox_that_has_one() -> None:
    text = (
        '[sandbox]\nserver = "postgresql"\n[workload]\nname = "w"\n'
        '[factor.pool.off.client]\nconnect = "tcp"\n[factor.pool.on.client]\nconnect = "pooler"\n'
    )
    with pytest.raises(ExperimentRefused, match="there is no sandbox with a pooler"):
        parsed(text)
    pooler = '[sandbox]\npooler = "pgbouncer"\npooler_settings = { pool_mode = "transaction" }\n'
    pooled = good(text.replace("[sandbox]\n", pooler))
    places = [place_of(pooled, variant) for variant in pooled.variants]
    (spec,) = {place.sandbox.model_dump_json() for place in places if place.sandbox}
    assert '"pooler":"pgbouncer","pooler_settings":{"pool_mode":"transaction"}' in spec


@pytest.mark.parametrize("what", ["startup = { a = 1 }", "cgroup = { cores = 1 }"])
def test_a_target_is_neither_started_nor_limited(what: str) -> None:
    text = (
        '[target]\nurl = "mysql://u@h/x"\n[workload]\nname = "w"\n'
        f"[factor.a.plain]\n[factor.a.other]\n{what}\n"
    )
    with pytest.raises(ExperimentRefused) as refused:
        parsed(text)
    assert refused.value.faults[0].line == 7
    assert "neither started nor limited" in refused.value.message


def test_all_faults_are_told_in_the_order_of_the_file() -> None:
    text = GOOD.replace('"90s"', '"0s"').replace("[8, 64]", "[]").replace("startup", "strtup")
    with pytest.raises(ExperimentRefused) as refused:
        parsed(text)
    assert [fault.line for fault in refused.value.faults] == [2, 4, 23]
    said = re.findall(r"(?:^[^:]+:|; )(\d+): ", refused.value.message)
    assert said == ["2", "4", "23"]
    assert "more)" not in refused.value.message


KNOWN = {"thread_handling": False, "thread_pool_size": True, "sync_binlog": True,
         "innodb_buffer_pool_size": True, "performance_schema": False}  # fmt: skip


def test_variables_that_the_server_has_are_let_through() -> None:
    check_variables(parsed(GOOD), KNOWN)
    check_variables(parsed(GOOD.replace("thread_pool_size", "loose_thread_pool_size")), KNOWN)


def test_a_variable_that_the_server_does_not_know_is_refused() -> None:
    with pytest.raises(ExperimentRefused) as refused:
        check_variables(parsed(GOOD.replace("sync_binlog", "sync_binlogs")), KNOWN)
    assert refused.value.message == (
        "pool.toml:27: factor.durability.relaxed.dynamic.sync_binlogs: "
        "the server has no such variable"
    )
    assert refused.value.hint == "did you mean sync_binlog?"


def test_a_variable_that_does_not_change_while_it_runs_is_refused() -> None:
    with pytest.raises(ExperimentRefused, match="reads it only when it starts") as refused:
        check_variables(parsed(GOOD), KNOWN | {"sync_binlog": False})
    assert refused.value.hint == "write it under startup"


def test_parameters_of_postgresqls_extensions_are_left_to_the_server() -> None:
    of_extension = GOOD.replace("thread_pool_size", '"auto_explain.log_analyze"')
    check_variables(parsed(of_extension), KNOWN, is_postgresql=True)
    with pytest.raises(ExperimentRefused) as refused:
        check_variables(parsed(GOOD.replace("sync_binlog", "xyz")), KNOWN, is_postgresql=True)
    assert refused.value.hint == "SHOW ALL lists them all"


def test_a_workload_that_the_engine_does_not_have_is_refused() -> None:
    known = {
        "oltp_read_write": WorkloadInfo(
            name="oltp_read_write", summary="", options={"point_selects": 10}, writes=True,
            layout="sbtest",
        )
    }  # fmt: skip
    check_workloads(parsed(GOOD), known)
    with pytest.raises(ExperimentRefused, match="pool.toml:15: .* no workload oltp_read_writ$"):
        check_workloads(parsed(GOOD.replace("read_write", "read_writ")), known)
    with pytest.raises(ExperimentRefused, match="pool.toml:18: .* no such option"):
        check_workloads(parsed(GOOD.replace("point-selects", "pointselects")), known)


TPCC = '[sandbox]\n[[workload]]\nname = "tpcc"\n'
MIXED = """\
[sandbox]
[[workload]]
name = "both"
[[workload.mix]]
name = "oltp_read_only"
distribution = "uniform"
[[workload.mix]]
name = "hot_row"
"""
SPREAD = 'distribution = "uniform"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TPCC + SPREAD, "4: workload[1].distribution: tpcc draws its rows as TPC-C requires"),
        (TPCC + 'distribution = "special"\n', "4: workload[1].distribution: tpcc draws its rows"),
        (TPCC.replace("[[workload]]", "[workload]") + SPREAD, "4: workload.distribution: tpcc"),
        (MIXED + SPREAD, "9: workload[1].mix[2].distribution: only the workloads of sysbench's"),
        (TPCC.replace("tpcc", "shop.toml") + SPREAD, "4: workload[1].distribution: a template def"),
    ],
    ids=["alone", "the default", "a plain table", "one of a mix", "a template"],
)
def test_a_distribution_that_has_no_effect_is_refused_with_its_line(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(text)
    error, hint = called(
        "experiment", "two.toml", "--dry-run", folder=tmp_path, code=ExitCode.PLAN
    ).stderr.splitlines()
    assert error.startswith(f"error: two.toml:{said}")
    assert hint.startswith("hint:  leave it out")


def test_a_distribution_that_a_workload_draws_by_is_taken(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(MIXED)
    called("experiment", "two.toml", "--dry-run", folder=tmp_path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentRefused, match="cannot be read: No such file"):
        read_experiment(tmp_path / "none.toml", MACHINE)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ExperimentRefused, match="not UTF-8"):
        read_experiment(tmp_path / "latin.toml", MACHINE)


def test_the_documents_example_is_good(tmp_path: Path) -> None:
    example = DOCUMENT.read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "example.toml").write_text(example)
    found = read_experiment(tmp_path / "example.toml", MACHINE).experiment
    assert len(found.variants) == 4
    assert found == Experiment.model_validate_json(found.model_dump_json())


def test_more_than_five_faults_are_counted() -> None:
    lines = "\n".join(f"unknown{number} = 1" for number in range(7))
    with pytest.raises(ExperimentRefused) as refused:
        parsed(f"{lines}\n{GOOD}")
    assert "unknown4" in refused.value.message
    assert "unknown5" not in refused.value.message
    assert refused.value.message.endswith("(and 2 more)")


POOLED = """
duration = "1s"
[sandbox]
server = "postgresql"
pooler = "pgbouncer"
[sandbox.pooler_settings]
pool_mode = "transaction"
[[workload]]
name = "oltp_read_only"
[factor.memory.small]
client = { connect = "pooler" }
[factor.memory.large]
client = { connect = "pooler" }
session = { work_mem = "64MB" }
"""


def test_sessions_that_a_pooler_passes_on_are_not_set() -> None:
    with pytest.raises(ExperimentRefused, match=r"factor\.memory\.large\.session: a pooler"):
        good(POOLED)
    kept = good(POOLED.replace('"transaction"', '"session"'))
    assert kept.variants[1].per_session == {"work_mem": "64MB"}
