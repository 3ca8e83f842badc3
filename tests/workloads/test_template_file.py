"""Template files: what a valid one means, and which errors invalid ones get."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.cli.options.workload_source import check_charset
from loadstone.families import FAMILIES
from loadstone.model.exit_codes import ExitCode
from loadstone.model.template import (
    ChoiceValue,
    CycleValue,
    DecimalValue,
    HotValue,
    IntegerValue,
    MomentValue,
    OffsetValue,
    ParameterPiece,
    ReadValue,
    Template,
    TextPiece,
)
from loadstone.workloads.bundled import bundled, text_of_bundled
from loadstone.workloads.templates.file import (
    TemplateRefused,
    find_template,
    parse_template,
    read_template,
)
from loadstone.workloads.templates.sql import CopyOf, Named, Text, as_sent, parts_of

MYSQL, POSTGRESQL = (FAMILIES[each].dialect for each in ("mysql", "postgresql"))
TABLE = """
[table.item]
rows = 100
columns.id = { type = "INT NOT NULL", sequence = true }
"""
SELL = """
[transaction.sell]
statements = ["SELECT 1 FROM item WHERE id = :id"]
parameters.id = { row = "item" }
"""
OTHER = """
[transaction.other]
statements = ["SELECT 1"]
"""


def parse(text: str) -> Template:
    return parse_template(text, "own.toml")


def refused(text: str) -> TemplateRefused:
    with pytest.raises(TemplateRefused) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("name", bundled())
def test_templates_that_come_along_are_good(name: str) -> None:
    template = parse_template(text_of_bundled(name), f"{name}.toml")
    assert template.name == name and template.about
    assert template.writes == (name not in ("point_select", "read_only", "ycsb_c"))


def test_a_file_is_read_with_all_that_it_says() -> None:
    template = parse(
        """
name = "mine"
about = "a test"
[table.item]
rows = "2k"
copies = 3
primary_key = ["shop", "id"]
indexes = [["price"], ["shop", "price"]]
[table.item.columns]
shop = { type = "INT NOT NULL", integer = [1, 9] }
id = { type = "INT NOT NULL", sequence = true }
price = { type = "DECIMAL(8,3)", decimal = ["-1.5", "20.125"] }
state = { type = "ENUM('a','b')", choice = ["a", "b", "NULL", true] }
day = { type = "DATE", date = [1970-01-02, "1970-01-04"] }
[transaction.look]
weight = 3
think = "20ms"
autocommit = true
statements = [
  { sql = "SELECT price FROM {item} WHERE id = :id AND ':no' <> `:no`", rows = [0, 1], repeat = 4 },
]
[transaction.look.parameters.id]
row = "item"
per = "statement"
spread = { kind = "hot", percent = 5, hits = 70 }
[transaction.buy]
statements = [
  { sql = "SELECT price FROM {item} WHERE id = :first;", rows = 1, read = "price" },
  { sql = "INSERT INTO {item} VALUES (:last, :price)", same_copy = true },
]
[transaction.buy.parameters]
last = { from = "first", add = 5 }
first = { integer = [10, 20], spread = "zipfian" }
"""
    )
    (table,) = template.tables
    assert table.names == ("item1", "item2", "item3")
    loaded = template.loaded("rocksdb")[1]
    assert loaded.create == (
        "CREATE TABLE `item2` (`shop` INT NOT NULL, `id` INT NOT NULL, `price` DECIMAL(8,3), "
        "`state` ENUM('a','b'), `day` DATE, PRIMARY KEY (`shop`, `id`)) ENGINE = rocksdb"
    )
    assert loaded.indexes[1] == "CREATE INDEX `item2_2` ON `item2` (`shop`, `price`)"
    _, _, price, state, day = (column.value for column in table.columns)
    assert price == DecimalValue(low=-1500, high=20125, places=3)
    assert state == ChoiceValue(values=("a", "b", None, 1))
    assert day == MomentValue(low=86_400, high=3 * 86_400, with_time=False)
    look, buy = template.spec.transactions
    assert (look.weight, look.think_s, look.autocommit) == (3, 0.02, True)
    assert look.parameters[0].value == HotValue(low=1, high=2000, percent=5, hits=70)
    (select,) = look.statements
    assert (select.rows, select.repeat, select.copies) == ((0, 1), 4, 3)
    assert select.pieces == (
        TextPiece(text="SELECT price FROM "),
        TextPiece(text="item"),
        "copy",
        TextPiece(text=" WHERE id = "),
        ParameterPiece(parameter=0),
        TextPiece(text=" AND ':no' <> `:no`"),
    )
    values = {one.name: one.value for one in buy.parameters}
    places = [one.name for one in buy.parameters]
    assert places.index("first") < places.index("last")
    assert values["last"] == OffsetValue(of=places.index("first"), add=5)
    assert isinstance(values["first"], IntegerValue) and values["price"] == ReadValue()
    assert buy.statements[0].reads == (places.index("price"),)
    assert buy.statements[1].same_copy and template.writes
    assert template.lines == {"look": (20,), "buy": (28, 29)}


def test_a_column_may_go_through_a_list() -> None:
    column = 'columns.parent = { type = "INT", cycle = [1, 2, 2], step = 2 }\n'
    (table,) = parse(TABLE + column + SELL).tables
    assert table.columns[1].value == CycleValue(values=(1, 2, 2), step=2)


def test_the_name_is_the_files_where_it_says_none(tmp_path: Path) -> None:
    path = tmp_path / "my-shop.toml"
    path.write_text(TABLE + SELL)
    assert read_template(path).name == "my_shop"
    with pytest.raises(TemplateRefused, match=r"my_shop is the name of a built-in workload"):
        read_template(path, {"my_shop"})


BAD: tuple[tuple[str, str], ...] = (
    ("[[", "own.toml:1: it is not TOML"),
    ("a = " + 9_999 * "[", "own.toml:1: it is nested too deeply"),
    (
        TABLE + 'columns.price = { type = "INT" }\n' + SELL,
        "own.toml:5: table.item.columns.price: nothing says what its values are",
    ),
    (
        TABLE + 'columns.other = { type = "INT", row = "item" }\n' + SELL,
        "other.row: only parameters choose rows",
    ),
    (
        TABLE + 'columns.other = { type = "INT", cycle = [1, "a"], step = 1 }\n' + SELL,
        "own.toml:5: table.item.columns.other.step: a step is added to whole numbers",
    ),
    (
        TABLE + 'columns.other = { type = "INT", text = 4, step = 1 }\n' + SELL,
        "own.toml:5: table.item.columns.other.step: there is no cycle",
    ),
    (TABLE + 'columns.other = { type = "INT", cycle = [] }\n' + SELL, "other.cycle: "),
    (TABLE + SELL.replace('row = "item"', "cycle = [1]"), "id.cycle: there is no such key"),
    (TABLE, "own.toml:1: transaction: no transaction"),
    (
        TABLE + SELL.replace(":id", ":ids"),
        "own.toml:7: transaction.sell.statements[1].sql: there is no parameter :ids",
    ),
    (
        TABLE + SELL.replace('row = "item"', 'row = "items"'),
        "own.toml:8: transaction.sell.parameters.id.row: there is no table items",
    ),
    (TABLE + SELL.replace("row", "rows"), "parameters.id.rows: there is no such key"),
    (TABLE + SELL.replace('row = "item"', "unifrom = [1, 2]"), "id.unifrom: there is no such key"),
    (TABLE + SELL.replace('row = "item"', "integer = [9, 1]"), "id.integer: the lowest value"),
    (
        TABLE + SELL.replace('row = "item"', 'row = "item", text = 4'),
        "id.text: row says already what its values are",
    ),
    (TABLE + SELL + 'parameters.more = { text = 4 }\n', "more: no statement uses it"),
    (
        TABLE + SELL + 'parameters.a = { from = "b" }\nparameters.b = { from = "a" }\n',
        "a.from: it depends on itself: a <- b <- a",
    ),
    (
        TABLE + SELL.replace('row = "item"', 'from = "t"') + "parameters.t = { text = 4 }\n",
        "id.from: t is not a whole number that is drawn",
    ),
    (TABLE + SELL.replace("SELECT 1", "SELECT ?"), "sql: ? is not a placeholder here"),
    (TABLE + SELL.replace("SELECT 1", "SELECT 'a"), "sql: a text that starts with ' has no end"),
    (TABLE + SELL.replace("id = :id", "id = :id; DO 0"), "sql: there is more than one statement"),
    (TABLE + SELL.replace("SELECT 1 FROM", "COMMIT AND"), "sql: COMMIT: BEGIN and COMMIT are"),
    (TABLE + SELL.replace("FROM item", "FROM {item}"), "{item} is not a table of the file"),
    (TABLE + SELL + "think = \"2h\"\n", "sell.think: \"2h\" is too long"),
    (TABLE + SELL + "weight = 0\n", "sell.weight: 0 is below 1"),
    (TABLE.replace("sequence = true", "integer = [1, 2]") + SELL, "0 columns count the rows"),
    (TABLE.replace("100", "5_000_000_000") + SELL, "table.item.rows: 5000000000 is not a number"),
    (TABLE + 'primary_key = "no"\n' + SELL, "table.item.primary_key: there is no column no"),
    (TABLE.replace("INT NOT NULL", "INT); DROP TABLE x") + SELL, "is not a column type"),
    (TABLE.replace("[table.item]", '[table."it em"]') + SELL, '"it em" cannot be a name here'),
    (
        TABLE + "copies = 2\n" + TABLE.replace("item", "item2") + SELL,
        "its table item2 is also that of [table.item",
    ),
    (
        TABLE.replace("INT NOT NULL", "TINYINT").replace("100", "1000") + SELL,
        "own.toml:4: table.item.columns.id: TINYINT holds -128 to 127, and its values go from 1 to",
    ),
    (
        TABLE + 'columns.ID = { type = "INT", constant = 1 }\n' + SELL,
        "table.item.columns.ID: there is such a column",
    ),
    (
        TABLE.replace("item", "loadstone_tables") + OTHER,
        "table.loadstone_tables: Loadstone keeps its own list",
    ),
    (TABLE.replace("item", "i" * 63) + OTHER, "with its numbers the name has more than 64 letters"),
    (
        TABLE + SELL.replace('row = "item"', 'generator = "faker"'),
        "own.toml:8: transaction.sell.parameters.id.generator: there is no such key",
    ),
    (
        TABLE + SELL.replace('row = "item"', 'row = "item", spread = "normal"'),
        "own.toml:8: transaction.sell.parameters.id.spread: ",
    ),
    (
        TABLE + SELL.replace("SELECT 1 FROM item WHERE id = :id", "\\u0000"),
        "own.toml:7: transaction.sell.statements[1].sql: ",
    ),
    (
        TABLE + SELL.replace('"SELECT', '{ read = "id", sql = "SELECT').replace(':id"', ':id" }'),
        "sell.statements[1].read: id is a parameter that is drawn",
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"), BAD, ids=lambda text: None if "\n" in text or len(text) > 99 else text
)
def test_a_fault_is_told_with_its_line_and_its_key(text: str, words: str) -> None:
    error = refused(text)
    assert words in error.message, error.message
    assert re.match(r"own\.toml:\d+: ", error.message)
    assert error.hint and error.exit_code is ExitCode.PLAN


def test_letters_beyond_ascii_are_known_by_their_line() -> None:
    about = 'about = "für alle"  # ñ\n'
    assert parse(about + TABLE + SELL).beyond_ascii is None
    assert parse(TABLE + SELL.replace("SELECT 1", "SELECT 'é'")).beyond_ascii == 7
    value = "columns.name = { type = 'CHAR(9)', choice = ['a',\n 'ø'] }\n"
    assert parse(TABLE + value + SELL.replace("SELECT 1", "SELECT 'é'")).beyond_ascii == 6


def test_such_letters_are_sent_as_utf_8_only() -> None:
    template = parse(TABLE + SELL.replace("SELECT 1", "SELECT 'é'"))
    check_charset(template, "own.toml", "utf8mb4")
    check_charset(parse(TABLE + SELL), "own.toml", "latin1")
    with pytest.raises(TemplateRefused, match=r"own\.toml:7: letters beyond ASCII .* latin1"):
        check_charset(template, "own.toml", "latin1")


def test_what_is_read_cannot_be_sent_before() -> None:
    statements = (
        '["SELECT :price", { sql = "SELECT price FROM item WHERE id = :id", read = "price" }]'
    )
    error = refused(TABLE + SELL.replace('["SELECT 1 FROM item WHERE id = :id"]', statements))
    assert "no earlier statement reads :price" in error.message


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateRefused, match=r"none\.toml: cannot be read"):
        read_template(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"about = '\xe9'")
    with pytest.raises(TemplateRefused, match="it is not UTF-8"):
        read_template(tmp_path / "latin.toml")


def test_parameters_are_found_where_sql_has_them() -> None:
    sql = "SELECT ':a', \":b\", `:c`, '\\':d', 'it'':e' /* :f ? */ -- :g\n, @x := :h, :i{t} # :j"
    assert parts_of(sql, MYSQL) == (
        Text("SELECT ':a', \":b\", `:c`, '\\':d', 'it'':e' /* :f ? */ -- :g\n, @x := "),
        Named("h"),
        Text(", "),
        Named("i"),
        CopyOf("t"),
        Text(" # :j"),
    )


def test_a_statement_is_judged_as_it_is_sent() -> None:
    sql = "UPDATE {product} SET a = :a WHERE b = ':c' /* :d */"
    assert as_sent(parts_of(sql, MYSQL)) == "UPDATE product1 SET a = ? WHERE b = ':c' /* :d */"


def test_what_changes_the_server_for_everybody_is_refused() -> None:
    text = '[transaction.a]\nstatements = ["SELECT 1", "SET GLOBAL max_connections = 333"]'
    with pytest.raises(TemplateRefused) as caught:
        parse_template(text, "a.toml")
    (fault,) = caught.value.faults
    assert fault.line == 2
    assert "SET GLOBAL is not load: it changes the server for everybody" in fault.what


def test_a_bundled_template_is_found_where_the_folder_has_no_file_of_its_name(
    tmp_path: Path,
) -> None:
    assert find_template("shop.toml", tmp_path).tables
    (tmp_path / "shop.toml").write_text(TABLE + SELL)
    assert [table.name for table in find_template("shop.toml", tmp_path).tables] == ["item"]
    with pytest.raises(TemplateRefused, match="sop"):
        find_template("sop.toml", tmp_path)
