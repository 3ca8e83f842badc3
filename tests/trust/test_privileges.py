"""Each command with an account that has only the privileges of its line in docs/privileges.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.servers import one
from loadstone.cli.errors import exit_code_of
from loadstone.lab.variables.journal import settings_folder
from loadstone.lab.variables.lock import SettingsLock
from loadstone.lab.variables.stage import apply
from loadstone.sandbox import Sandbox
from pooled import KINDS, QUICK, Pool
from trust.summing import execute, sums_of

pytestmark = pytest.mark.server

PAGE = Path(__file__).parents[2] / "docs" / "privileges.md"
RIGHTS = {
    command.replace("`", ""): re.findall("`([^`]+)`", rights)
    for command, rights in re.findall(
        r"^\| (`[^|]+) \| (`[^|]+ ON [^|]+) \|$", PAGE.read_text(), re.MULTILINE
    )
}
ON_MYSQL = {"SUPER": "SYSTEM_VARIABLES_ADMIN"}
"""On MySQL, what replaces a privilege of the table in docs/privileges.md."""

SHORT = ("--concurrency", "2", "--duration", "500ms", "--warmup", "0s")
SIZES = ("--tables", "2", "--table-size", "100")
SYSBENCH = ("--tables=2", "--table-size=100", "--threads=2", "--time=1", "--mysql-db=shop")
EXPERIMENT = """\
duration = "500ms"
warmup = "0s"
ladder = [2]
repeats = 2
[target]
url = "{url}"
[[workload]]
name = "oltp_read_write"
tables = 2
table_size = 100
[factor.kind.a]
[factor.kind.b]
{level}
"""
LEVELS = {
    "experiment without variables": "client = { prepared = false }",
    "experiment with variables": "dynamic = { innodb_io_capacity = 300 }",
}
YES = {"experiment without variables": (), "experiment with variables": ("--yes",)}
MADE_BEFORE = ("run oltp_read_only", "run oltp_read_write", "cleanup", "sysbench run")


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    # Of its own: what an account may not see, such as a connection that another test has just
    # closed, counts as somebody else's.
    yield (sandbox := pool.server(str(request.param), {**QUICK, "interactive_timeout": "28801"}))
    execute(sandbox, "DROP USER IF EXISTS least@'%'", "DROP DATABASE IF EXISTS shop")


@pytest.fixture
def url(server: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL for an account that has no privileges yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("LOADSTONE_PASSWORD", "of-the-least")
    execute(
        server,
        "DROP USER IF EXISTS least@'%'",
        "DROP DATABASE IF EXISTS shop",
        "CREATE DATABASE shop",
        "CREATE USER least@'%' IDENTIFIED BY 'of-the-least'",
    )
    yield f"mysql://least@127.0.0.1:{server.port}/shop"


def words(command: str, server: Sandbox, url: str) -> list[str]:
    """The command line for a line of the table."""
    first, _, second = command.partition(" ")
    match first:
        case "experiment":
            Path("e.toml").write_text(EXPERIMENT.format(url=url, level=LEVELS[command]))
            return ["experiment", "e.toml", *YES[command]]
        case "sysbench":
            who = ("--mysql-user=least", "--mysql-password=of-the-least")
            where = ("--mysql-host=127.0.0.1", f"--mysql-port={server.port}")
            return ["sysbench", "oltp_read_write", *where, *who, *SYSBENCH, second]
        case "run":
            return ["run", second, "--target", url, *SHORT]
        case "prepare":
            return ["prepare", "--target", url, *SIZES]
        case "watch":
            return ["watch", "--target", url, "--duration", "1s"]
        case _:
            return [first, "--target", url]


def rights_of(server: Sandbox, command: str) -> list[str]:
    """The privileges of a line, under this server's names."""
    if server.flavour == "mariadb":
        return RIGHTS[command]

    def there(word: re.Match[str]) -> str:
        return ON_MYSQL.get(word[0], word[0])

    return [re.sub(r"\w+", there, each) for each in RIGHTS[command]]


def grant(server: Sandbox, rights: list[str]) -> None:
    execute(server, *(f"GRANT {each} TO least@'%'" for each in rights))


def prepared(server: Sandbox, url: str) -> None:
    """Tables that an account with more privileges has created."""
    grant(server, ["ALL ON shop.*"])
    assert exit_code_of(["prepare", "--target", url, *SIZES]) == 0
    execute(server, "REVOKE ALL ON shop.* FROM least@'%'")


def left_changed(server: Sandbox) -> None:
    """A changed variable, as a killed run leaves it."""
    endpoint = server.tcp
    lock = SettingsLock.take(endpoint)
    apply(endpoint, {"innodb_io_capacity": "300"}, settings_folder(), lock).close(done=False)
    lock.close()


def io_capacity(server: Sandbox) -> int:
    found: int = one(server, "SELECT @@GLOBAL.innodb_io_capacity")
    return found


def test_the_page_has_a_line_for_each_command_that_is_tried() -> None:
    assert set(LEVELS) < RIGHTS.keys()
    assert set(MADE_BEFORE) < RIGHTS.keys()
    assert len(RIGHTS) == 12
    for right, there in ON_MYSQL.items():
        assert f"MySQL 8.0 on use `{there}` in place of `{right}`" in PAGE.read_text()


@pytest.mark.parametrize("command", RIGHTS)
def test_a_command_needs_no_more_than_its_rights(
    server: Sandbox, url: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if command in MADE_BEFORE or command == "sysbench cleanup":
        prepared(server, url)
    if command == "sysbench cleanup":
        execute(server, "DROP TABLE shop.loadstone_tables")
    before = io_capacity(server)
    if command == "restore":
        left_changed(server)
        assert io_capacity(server) != before
    grant(server, rights_of(server, command))
    said = words(command, server, url)
    capfd.readouterr()
    code = exit_code_of(said)
    assert code == 0, "".join(capfd.readouterr())
    if command in ("cleanup", "sysbench cleanup"):
        assert sums_of(server, "shop") == {}
    assert io_capacity(server) == before


@pytest.mark.parametrize(
    ("command", "right"),
    [("cleanup", "LOCK TABLES"), ("prepare", "INDEX"), ("run oltp_read_write", "DELETE")],
)
def test_a_right_that_is_missing_is_told_in_one_line(
    server: Sandbox, url: str, command: str, right: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if command in MADE_BEFORE:
        prepared(server, url)
    grant(server, [each.replace(f", {right}", "") for each in rights_of(server, command)])
    capfd.readouterr()
    assert exit_code_of(words(command, server, url)) == 3
    said = capfd.readouterr().err
    assert "denied" in said
    assert "Traceback" not in said
