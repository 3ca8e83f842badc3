"""Each command that writes, run next to other people's tables: their content before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.between import Between
from engine.servers import one, wait_until_nobody
from loadstone.cli.errors import exit_code_of
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.tables import load
from loadstone.lab.tables.load import Cleaning, Loader, layout_for
from loadstone.model.engine_plan import LoadPlan
from loadstone.model.plan import ConnectPolicy, WorkloadSpec
from loadstone.model.records import LoadProgress, LoadStalled
from loadstone.model.target import Endpoint, Tls
from loadstone.mysql import drop_tables, schemas
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import GuardError, TargetError
from loadstone.servers.guard import CleanupDecision, Consent
from pooled import KINDS, Pool
from recorded import a_plan, recorded_run
from trust.summing import Sums, execute, sums_of

pytestmark = pytest.mark.server

SBTEST = (
    "CREATE TABLE shop.{} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,"
    " c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
)
# Tables that a workload could write to, if it only checked the names of columns.
ALIKE = (
    "CREATE TABLE shop.{} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,"
    " c VARCHAR(200) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
)
NUMBERS = "WITH RECURSIVE n AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM n WHERE seq < {})"
THEIRS = (
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, k INT, c TEXT, pad TEXT, total INT)",
    f"INSERT INTO shop.orders {NUMBERS.format(500)} SELECT seq, seq, 'dear', 'dear', 7 FROM n",
    "CREATE TABLE shop.customers (id BIGINT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO shop.customers VALUES (1, 'Ada'), (2, 'Grace')",
    "CREATE VIEW shop.rich AS SELECT name FROM shop.customers",
)
SYSBENCHS = (
    SBTEST.format("sbtest1"),
    SBTEST.format("sbtest2"),
    f"INSERT INTO shop.sbtest1 (k) {NUMBERS.format(100)} SELECT seq FROM n",
    f"INSERT INTO shop.sbtest2 (k) {NUMBERS.format(100)} SELECT seq FROM n",
)
ONE_TABLE = """\
[table.orders]
rows = 50
[table.orders.columns]
id = { type = "INT NOT NULL", sequence = true }
[transaction.look]
statements = ["SELECT id FROM orders WHERE id = 1"]
"""
CHANGING = """\
[table.mine]
rows = 50
[table.mine.columns]
id = { type = "INT NOT NULL", sequence = true }
k = { type = "INT NOT NULL", integer = [1, 9] }
[transaction.change]
statements = ["UPDATE mine SET k = k + 1 WHERE id = :id"]
parameters.id = { row = "mine" }
"""
# The log's schema does not matter to its server; here `orders` belongs to somebody.
LOG = """\
mysqld, Version: 8.4.3 (x). started with:
2026-11-22T10:00:00.000001Z\t    7 Query\tINSERT INTO {} (id, k) VALUES (1000, 1)
"""
SHORT = ("--concurrency", "2", "--duration", "500ms", "--warmup", "0s", "--no-observe")


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    yield (sandbox := pool.server(str(request.param)))
    execute(sandbox, "DROP DATABASE IF EXISTS shop")


@pytest.fixture
def url(server: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of somebody's schema; the commands do not know that the server is a throwaway."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
    execute(server, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop")
    yield server.tcp.target.model_copy(update={"database": "shop"}).url


def endpoint(server: Sandbox, port: int | None = None) -> Endpoint:
    """The same as an endpoint, for functions that are called directly."""
    known = server.endpoint(tls=Tls(mode="disabled"))
    update = {"database": "shop", "port": port or known.target.port}
    credentials = known.credentials.model_copy(update={"source": "the test"})
    target = known.target.model_copy(update=update)
    return known.model_copy(update={"target": target, "credentials": credentials})


def an_experiment(url: str) -> list[str]:
    text = f"""\
duration = "500ms"
warmup = "0s"
ladder = [2]
repeats = 2
[target]
url = "{url}"
[[workload]]
name = "oltp_write_only"
tables = 2
table_size = 100
[factor.protocol.prepared]
[factor.protocol.text]
client = {{ prepared = false }}
"""
    Path("e.toml").write_text(text)
    return ["experiment", "e.toml", "--no-observe"]


def a_proof(server: Sandbox) -> list[str]:
    """A proof for a run that was made here before the other tables came."""
    workload = WorkloadSpec(name="oltp_read_write", tables=2, table_size=100)
    target = endpoint(server).target
    run = recorded_run(Path("runs"), a_plan(targets=(target,), workload=workload, ladder=(2,)))
    return ["diagnose", str(run), "--prove"]


def words_of(command: str, url: str) -> list[str]:
    """A command line; the files that it names are written first."""
    first, _, rest = command.partition(" ")
    at = ["--target", url]
    if rest.endswith(".toml"):
        Path(rest).write_text(CHANGING)
    match first:
        case "run":
            return ["run", *rest.split(), *at, *SHORT]
        case "experiment":
            return an_experiment(url)
        case "replay":
            Path("general.log").write_text(LOG.format(rest))
            return ["workload", "replay", "general.log", "--writes", "--no-observe", *at]
        case _:
            return [*command.split(), *at]


def refused(words: list[str], capsys: pytest.CaptureFixture[str], *names: str) -> None:
    """Check that it ends with the guard's code, a line that names the tables, and no traceback."""
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
        "prepare tpcc",
        "prepare ledger",
        "prepare mine.toml",
        "cleanup --sysbench-tables",
        "run oltp_read_write",
        "run oltp_write_only",
        "run oltp_delete",
        "run bulk_insert",
        "run hot_row",
        "run tpcc",
        "run ledger",
        "run mine.toml",
        "replay orders",
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
    if command == "prove":
        request.getfixturevalue("script")  # the earlier run is recorded from the scripted engine
        words = a_proof(server)
    else:
        words = words_of(command, url)
    refused(words, capsys, "customers", "orders")
    assert sums_of(server, "shop") == before


def test_a_cleanup_that_is_not_told_to_leaves_what_sysbench_made(
    server: Sandbox, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(server, *THEIRS, *SYSBENCHS)
    before = sums_of(server, "shop")
    assert exit_code_of(["cleanup", "--target", url, "--yes"]) == 0
    assert "left alone, made by `sysbench prepare`: sbtest1, sbtest2" in capsys.readouterr().err
    assert sums_of(server, "shop") == before


@pytest.mark.parametrize("workload", ["oltp_delete", "oltp_update_non_index", "oltp_insert"])
def test_a_table_that_is_only_alike_is_not_written_to_whatever_is_said(
    server: Sandbox, url: str, workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(server, ALIKE.format("sbtest1"), "INSERT INTO shop.sbtest1 (c) VALUES ('dear')")
    before = sums_of(server, "shop")
    refused(["run", workload, "--target", url, "--yes", *SHORT], capsys, "sbtest1")
    assert sums_of(server, "shop") == before


@pytest.mark.parametrize(
    "commands",
    [
        ("prepare --tables 2 --table-size 100", "run oltp_read_write"),
        ("prepare hot_row --tables 1 --table-size 100", "run hot_row"),
        ("prepare ledger", "run ledger"),
        ("prepare mine.toml", "run mine.toml", "replay mine"),
        pytest.param(
            ("prepare tpcc --warehouses 1", "run tpcc", "tpcc check"), marks=pytest.mark.slow
        ),
    ],
    ids=lambda commands: commands[1],
)
def test_with_yes_only_ours_and_sysbenchs_change(
    server: Sandbox, url: str, commands: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    execute(server, *THEIRS)
    theirs = sums_of(server, "shop")
    for command in (*commands, "cleanup"):
        words = words_of(command, url)
        consent = [] if command == "tpcc check" else ["--yes"]
        assert exit_code_of([*words, *consent]) == 0, f"{command}: {capsys.readouterr().err}"
        now = sums_of(server, "shop")
        assert {name: now.get(name) for name in theirs} == theirs, command
    assert now == theirs


def test_an_experiment_drops_the_tables_of_its_plan_and_no_others_of_ours(
    server: Sandbox, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four tables and a template's, all prepared by the user, and a plan that names two."""
    sizes = ("--tables", "4", "--table-size", "100")
    assert exit_code_of(["prepare", "--target", url, *sizes]) == 0
    Path("mine.toml").write_text(ONE_TABLE)
    assert exit_code_of(["prepare", "mine.toml", "--target", url]) == 0
    before = sums_of(server, "shop")
    capsys.readouterr()
    words = an_experiment(url)
    assert exit_code_of([*words, "--dry-run"]) == 0
    planned = capsys.readouterr().out
    for line in ("drops sbtest1, sbtest2", "makes sbtest1, sbtest2"):
        assert f"schema shop: {line}" in planned, planned
    refused(words, capsys, "would be dropped and made again: sbtest1, sbtest2")
    assert sums_of(server, "shop") == before
    assert exit_code_of([*words, "--yes"]) == 0, capsys.readouterr().err
    after = sums_of(server, "shop")
    for name in ("sbtest3", "sbtest4", "orders"):
        assert after[name] == before[name], name


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ("innodb_io_capacity = 300", "it would set innodb_io_capacity for all on"),
        ("sync_binlog = 1", "commits made meanwhile might be lost"),
        ("innodb_flush_log_at_trx_commit = 1", "commits made meanwhile might be lost"),
    ],
)
def test_variables_are_set_only_where_that_is_meant_and_never_those_that_keep_commits(
    server: Sandbox,
    url: str,
    variable: str,
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = variable.partition(" ")[0]
    before = one(server, f"SELECT @@GLOBAL.{name}")
    said = an_experiment(url)
    text = Path("e.toml").read_text()
    Path("e.toml").write_text(
        text.replace("client = { prepared = false }", f"dynamic = {{ {variable} }}")
    )
    consent = ["--yes"] if "commits" in why else []
    refused([*said, *consent], capsys, why)
    assert not list(Path("runs").glob("*"))
    assert one(server, f"SELECT @@GLOBAL.{name}") == before
    assert sums_of(server, "shop") == {}


@pytest.mark.parametrize("moment", ["lab.tables.load._load", "mysql.family.mark_ready"])
def test_a_stranger_s_table_with_a_template_s_columns_is_not_taken_for_ours(
    server: Sandbox,
    url: str,
    moment: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("mine.toml").write_text(ONE_TABLE)
    execute(
        server,
        "CREATE TABLE shop.theirs (id INT NOT NULL PRIMARY KEY)",
        "INSERT INTO shop.theirs VALUES (1), (2), (1000)",
    )
    before = sums_of(server, "shop")
    comes = ("DROP TABLE IF EXISTS shop.orders", "RENAME TABLE shop.theirs TO shop.orders")
    before_that(monkeypatch, f"loadstone.{moment}", lambda: execute(server, *comes))
    refused(["prepare", "mine.toml", "--target", url, "--yes"], capsys, "orders")
    assert exit_code_of(["cleanup", "--target", url, "--yes"]) == 0
    after = sums_of(server, "shop")
    assert without_time(after, "orders") == renamed(before, orders="theirs")


def before_that(monkeypatch: pytest.MonkeyPatch, place: str, does: Callable[[], None]) -> None:
    """Let another client act right before a function is called."""
    module, name = place.rsplit(".", 1)
    function = getattr(import_module(module), name)

    def called(*arguments: object, **more: object) -> object:
        does()
        return function(*arguments, **more)

    monkeypatch.setattr(place, called)


def swapped(server: Sandbox, table: str = "sbtest1") -> Callable[[], None]:
    """Another client replaces a table by its own."""

    def swap() -> None:
        execute(server, f"RENAME TABLE shop.{table} TO shop.aside, shop.orders TO shop.{table}")

    return swap


def renamed(before: Sums, **names: str) -> Sums:
    """Another client's rows must be the same under their new names; their definitions too."""
    found = {}
    for new, old in names.items():
        kind, definition, _, checksum = before[old]
        found[new] = (kind, definition.replace(f"`{old}`", f"`{new}`"), checksum)
    return found


def without_time(sums: Sums, *names: str) -> Sums:
    """A rename changes the creation time of a table."""
    return {name: (sums[name][0], sums[name][1], sums[name][3]) for name in names}


@pytest.mark.parametrize(
    "case",
    [
        ("cleanup", "loadstone.mysql.family.drop_tables"),
        ("run", "loadstone.runner.run.check"),
        ("experiment", "loadstone.runner.experiment._recorder"),
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
        "cleanup": ["cleanup", "--target", url, "--yes", "--sysbench-tables"],
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
    before_that(monkeypatch, "loadstone.lab.tables.load._load", lambda: execute(server, taken))
    words = ["prepare", "--target", url, "--yes", "--tables", "2", "--table-size", "1000"]
    refused(words, capsys, "sbtest2")
    after = sums_of(server, "shop")
    assert without_time(after, "sbtest2") == renamed(before, sbtest2="orders")
    assert after["customers"] == before["customers"]


class OnceRowsAreThere:
    """Acts once the first rows of a load are there."""

    def __init__(self, does: Callable[[], None]) -> None:
        self.does = [does]

    def on_progress(self, progress: LoadProgress) -> None:
        if progress.rows and self.does:
            self.does.pop()()

    def on_stalled(self, stalled: LoadStalled) -> None:
        pass


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
                wait_until_nobody(server, 60)  # it has released what the lost ones held
            swapped(server)()
            between.shut = False

        layout = layout_for("sbtest", 1, 10 * 25_000)
        plan = LoadPlan(layout=layout, parallel=2, method=method, connect=ConnectPolicy(retries=20))  # type: ignore[arg-type]
        loader = Loader(
            endpoint(server, between.port), Consent(yes=True), OnceRowsAreThere(does), Interrupts()
        )
        with pytest.raises(GuardError, match="sbtest1"):
            load.prepare(plan, loader)
    after = sums_of(server, "shop")
    assert without_time(after, "sbtest1") == renamed(before, sbtest1="orders")
    # The load's table was renamed; nothing in the list takes the other one for ours.
    with server.connect() as connection:
        state = schemas.read_schema(connection, endpoint(server).target, "shop")
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
    everything = Cleaning(Consent(yes=True), of_sysbench=True)
    with Between(server.port) as between:
        cut_after = []

        def cut(*arguments: object) -> None:
            cut_after.append(arguments)
            between.cut()

        with monkeypatch.context() as patch, pytest.raises(TargetError) as lost:
            patch.setattr(drop_tables, "_forget", cut)
            load.cleanup(endpoint(server, between.port), everything)
    assert not isinstance(lost.value, GuardError)
    assert (len(cut_after), set(sums_of(server, "shop"))) == (1, {*theirs, "sbtest2"})
    again: CleanupDecision = load.cleanup(endpoint(server), everything)
    assert again.drops == ("sbtest2",)
    assert sums_of(server, "shop") == theirs
