"""Faults are drawn the same again from a seed, of every family, and a variable is put back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pymysql
import pytest

from benches.processes import ProgramFailed
from faults import arguments
from faults.case import Draw, Fault, Server
from faults.drawn import clients, locks, postgresql_locks, throttles
from faults.drawn.clients import draw_client
from faults.drawn.drawn import Drawn, Truth
from faults.drawn.families import draw_fault
from faults.drawn.frozen import Constants
from faults.drawn.handling import HANDLING
from faults.drawn.locks import draw_lock
from faults.drawn.postgresql_settings import Row, draw_setting, settings_of
from faults.drawn.setting import Setting, badly_set, try_setting
from faults.drawn.starved import names_variable, truth_of_variable
from faults.drawn.throttles import draw_throttle
from faults.drawn.variables import Variable, draw_value, variables_of
from faults.ground import Ground
from faults.scene import Scene
from loadstone.model.account import PLACES
from loadstone.sandbox import SandboxError

SEED = 7
MANY = 600
MAKERS = (draw_throttle, draw_lock, draw_client)
NUMBER = Variable("sort_buffer_size", "2097152", "number", 1024, 2.0**63)
SWITCH = Variable("general_log", "OFF", "switch", choices=("ON",))


SERVERS: tuple[Server, ...] = ("mariadb", "postgresql")


def draw_of(seed: int, number: int, server: Server = "mariadb") -> Draw:
    return Draw(random.Random(f"{seed} drawn {number}"), server)


def drawn(
    make: Callable[[Draw, int, str], Drawn], seed: int, server: Server = "mariadb"
) -> list[Drawn]:
    return [make(draw_of(seed, number, server), number, server) for number in range(MANY)]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_draws_the_same_faults_again_and_another_one_others(
    make: Callable[[Draw, int, str], Drawn], server: Server
) -> None:
    def sizes(seed: int) -> list[str]:
        return [f"{one.kind} {one.fault.size}" for one in drawn(make, seed, server)]

    assert sizes(SEED) == sizes(SEED)
    assert sum(a != b for a, b in zip(sizes(SEED), sizes(SEED + 1), strict=True)) > MANY / 2


def test_each_family_draws_all_of_its_kinds() -> None:
    kinds = [len({one.kind for one in drawn(make, SEED)}) for make in MAKERS]
    assert kinds == [len(throttles.MAKERS), len(locks.MAKERS), len(clients.MAKERS)]


def test_on_postgresql_each_mode_of_each_lock_is_drawn() -> None:
    kinds = [{one.kind for one in drawn(make, SEED, "postgresql")} for make in MAKERS]
    modes = 4 + 4 + 8  # of rows, of ranges, of tables
    others = len(postgresql_locks.MAKERS_OF_POSTGRESQL) - 3
    assert [len(one) for one in kinds] == [
        len(throttles.MAKERS),
        modes + others,
        len(clients.MAKERS_OF_POSTGRESQL),
    ]


def test_what_postgresql_is_started_with_are_settings_of_its_own() -> None:
    started = [one.fault.settings for make in MAKERS for one in drawn(make, SEED, "postgresql")]
    names = {name for settings in started for name in settings}
    assert names == {"synchronous_commit", "shared_buffers", "max_prepared_transactions"}


def test_tables_are_not_copied_under_transactions_that_would_fail_with_it() -> None:
    copies = [one for one in drawn(draw_client, SEED) if one.kind == "ALTER TABLE that copies"]
    assert len({one.fault.load.workload for one in copies}) == 7
    assert "oltp_read_write" not in {one.fault.load.workload for one in copies}


def test_what_is_known_of_a_fault_has_names_of_the_diagnosis_and_of_the_account() -> None:
    docs = Path(__file__).parents[2] / "docs"
    said = "".join((docs / name).read_text() for name in ("diagnosis.md", "postgresql.md"))
    truths = [
        one.truth for make in MAKERS for server in SERVERS for one in drawn(make, SEED, server)
    ]
    names = ("innodb_buffer_pool_size", "log_output", "x")
    truths += [truth_of_variable(name, "mariadb") for name in names]
    settings = ("shared_buffers", "wal_sync_method", "log_duration", "enable_sort", "commit_delay")
    truths += [truth_of_variable(name, "postgresql") for name in settings]
    for truth in truths:
        assert truth.places
        assert truth.places <= set(PLACES)
        assert [name for name in truth.causes | truth.also if f"`{name}`" not in said] == []


def test_a_variable_is_what_its_server_lists() -> None:
    rows = [
        ("sort_buffer_size", "2097152", "1024", "18446744073709551615", None),
        ("general_log", "OFF", "0", "0", "OFF,ON"),
        ("binlog_cache_size", "32768", None, None, None),
        ("transaction_isolation", "REPEATABLE-READ", None, None, "READ-COMMITTED,REPEATABLE-READ"),
        ("thread_handling", "one-thread", None, None, None),
        ("optimizer_switch", "mrr=off,index_merge=on", None, None, None),
    ]
    found = {one.name: one for one in variables_of(rows)}
    assert (found["sort_buffer_size"].least, found["sort_buffer_size"].kind) == (1024, "number")
    assert found["general_log"] == Variable("general_log", "OFF", "switch", choices=("ON",))
    assert found["binlog_cache_size"].most is None
    assert found["transaction_isolation"].choices == ("READ-COMMITTED",)
    assert found["thread_handling"].choices == ("0", "1", "2", "3")
    assert found["optimizer_switch"].choices == ("mrr=on", "index_merge=off")


@pytest.mark.parametrize(
    "name",
    [
        "datadir",
        "log_error",
        "slow_query_log_file",
        "port",
        "max_connections",
        "wait_timeout",
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "sql_mode",
        "super_read_only",
        "require_secure_transport",
        "ssl_cert",
        "max_allowed_packet",
        "innodb_force_recovery",
        "innodb_doublewrite",
        "autocommit",
    ],
)
def test_what_would_lose_data_or_the_connection_is_never_drawn(name: str) -> None:
    assert variables_of([(name, "1", None, None, None)]) == ()


@pytest.mark.parametrize(
    "name",
    [
        "innodb_adaptive_hash_index",
        "innodb_buffer_pool_size",
        "innodb_log_file_size",
        "internal_tmp_mem_storage_engine",
        "performance_schema",
        "table_open_cache",
        "thread_cache_size",
        "innodb_spin_wait_delay",
    ],
)
def test_what_may_slow_a_server_down_is(name: str) -> None:
    assert [one.name for one in variables_of([(name, "1", None, None, None)])] == [name]


def test_a_number_is_drawn_on_both_sides_and_within_what_the_server_accepts() -> None:
    values = [draw_value(draw_of(SEED, number), NUMBER) for number in range(MANY)]
    known = [int(value) for value in values if value is not None]
    assert min(known) == 1024
    assert max(known) > 20 * int(NUMBER.value)
    assert all(1024 <= value <= 1 << 30 for value in known)
    ratios = [value / int(NUMBER.value) for value in known]
    assert not [ratio for ratio in ratios if 0.51 < ratio < 1.99]
    assert draw_value(draw_of(SEED, 1), SWITCH) == "ON"


def row(
    name: str,
    value: str,
    vartype: str = "integer",
    limits: tuple[str, str] = ("0", "100"),
    **more: str,
) -> Row:
    usual = {
        "choices": "",
        "unit": "",
        "category": "Resource Usage / Memory",
        "context": "user",
        "source": "default",
    }
    return Row(name, value, vartype, *limits, **{**usual, **more})


def test_a_setting_of_postgresql_is_what_its_server_lists() -> None:
    found = settings_of(
        [
            row("work_mem", "4096", limits=("64", "2147483647"), unit="kB"),
            row("cpu_tuple_cost", "0.01", "real", ("0", "1.79769e+308")),
            row("jit", "on", "bool"),
            row("wal_compression", "off", "enum", choices="pglz,lz4,on,off"),
            row("log_line_prefix", "%m", "string"),
            row("max_wal_senders", "10", limits=("0", "262143"), context="postmaster"),
            row("wal_level", "replica", "enum", choices="minimal,replica", context="postmaster"),
            row("random_page_cost", "4", "real", source="command line"),
        ]
    )
    assert found == (
        Variable("work_mem", "4096", "number", 64, 1 << 20),
        Variable("cpu_tuple_cost", "0.01", "number", 0, 1.79769e308, is_whole=False),
        Variable("jit", "on", "switch", choices=("off",)),
        Variable("wal_compression", "off", "choice", choices=("pglz", "lz4", "on")),
        Variable("max_wal_senders", "10", "number", 0, 80, at_start=True),
        Variable("wal_level", "replica", "choice", choices=("minimal",), at_start=True),
        Variable("random_page_cost", "4", "number", 0, 100, at_start=True, is_whole=False),
    )


@pytest.mark.parametrize(
    ("name", "category", "context"),
    [
        ("fsync", "Write-Ahead Log / Settings", "sighup"),
        ("max_connections", "Connections and Authentication / Connection Settings", "postmaster"),
        ("statement_timeout", "Client Connection Defaults / Statement Behavior", "user"),
        ("zero_damaged_pages", "Developer Options", "superuser"),
        ("archive_mode", "Write-Ahead Log / Archiving", "postmaster"),
        ("recovery_prefetch", "Write-Ahead Log / Recovery", "sighup"),
        ("hot_standby", "Replication / Standby Servers", "postmaster"),
        ("log_file_mode", "Reporting and Logging / Where to Log", "sighup"),
        ("temp_file_limit", "Resource Usage / Disk", "superuser"),
        ("block_size", "Preset Options", "internal"),
        ("transform_null_equals", "Version and Platform Compatibility / Other", "user"),
    ],
)
def test_what_is_no_setting_of_performance_is_never_drawn_on_postgresql(
    name: str, category: str, context: str
) -> None:
    assert settings_of([row(name, "1", category=category, context=context)]) == ()


@pytest.mark.parametrize(
    ("setting", "least", "most"),
    [
        (Variable("work_mem", "4096", "number", 64, 1 << 20), 64, 64 * 4096),
        (Variable("log_min_duration_statement", "-1", "number", -1, 2**31 - 1), 0, 100_000),
        (Variable("commit_delay", "0", "number", 0, 100_000), 1, 100_000),
        (Variable("wal_buffers", "512", "number", -1, 2**17), -1, 64 * 512),
        (Variable("checkpoint_completion_target", "0.9", "number", 0, 1, is_whole=False), 0, 1),
        (Variable("cpu_tuple_cost", "0.01", "number", 0, 1e308, is_whole=False), 0, 0.64),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_number_of_postgresql_is_drawn_within_its_limits(
    setting: Variable, least: float, most: float
) -> None:
    values = [draw_setting(draw_of(SEED, number, "postgresql"), setting) for number in range(MANY)]
    known = [float(value) for value in values if value is not None]
    assert min(known) == least
    assert most / 2 <= max(known) <= most
    now = float(setting.value)
    assert now not in known
    assert not [value for value in known if now > 0 and now * 0.51 < value < min(1.99 * now, most)]
    if setting.is_whole:
        assert all(value is None or value.lstrip("-").isdigit() for value in values)


class FakeServer:
    """Variables by name; some are for the start alone, some never come back."""

    def __init__(self, **variables: str) -> None:
        self.variables = variables
        self.read_only: set[str] = set()
        self.raised_only: set[str] = set()
        self.followers: dict[str, str] = {}
        self.listed = False

    @contextmanager
    def connect(self) -> Iterator[FakeServer]:
        yield self

    @contextmanager
    def cursor(self) -> Iterator[FakeServer]:
        yield self

    def execute(self, statement: str) -> None:
        self.listed = "SYSTEM_VARIABLES" in statement
        if not statement.startswith("SET GLOBAL "):
            return
        name, value = statement.removeprefix("SET GLOBAL ").split(" = ")
        if name in self.read_only:
            raise pymysql.err.OperationalError(1238, f"{name} is a read only variable")
        if name in self.raised_only and float(value) < float(self.variables[name]):
            return
        self.variables[name] = value.strip("'")
        if name in self.followers:
            self.variables[self.followers[name]] = value

    def fetchall(self) -> list[tuple[str | None, ...]]:
        """As SHOW GLOBAL VARIABLES; MariaDB's own table has three columns more."""
        more = (None,) * 3 if self.listed else ()
        return [(*item, *more) for item in self.variables.items()]


def scene_of(server: FakeServer) -> Scene:
    return cast(Scene, SimpleNamespace(connect=server.connect, server="mariadb"))


def tried(server: FakeServer, variable: Variable, value: str) -> Setting | None:
    return try_setting(HANDLING["mariadb"], cast(Any, server), variable, value)


@pytest.mark.parametrize("variable", [NUMBER, SWITCH])
def test_every_drawn_value_is_put_back_however_the_run_ends(variable: Variable) -> None:
    server = FakeServer(**{variable.name: variable.value})
    for number in range(20):
        value = draw_value(draw_of(SEED, number), variable)
        if value is None:
            continue
        setting = tried(server, variable, value)
        assert setting == Setting(variable.name, variable.value, value, at_start=False)
        assert server.variables[variable.name] == variable.value
        with badly_set(setting)(scene_of(server)) as proof:
            assert server.variables[variable.name] == value
            assert proof().bites
        assert server.variables[variable.name] == variable.value
        with pytest.raises(ProgramFailed, match="the load"), badly_set(setting)(scene_of(server)):
            raise ProgramFailed("the load failed")
        assert server.variables[variable.name] == variable.value


class FakeGround:
    """Starts servers of MariaDB's kind, which do not start with some of the settings."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.server = FakeServer(innodb_page_cleaners="4", big_tables="OFF", table_open_cache="200")
        self.server.read_only.add("innodb_page_cleaners")

    @contextmanager
    def standing(self, release: str, fault: Fault) -> Iterator[SimpleNamespace]:
        if any(name in self.refused for name in fault.settings):
            raise SandboxError("it does not start")
        started = FakeServer(**{**self.server.variables, **fault.settings})
        started.read_only = self.server.read_only
        yield SimpleNamespace(sandbox=started, server="mariadb")


def variable_drawn(ground: FakeGround, number: int) -> Drawn:
    return draw_fault(cast(Ground, ground), SEED, number, ("variable",), ("mariadb-10.11",))


def test_a_variable_is_drawn_from_the_list_of_a_running_server() -> None:
    found = [variable_drawn(FakeGround(), number) for number in range(30)]
    assert {one.kind for one in found} == {"innodb_page_cleaners", "big_tables", "table_open_cache"}
    for one in found:
        at_start = one.kind == "innodb_page_cleaners"
        assert (one.own_server, set(one.start)) == (at_start, {one.kind} if at_start else set())
        assert one.truth.variable == one.kind
        assert one.kind not in one.fault.settings, "both sides would have it"
    again = [variable_drawn(FakeGround(), number) for number in range(30)]
    assert [one.fault.size for one in again] == [one.fault.size for one in found]


def test_a_value_with_which_the_server_does_not_start_is_drawn_again() -> None:
    found = [variable_drawn(FakeGround("innodb_page_cleaners"), number) for number in range(30)]
    assert {one.kind for one in found} == {"big_tables", "table_open_cache"}


def test_a_variable_that_changes_with_it_is_put_back_as_well() -> None:
    server = FakeServer(capacity="200", capacity_max="400")
    server.followers["capacity"] = "capacity_max"
    setting = tried(server, Variable("capacity", "200", "number"), "900")
    assert setting == Setting("capacity", "200", "900", at_start=False)
    assert server.variables == {"capacity": "200", "capacity_max": "400"}
    with badly_set(setting)(scene_of(server)):
        assert server.variables == {"capacity": "900", "capacity_max": "900"}
    assert server.variables == {"capacity": "200", "capacity_max": "400"}


def test_a_variable_that_cannot_be_put_back_is_reported() -> None:
    server = FakeServer(purge="1")
    server.raised_only.add("purge")
    with (
        pytest.raises(ProgramFailed, match="purge is 4 and cannot be put back"),
        badly_set(Setting("purge", "1", "4", at_start=False))(scene_of(server)),
    ):
        assert server.variables["purge"] == "4"


def test_what_cannot_change_while_the_server_runs_is_for_its_start() -> None:
    server = FakeServer(pages="8", purge="1")
    server.read_only.add("pages")
    server.raised_only.add("purge")
    pages = tried(server, Variable("pages", "8", "number"), "4")
    assert pages == Setting("pages", "8", "4", at_start=True)
    assert tried(server, Variable("purge", "1", "number"), "4") == Setting("purge", "1", "4", True)


def test_a_value_that_the_server_does_not_take_is_no_fault() -> None:
    server = FakeServer(purge="8")
    server.raised_only.add("purge")
    assert tried(server, Variable("purge", "8", "number"), "7") is None


def test_a_name_is_not_found_in_a_longer_one() -> None:
    assert names_variable("set sort_buffer_size=2M.", "sort_buffer_size")
    assert not names_variable("set aria_sort_buffer_size", "sort_buffer_size")
    assert not names_variable("sort_buffer_size_limit", "sort_buffer_size")


def test_a_variable_without_a_resource_is_right_by_name_alone() -> None:
    assert truth_of_variable("innodb_spin_wait_delay", "mysql").causes == frozenset()
    assert truth_of_variable("binlog_cache_size", "mysql").causes == {"binlog-cache-small"}
    assert truth_of_variable("enable_indexscan", "postgresql").causes == frozenset()
    assert truth_of_variable("work_mem", "postgresql").causes == {"temporary-files"}
    assert Truth.of("a b", ("latch",)).causes == {"a", "b"}


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        arguments.arguments(list(words))
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_result_is_kept_only_for_constants_that_a_commit_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = Constants("c0ffee", "beef", ())
    monkeypatch.setattr(arguments, "constants", lambda: clean)
    asked = arguments.arguments(["--drawn", "3", "--keep"])
    assert (asked.seed_was_drawn, asked.constants) == (True, clean)
    assert "no --seed" in refused(capsys, "--drawn", "3", "--keep", "--seed", "1")
    dirty = Constants("c0ffee", "beef", ("src/loadstone/diagnosis/order.py",))
    monkeypatch.setattr(arguments, "constants", lambda: dirty)
    assert "diagnosis/order.py" in refused(capsys, "--drawn", "3", "--keep")
    assert arguments.arguments(["--drawn", "3"]).constants == dirty


def test_words_that_do_not_fit_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "belong to --drawn" in refused(capsys, "--family", "lock")
    assert "takes no cases" in refused(capsys, "--drawn", "3", "tls")
    assert "1 and above" in refused(capsys, "--drawn", "0")
