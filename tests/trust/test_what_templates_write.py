"""Templates against other people's data: by name, by procedure, by a function behind a view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.servers import one
from loadstone.model.exit_codes import ExitCode
from loadstone.sandbox import Sandbox
from pooled import KINDS, Pool
from trust.summing import Sums, execute, sums_of

pytestmark = pytest.mark.server

SHORT = ("--concurrency", "2", "--duration", "300ms", "--warmup", "0s", "--no-observe", "--json")
THEIRS = (
    "CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO shop.customers VALUES (1, 'Ada'), (2, 'Grace')",
    "CREATE TABLE mine.stray (id INT PRIMARY KEY)",
    "INSERT INTO mine.stray VALUES (1), (2)",
    "CREATE PROCEDURE shop.empties() DELETE FROM shop.customers",
    "CREATE PROCEDURE mine.empties() DELETE FROM shop.customers",
)
SLY = (
    "CREATE FUNCTION {}.sly() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN"
    " DELETE FROM shop.customers; RETURN 1; END"
)
FUNCTIONS = (SLY.format("shop"), SLY.format("mine"))
VIEW = "CREATE VIEW mine.innocent AS SELECT shop.sly() AS answer"


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    yield (sandbox := pool.server(str(request.param)))
    execute(sandbox, *(f"DROP DATABASE IF EXISTS {name}" for name in ("shop", "mine")))


class Author:
    """The author of a template, whose schema is `mine`."""

    def __init__(self, server: Sandbox, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def runs(self, statement: str, *words: str, code: int = 0) -> CompletedProcess[str]:
        text = f"[transaction.only]\nautocommit = true\nstatements = [{json.dumps(statement)}]\n"
        (self.folder / "written.toml").write_text(text)
        return self._calls("run", "written.toml", *SHORT, *words, code=code)

    def runs_beside_writes(
        self, text: str, *words: str, code: int | None = 0
    ) -> CompletedProcess[str]:
        """A file in which other statements write to tables of its own, which are created and
        filled."""
        (self.folder / "written.toml").write_text(text)
        there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'counted'"
        if not one(self.server, there):
            self._calls("prepare", "written.toml", "--yes")
        return self._calls("run", "written.toml", *SHORT, *words, code=code)

    def _calls(self, *words: str, code: int | None = 0) -> CompletedProcess[str]:
        home = str(self.folder)
        password = self.server.tcp.credentials.reveal()
        known = {"HOME": home, "XDG_STATE_HOME": home, "LOADSTONE_PASSWORD": password}
        url = self.server.tcp.target.model_copy(update={"database": "mine"}).url
        said = (*words, "--target", url)
        return called(*said, folder=self.folder, environment=known, code=code)

    def theirs(self) -> tuple[Sums, Sums]:
        return sums_of(self.server, "shop"), sums_of(self.server, "mine")


@pytest.fixture
def author(server: Sandbox, tmp_path: Path) -> Author:
    for name in ("shop", "mine"):
        execute(server, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    execute(server, *THEIRS, *FUNCTIONS, VIEW)
    return Author(server, tmp_path)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE shop.customers SET name = 'theirs no more'", "shop.customers"),
        ("DELETE FROM shop.customers", "shop.customers"),
        ("DELETE `shop`.`customers` FROM mine.stray JOIN shop.customers", "shop.customers"),
        ("INSERT INTO shop.customers SELECT 3, 'x' FROM DUAL ON DUPLICATE KEY UPDATE name = 'x'",
         "shop.customers"),
        ("REPLACE INTO shop.customers VALUES (1, 'x')", "shop.customers"),
        ("DELETE FROM stray", "stray"),
        ("TRUNCATE stray", "stray"),
        ("CALL shop.empties()", "CALL"),
        ("CALL empties()", "CALL"),
        ("SELECT shop.sly()", "shop.sly()"),
        ("INSERT INTO stray SELECT 7 + sly()", "sly()"),
        ("/*!99999 */ SELECT 1", "an executable comment"),
        ("DROP TABLE shop.customers", "DROP"),
    ],
)  # fmt: skip
def test_what_is_not_of_its_file_is_written_to_only_where_that_is_meant(
    author: Author, statement: str, named: str
) -> None:
    before = author.theirs()
    said = author.runs(statement, code=ExitCode.GUARD).stderr
    assert "written.toml may write to more than the tables of its file: " in said
    assert named in said and "--yes" in said
    assert author.theirs() == before


@pytest.mark.parametrize("statement", ["DELETE FROM shop.customers", "CALL empties()"])
def test_with_yes_it_is_done(author: Author, statement: str) -> None:
    """Without the guard the statements do write: the tests above depend on it."""
    before = author.theirs()
    author.runs(statement, "--yes")
    assert author.theirs() != before
    assert one(author.server, "SELECT COUNT(*) FROM shop.customers") == 0


@pytest.mark.parametrize(
    "statement",
    [
        "SET GLOBAL max_connections = 333",
        "SET @@GLOBAL.max_connections = 333",
        "SET @mine = 1, GLOBAL max_connections = 333",
        "SET /*!50000 GLOBAL */ max_connections = 333",
        "SET PERSIST max_connections = 333",
        "GRANT ALL ON *.* TO somebody",
        "KILL 1",
    ],
)
@pytest.mark.parametrize("words", [(), ("--yes",)], ids=["", "yes"])
def test_what_is_for_the_whole_server_is_refused_whatever_is_said(
    author: Author, statement: str, words: tuple[str, ...]
) -> None:
    before = one(author.server, "SELECT @@GLOBAL.max_connections")
    said = author.runs(statement, *words, code=ExitCode.PLAN).stderr
    assert "is not load: it changes the server for everybody" in said
    assert one(author.server, "SELECT @@GLOBAL.max_connections") == before


@pytest.mark.parametrize("words", [(), ("--yes",)], ids=["", "yes"])
@pytest.mark.parametrize("statement", ["SELECT answer FROM innocent", "SELECT sly()", "DO sly()"])
def test_a_template_that_says_it_reads_is_held_to_that_by_the_server(
    author: Author, statement: str, words: tuple[str, ...]
) -> None:
    """The statement's text shows neither what the function does, nor that the view calls one."""
    before = author.theirs()
    said = author.runs(statement, *words, code=ExitCode.TARGET)
    assert "Cannot execute statement in a READ ONLY transaction" in said.stderr
    assert author.theirs() == before
    with author.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("USE mine")
        cursor.execute(statement)
        connection.commit()
    assert author.theirs() != before


OWN = """\
[table.counted]
rows = 10
[table.counted.columns]
id = { type = "INT NOT NULL", sequence = true }
k = { type = "INT", integer = [1, 9] }
[transaction.count]
statements = ["UPDATE counted SET k = k + 1 WHERE id = :id"]
[transaction.count.parameters]
id = { row = "counted" }
"""
LOOKS = "SELECT answer FROM innocent"


@pytest.mark.parametrize("protocol", ["--prepared", "--text"])
def test_a_transaction_that_reads_beside_others_that_write_is_held_to_that_too(
    author: Author, protocol: str
) -> None:
    before = sums_of(author.server, "shop")
    text = f'{OWN}[transaction.look]\nstatements = ["{LOOKS}"]\n'
    said = author.runs_beside_writes(text, protocol, "--yes", code=ExitCode.TARGET)
    assert "Cannot execute statement in a READ ONLY transaction" in said.stderr
    assert sums_of(author.server, "shop") == before


@pytest.mark.parametrize("protocol", ["--prepared", "--text"])
def test_a_transaction_that_is_held_does_what_it_says(author: Author, protocol: str) -> None:
    """Only what writes is refused: all events of both kinds succeed."""
    before = sums_of(author.server, "shop")
    text = f'{OWN}[transaction.look]\nstatements = ["SELECT COUNT(*) FROM shop.customers"]\n'
    # However slow the server is, some of so many users have events of each kind.
    many = ("--concurrency", "16", "--duration", "2s")
    done = json.loads(author.runs_beside_writes(text, protocol, "--yes", *many).stdout)
    (step,) = done["steps"]
    assert {name for name, kind in step["kinds"].items() if kind["count"]} == {"count", "look"}
    assert (step["failed"], sums_of(author.server, "shop")) == (0, before)


@pytest.mark.parametrize(
    "text",
    [
        OWN.replace('statements = ["UPDATE', f'statements = ["{LOOKS}", "UPDATE'),
        OWN.replace('WHERE id = :id"]', 'WHERE id = (SELECT answer FROM innocent)"]').partition(
            "[transaction.count.parameters]"
        )[0],
        f'{OWN}[transaction.look]\nautocommit = true\nstatements = ["{LOOKS}"]\n',
    ],
    ids=["before one's own UPDATE", "within it", "outside of a transaction"],
)
def test_where_it_cannot_be_held_somebody_agrees_to_the_view(author: Author, text: str) -> None:
    before = sums_of(author.server, "shop")
    said = author.runs_beside_writes(text, code=ExitCode.GUARD).stderr
    assert "may write to more than the tables of its file: the view innocent" in said
    assert sums_of(author.server, "shop") == before
    author.runs_beside_writes(text, "--yes", code=None)
    assert sums_of(author.server, "shop") != before
