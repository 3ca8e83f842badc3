"""Each command that writes, let loose on tables of others: what these are, before and after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.between import Between
from loadstone.cli.errors import exit_code_of
from loadstone.lab import loading
from loadstone.lab.interrupts import Interrupts
from loadstone.lab.loading import Loader, layout_for
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.plan import ConnectPolicy, WorkloadSpec
from loadstone.model.records import LoadProgress
from loadstone.model.target import Endpoint, Tls
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.target import drop, guard
from loadstone.target.errors import GuardError, TargetError
from loadstone.target.guard import CleanupDecision, Consent
from recorded import a_plan, recorded_run
from trust.summing import Sums, execute, sums_of

pytestmark = pytest.mark.server

try:
    find_server("mariadb")
except SandboxError:
    pytest.skip("no MariaDB here", allow_module_level=True)

QUICK = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}
SBTEST = (
    "CREATE TABLE shop.{} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,"
    " c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
)
# What a workload could write to, if it went by the names of the columns alone.
ALIKE = (
    "CREATE TABLE shop.{} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,"
    " c VARCHAR(200) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
)
THEIRS = (
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, k INT, c TEXT, pad TEXT, total INT)",
    "INSERT INTO shop.orders SELECT seq, seq, 'dear', 'dear', 7 FROM seq_1_to_500",
    "CREATE TABLE shop.customers (id BIGINT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO shop.customers VALUES (1, 'Ada'), (2, 'Grace')",
    "CREATE VIEW shop.rich AS SELECT name FROM shop.customers",
)
SYSBENCHS = (
    SBTEST.format("sbtest1"),
    SBTEST.format("sbtest2"),
    "INSERT INTO shop.sbtest1 (k) SELECT seq FROM seq_1_to_100",
    "INSERT INTO shop.sbtest2 (k) SELECT seq FROM seq_1_to_100",
)
SHORT = ("--concurrency", "2", "--duration", "1s", "--warmup", "0s", "--no-observe")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with start_sandbox(SandboxSpec(server="mariadb", settings=QUICK)) as sandbox:
            yield sandbox


@pytest.fixture
def url(server: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The way to somebody's schema; the commands are not told that the server is a throwaway."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
    execute(server, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop")
    yield server.tcp.target.model_copy(update={"database": "shop"}).url


def endpoint(server: Sandbox, port: int | None = None) -> Endpoint:
    """The same for what is called here rather than on a command line."""
    known = server.endpoint(tls=Tls(mode="disabled"))
    update = {"database": "shop", "port": port or known.target.port}
    credentials = known.credentials.model_copy(update={"source": "the test"})
    target = known.target.model_copy(update=update)
    return known.model_copy(update={"target": target, "credentials": credentials})


def an_experiment(url: str) -> list[str]:
    text = f"""\
duration = "1s"
warmup = "0s"
ladder = [2]
repeats = 2
[target]
url = "{url}"
[[workload]]
name = "oltp_write_only"
tables = 2
table_size = 100
[factor.durability.full]
[factor.durability.relaxed]
dynamic = {{ innodb_flush_log_at_trx_commit = 2 }}
"""
    Path("e.toml").write_text(text)
    return ["experiment", "e.toml", "--no-observe"]


def a_proof(server: Sandbox) -> list[str]:
    """Of a run that somebody made here before the other tables came."""
    workload = WorkloadSpec(name="oltp_read_write", tables=2, table_size=100)
    target = endpoint(server).target
    run = recorded_run(Path("runs"), a_plan(targets=(target,), workload=workload, ladder=(2,)))
    return ["diagnose", str(run), "--prove"]


def refused(words: list[str], capsys: pytest.CaptureFixture[str], *names: str) -> None:
    """It ends with the guard's own code, a line that names the tables, and no traceback."""
    assert exit_code_of(words) == 7
    said = capsys.readouterr().err
    assert "Traceback" not in said
    (line,) = (line for line in said.splitlines() if line.startswith("error: "))
    for name in names:
        assert name in line, line


@pytest.mark.parametrize(
    "command",
    [
        "prepare",
        "cleanup",
        "run oltp_read_write",
        "run oltp_write_only",
        "run oltp_delete",
        "run bulk_insert",
        "run hot_row",
        "experiment",
        "prove",
    ],
)
def test_a_schema_with_tables_of_others_is_left_as_it_is(
    server: Sandbox,
    url: str,
    command: str,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    execute(server, *THEIRS, *SYSBENCHS)
    before = sums_of(server, "shop")
    match command.split():
        case ["run", workload]:
            words = ["run", workload, "--target", url, *SHORT]
        case ["experiment"]:
            words = an_experiment(url)
        case ["prove"]:
            request.getfixturevalue("script")  # the run of before is recorded from a double
            words = a_proof(server)
        case _:
            words = [command, "--target", url]
    refused(words, capsys, "customers", "orders")
    assert sums_of(server, "shop") == before


@pytest.mark.parametrize("workload", ["oltp_delete", "oltp_update_non_index", "oltp_insert"])
def test_a_table_that_is_only_alike_is_not_written_to_whatever_is_said(
    server: Sandbox, url: str, workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(server, ALIKE.format("sbtest1"), "INSERT INTO shop.sbtest1 (c) VALUES ('dear')")
    before = sums_of(server, "shop")
    refused(["run", workload, "--target", url, "--yes", *SHORT], capsys, "sbtest1")
    assert sums_of(server, "shop") == before


def test_with_yes_only_ours_and_sysbenchs_change(
    server: Sandbox, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(server, *THEIRS)
    theirs = sums_of(server, "shop")
    sizes = ("--tables", "2", "--table-size", "100")
    for words in (
        ["prepare", "--target", url, "--yes", *sizes],
        ["run", "oltp_read_write", "--target", url, "--yes", *SHORT],
        ["cleanup", "--target", url, "--yes"],
    ):
        assert exit_code_of(words) == 0, capsys.readouterr().err
    assert sums_of(server, "shop") == theirs


def before_that(monkeypatch: pytest.MonkeyPatch, place: str, does: Callable[[], None]) -> None:
    """Somebody else is at work in the moment before a function is called."""
    module, name = place.rsplit(".", 1)
    function = getattr(import_module(module), name)

    def called(*arguments: object, **more: object) -> object:
        does()
        return function(*arguments, **more)

    monkeypatch.setattr(place, called)


def swapped(server: Sandbox, table: str = "sbtest1") -> Callable[[], None]:
    """Somebody puts their own table in the place of a table."""

    def swap() -> None:
        execute(server, f"RENAME TABLE shop.{table} TO shop.aside, shop.orders TO shop.{table}")

    return swap


def renamed(before: Sums, **names: str) -> Sums:
    """The rows that somebody owns must be the same under their new names; their definitions too."""
    found = {}
    for new, old in names.items():
        kind, definition, _, checksum = before[old]
        found[new] = (kind, definition.replace(f"`{old}`", f"`{new}`"), checksum)
    return found


def without_time(sums: Sums, *names: str) -> Sums:
    """A rename counts as making a table."""
    return {name: (sums[name][0], sums[name][1], sums[name][3]) for name in names}


@pytest.mark.parametrize(
    "case",
    [
        ("cleanup", "loadstone.lab.loading.drop_tables"),
        ("run", "loadstone.cli.carry.check"),
        ("experiment", "loadstone.cli.experimenting._recorder"),
    ],
)
def test_a_table_that_is_renamed_between_the_look_and_the_deed_is_left_as_it_is(
    server: Sandbox,
    url: str,
    case: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, moment = case
    execute(server, *THEIRS, *SYSBENCHS)
    before = sums_of(server, "shop")
    before_that(monkeypatch, moment, swapped(server))
    words = {
        "cleanup": ["cleanup", "--target", url, "--yes"],
        "run": ["run", "oltp_delete", "--target", url, "--yes", *SHORT],
        "experiment": [*an_experiment(url), "--yes"],
    }
    if command == "experiment":
        Path("e.toml").write_text(
            Path("e.toml").read_text().replace("[target]", 'restore = "none"\n[target]')
        )
    refused(words[command], capsys, "sbtest1")
    after = sums_of(server, "shop")
    moved = renamed(before, sbtest1="orders", aside="sbtest1")
    assert without_time(after, "sbtest1", "aside") == moved
    assert after["customers"] == before["customers"]
    assert after["sbtest2"] == before["sbtest2"]


def test_a_name_that_is_taken_after_the_look_is_not_loaded_into(
    server: Sandbox,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    execute(server, *THEIRS)
    before = sums_of(server, "shop")
    taken = "RENAME TABLE shop.orders TO shop.sbtest2"
    before_that(monkeypatch, "loadstone.lab.loading._load", lambda: execute(server, taken))
    words = ["prepare", "--target", url, "--yes", "--tables", "2", "--table-size", "1000"]
    refused(words, capsys, "sbtest2")
    after = sums_of(server, "shop")
    assert without_time(after, "sbtest2") == renamed(before, sbtest2="orders")
    assert after["customers"] == before["customers"]


class OnceRowsAreThere:
    """Does something once the first rows of a load are there."""

    def __init__(self, does: Callable[[], None]) -> None:
        self.does = [does]

    def on_progress(self, progress: LoadProgress) -> None:
        if progress.rows and self.does:
            self.does.pop()()


@pytest.mark.parametrize("lost", [False, True], ids=["renamed", "renamed while the line is cut"])
@pytest.mark.parametrize("method", ["infile", "insert"])
def test_a_table_that_is_renamed_while_it_is_loaded_gets_no_row_and_loses_none(
    server: Sandbox, url: str, method: str, lost: bool
) -> None:
    execute(server, *THEIRS)
    before = sums_of(server, "shop")
    with Between(server.port) as between:

        def does() -> None:
            between.shut = lost
            if lost:
                between.cut()
                time.sleep(0.3)  # until the server has let go of what the lost connections held
            swapped(server)()
            between.shut = False

        layout = layout_for("sbtest", 1, 10 * 25_000)
        plan = LoadPlan(layout=layout, parallel=2, method=method, connect=ConnectPolicy(retries=20))  # type: ignore[arg-type]
        loader = Loader(
            endpoint(server, between.port), Consent(yes=True), OnceRowsAreThere(does), Interrupts()
        )
        with pytest.raises(GuardError, match="sbtest1"):
            loading.prepare(plan, loader)
    after = sums_of(server, "shop")
    assert without_time(after, "sbtest1") == renamed(before, sbtest1="orders")
    # What the load made stands aside; nothing in the list takes the other for ours.
    with server.connect() as connection:
        state = guard.read_schema(connection, endpoint(server).target, "shop")
    assert "sbtest1" in state.of("foreign")


def test_a_cleanup_whose_line_is_cut_half_way_goes_on_when_it_is_run_again(
    server: Sandbox, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(server, *THEIRS, *SYSBENCHS)
    theirs = {
        name: each
        for name, each in sums_of(server, "shop").items()
        if not name.startswith("sbtest")
    }
    with Between(server.port) as between:
        cut_after = []

        def cut(*arguments: object) -> None:
            cut_after.append(arguments)
            between.cut()

        with monkeypatch.context() as patch, pytest.raises(TargetError) as lost:
            patch.setattr(drop, "_forget", cut)
            loading.cleanup(endpoint(server, between.port), Consent(yes=True))
    assert not isinstance(lost.value, GuardError)
    assert (len(cut_after), set(sums_of(server, "shop"))) == (1, {*theirs, "sbtest2"})
    again: CleanupDecision = loading.cleanup(endpoint(server), Consent(yes=True))
    assert again.drops == ("sbtest2",)
    assert sums_of(server, "shop") == theirs
