"""A log becomes a template: the same statements as often, and no confidential values."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from loadstone.model.template import ParameterPiece, Template, TextPiece
from loadstone.mysql import dialect
from loadstone.traffic import grammar_mysql
from loadstone.traffic.build_template import draft
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.group_transactions import MOST_GROUPS, Collected, Group, Run
from loadstone.traffic.import_log import ImportOptions, ImportResult, from_log
from loadstone.traffic.shapes import sentence_of
from loadstone.traffic.transactions import Grouping
from loadstone.workloads.templates.file import parse_template
from traffic.logs import Did, general_of_mariadb, general_of_mysql, slow_of_mysql, written


def made_of(
    did: list[Did], folder: Path, wanted: ImportOptions | None = None
) -> tuple[ImportResult, Template]:
    path = written(folder, "app.log", general_of_mysql(did))
    made = from_log(path, "general", wanted or ImportOptions())
    return made, parse_template(made.text, "recorded.toml")


def sql_of(template: Template) -> dict[str, list[str]]:
    """The statements of each transaction, with named parameters."""
    found: dict[str, list[str]] = {}
    for one in template.spec.transactions:
        names = [parameter.name for parameter in one.parameters]
        found[one.name] = [
            "".join(
                piece.text
                if isinstance(piece, TextPiece)
                else f":{names[piece.parameter]}"
                if isinstance(piece, ParameterPiece)
                else "{copy}"
                for piece in statement.pieces
            )
            for statement in one.statements
        ]
    return found


def shop(orders: int, seed: int = 1) -> list[Did]:
    """Two sessions that buy and look, with interleaved statements."""
    random = Random(seed)
    buying: list[Did] = []
    looking: list[Did] = []
    for number in range(orders):
        product, customer = random.randint(1, 500), random.randint(1, 90)
        buying += [
            (1, "Query", "BEGIN"),
            (1, "Query", f"SELECT price FROM product WHERE id = {product} FOR UPDATE"),
            (1, "Query", f"UPDATE product SET stock = stock - 1 WHERE id = {product}"),
            (
                1,
                "Query",
                "INSERT INTO purchase (id, customer, product, state) VALUES"
                f" ({1000 + number}, {customer}, {product}, 'new')",
            ),
            (1, "Query", "COMMIT"),
        ]
        for _ in range(5):
            low = random.randint(1, 400)
            text = f"SELECT name FROM product WHERE id BETWEEN {low} AND {low + 19} LIMIT 20"
            looking.append((2, "Query", text))
    return [did for pair in zip(buying, looking, strict=True) for did in pair]


def test_transactions_are_those_of_their_sessions(tmp_path: Path) -> None:
    made, template = made_of(shop(200), tmp_path)
    assert sql_of(template) == {
        "select_product": ["SELECT name FROM product WHERE id BETWEEN :id AND :id_2 LIMIT 20"],
        "select_product_and_2": [
            "SELECT price FROM product WHERE id = :id FOR UPDATE",
            "UPDATE product SET stock = stock - 1 WHERE id = :id",
            "INSERT INTO purchase (id, customer, product, state)"
            " VALUES (:id_2, :customer, :id, 'new')",
        ],
    }
    look, buy = template.spec.transactions
    assert (look.weight, look.autocommit, buy.weight, buy.autocommit) == (1000, True, 200, False)
    kinds = {one.name: one.value.kind for one in buy.parameters}
    assert kinds == {"id": "integer", "customer": "integer", "id_2": "sequence"}
    (last,) = (one.value for one in look.parameters if one.name == "id_2")
    assert last.kind == "offset" and last.add == 19
    assert (made.transactions, made.statements) == (2, 1600)
    assert "2 sessions" in made.text and "--concurrency 2" in made.text


def test_a_written_value_that_may_be_a_read_one_is_named_as_unknown(tmp_path: Path) -> None:
    random = Random(3)
    did: list[Did] = []
    for _ in range(60):
        account, balance = random.randint(1, 500), random.randint(521, 99_976) / 100
        did += [
            (1, "Query", "BEGIN"),
            (1, "Query", f"SELECT bal FROM acc WHERE id = {account} FOR UPDATE"),
            (
                1,
                "Query",
                f"UPDATE acc SET bal = {balance:.2f}, seen = {account} WHERE id = {account}",
            ),
            (1, "Query", "COMMIT"),
        ]
    made, _ = made_of(did, tmp_path)
    lines = made.text.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("bal = "))
    comment = " ".join(line.removeprefix("# ") for line in lines[at - 2 : at])
    assert "not known: whether it was computed from the row that the transaction read" in comment
    assert made.text.count("whether it was computed") == 1


def test_a_long_choice_is_wrapped(tmp_path: Path) -> None:
    states = [f"a-state-with-a-long-name-{letter}" for letter in "abcdefghijklmno"]
    texts = [f"SELECT 1 FROM acc WHERE state = '{states[n % 15]}'" for n in range(600)]
    made, _ = made_of([(1, "Query", text) for text in texts], tmp_path)
    assert "state = { choice = [\n" in made.text
    assert max(map(len, made.text.splitlines())) <= 120


def test_repeats_and_lists_keep_their_sizes(tmp_path: Path) -> None:
    random = Random(2)
    did: list[Did] = []
    for _ in range(60):
        did.append((1, "Query", "START TRANSACTION"))
        did += [(1, "Query", f"SELECT a FROM t WHERE id={random.randint(1, 999)}") for _ in "1234"]
        numbers = ", ".join(str(random.randint(1, 999)) for _ in range(3))
        did.append((1, "Query", f"DELETE FROM t WHERE id IN ({numbers})"))
        rows = ", ".join(f"({random.randint(1, 999)}, 'x')" for _ in range(2))
        did += [(1, "Query", f"INSERT INTO t VALUES {rows}"), (1, "Query", "COMMIT")]
    _, template = made_of(did, tmp_path)
    (one,) = template.spec.transactions
    assert [statement.repeat for statement in one.statements] == [4, 1, 1]
    ((_, *others),) = sql_of(template).values()
    assert others == [
        "DELETE FROM t WHERE id IN (:id_2, :id_3, :id_4)",
        "INSERT INTO t VALUES (:value, 'x'), (:value_2, 'x')",
    ]
    assert [parameter.per for parameter in one.parameters][:2] == ["statement", "event"]


def test_numbered_tables_are_driven_as_often_as_they_were(tmp_path: Path) -> None:
    random = Random(3)
    did: list[Did] = []
    for number in range(400):
        table = 1 + number % 4
        did.append((1, "Query", f"SELECT c FROM sbtest{table} WHERE id={random.randint(1, 99)}"))
    _, template = made_of(did, tmp_path)
    assert sorted(sql_of(template).values()) == [
        [f"SELECT c FROM sbtest{number} WHERE id=:id"] for number in (1, 2, 3, 4)
    ]
    assert {one.weight for one in template.spec.transactions} == {100}


def test_passwords_are_in_no_template(tmp_path: Path) -> None:
    secrets = [
        "CREATE USER u IDENTIFIED BY 'hunter2'",
        "ALTER USER u IDENTIFIED BY 'hunter2'",
        "SET PASSWORD = 'hunter2'",
        "GRANT ALL ON *.* TO u IDENTIFIED BY 'hunter2'",
        "CHANGE MASTER TO MASTER_PASSWORD = 'hunter2'",
        "SELECT AES_DECRYPT(card, 'hunter2') FROM customer",
        "/*!50000 CREATE USER u IDENTIFIED BY 'hunter2' */",
    ]
    cut = "CREATE USER u IDENTIFIED BY 'hunter2"
    did: list[Did] = [(1, "Query", text) for text in [*secrets, cut]]
    login = "SELECT id FROM account WHERE name = 'ann' AND password = 'hunter2'"
    did += [(1, "Query", login)] * 3
    made, template = made_of(did, tmp_path)
    said = [made.text, *made.notes, *made.unknown]
    assert not [text for text in said if "hunter2" in text]
    assert f"left out: {len(secrets)} statements that may hold a password" in made.notes
    (sql,) = sql_of(template).values()
    assert sql == ["SELECT id FROM account WHERE name = 'ann' AND password = :password"]


def test_what_is_left_out_is_counted_and_named_by_line(tmp_path: Path) -> None:
    did: list[Did] = [
        (1, "Query", "SET NAMES utf8mb4"),
        (1, "Query", "SELECT 'no end"),
        (1, "Query", "SELECT {d '2026-01-01'}"),
        (1, "Query", "SHOW TABLES"),
        (1, "Query", "CREATE TABLE t (a INT)"),
        (1, "Query", "SELECT '\udcff' AS `a:b`, ':c', \"{e}\", '\x01\t\\\\'"),
    ]
    made, template = made_of(did, tmp_path)
    assert [note for note in made.notes if note.startswith("left out")] == [
        "left out: 1 SET statements",
        "left out: 1 texts that are not statements: what starts with ' has no end",
        "left out: 1 SHOW statements",
        "left out: 1 CREATE statements",
        "left out: 1 statements that a template cannot have: braces",
    ]
    assert "app.log:4: SET statements" in made.text and str(tmp_path) not in made.text
    (sql,) = sql_of(template).values()
    assert sql == ["SELECT x'ff' AS `a:b`, ':c', \"{e}\", '\x01\t\\\\'"]


def test_an_open_or_broken_transaction_is_not_lost(tmp_path: Path) -> None:
    did: list[Did] = [
        (1, "Query", "SET autocommit=0"),
        (1, "Query", "UPDATE t SET a=1 WHERE id=1"),
        (1, "Query", "UPDATE t SET b=1 WHERE id=1"),
        (1, "Query", "ROLLBACK"),
        (2, "Query", "BEGIN"),
        (2, "Query", "DELETE FROM t WHERE id=1"),
        (2, "Quit", ""),
        (3, "Query", "BEGIN"),
        (3, "Query", "DELETE FROM t WHERE id=2"),
    ]
    made, template = made_of(did, tmp_path)
    assert sorted((one.weight, len(one.statements)) for one in template.spec.transactions) == [
        (1, 2),
        (2, 1),
    ]
    assert "1 transactions that were rolled back: the template commits them" in made.notes


def test_only_the_most_frequent_are_taken_and_the_rest_is_counted(tmp_path: Path) -> None:
    did: list[Did] = [(1, "Query", "SELECT a FROM t")] * 98
    did += [(1, "Query", f"SELECT a FROM {table}") for table in ("u", "v")]
    made, template = made_of(did, tmp_path, ImportOptions(most=1))
    assert len(template.spec.transactions) == 1
    assert "left out: 2 statements (2 %) of transactions beyond the 1 most frequent" in made.notes


def test_only_one_schema_is_taken_where_that_is_asked(tmp_path: Path) -> None:
    did: list[Did] = [
        (1, "Connect", "app@localhost on shop using Socket"),
        (2, "Connect", "app@localhost on blog using Socket"),
        (1, "Query", "SELECT a FROM t"),
        (2, "Query", "SELECT b FROM t"),
        (2, "Init DB", "shop"),
        (2, "Query", "SELECT c FROM t"),
    ]
    made, template = made_of(did, tmp_path, ImportOptions(schema="shop"))
    assert sorted(sql_of(template).values()) == [["SELECT a FROM t"], ["SELECT c FROM t"]]
    assert "left out: 1 statements outside of the schema shop" in made.notes


def test_a_log_with_nothing_for_a_template_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "app.log", slow_of_mysql([(1, "Query", "SHOW TABLES")]))
    with pytest.raises(LogRefused, match="1 entries, and no statement that a template can have"):
        from_log(path, "slow", ImportOptions())


def test_weights_are_kept_where_there_are_more_than_a_file_takes() -> None:
    groups = [
        Group(False, count, (Run(sentence_of(sql).shape, 1, ()),))
        for sql, count in (("SELECT a FROM t", 40_000_000), ("SELECT b FROM t", 10_000_000))
    ]
    found = draft(groups, ReadStats("x"), dialect, 10)
    assert [one.weight for one in found.transactions] == [1_000_000, 250_000]
    assert found.statements == 50_000_000


def test_memory_does_not_grow_with_the_log() -> None:
    stats = ReadStats("x")
    grouping, collected = Grouping(stats, grammar_mysql), Collected(stats)

    def entries() -> list[Entry]:
        found = []
        for number in range(MOST_GROUPS + 50):
            found += [
                Entry(0.0, 1, "statement", text, 1)
                for text in ("BEGIN", f"SELECT a{number}x FROM t", "SELECT b FROM t", "COMMIT")
            ]
        return found

    collected.take(grouping.transactions(entries()))
    assert stats.noted.total() == 50
    counted = sum(
        group.count * sum(run.repeat for run in group.runs) for group in collected.groups.values()
    )
    assert counted == 2 * (MOST_GROUPS + 50)


def test_both_servers_logs_give_the_same_template(tmp_path: Path) -> None:
    did = shop(40)
    made = [
        from_log(written(tmp_path, "a.log", write(did)), "general", ImportOptions()).text
        for write in (general_of_mariadb, general_of_mysql)
    ]
    texts = {text.partition("\nname")[2] for text in made}
    assert len(texts) == 1
