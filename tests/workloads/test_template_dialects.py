"""Templates for several families of servers: what a file says for each, and which it is for."""

from __future__ import annotations

import pytest

from loadstone.config.values import InvalidValue
from loadstone.families import FAMILIES
from loadstone.model.template import IntegerValue, Template, TextPiece, TextValue
from loadstone.workloads.bundled import bundled, text_of_bundled
from loadstone.workloads.templates.columns import misfit
from loadstone.workloads.templates.file import TemplateRefused, form_for, parse_template
from loadstone.workloads.templates.sql import CopyOf, Named, Text, parts_of

POSTGRESQL = FAMILIES["postgresql"].dialect
BOTH = """
dialect = ["mysql", "postgresql"]
[table.Item]
rows = 100
indexes = [["Price"]]
[table.Item.columns]
Id = { type = { mysql = "INT UNSIGNED NOT NULL", postgresql = "BIGINT NOT NULL" }, sequence = true }
Price = { type = "INT NOT NULL", integer = [1, 9] }
[transaction.put]
statements = [
  "SELECT Price FROM Item WHERE Id = :id",
  { sql = { mysql = "REPLACE INTO Item VALUES (:id)", postgresql = "DELETE FROM Item" }, rows = 1 },
]
parameters.id = { row = "Item" }
"""


def parse(text: str) -> Template:
    return parse_template(text, "own.toml")


def test_each_family_has_its_texts_and_the_rest_is_shared() -> None:
    template = parse(BOTH)
    assert template.family == "mysql"
    (table,) = template.loaded()
    assert table.create == (
        "CREATE TABLE `Item` (`Id` INT UNSIGNED NOT NULL, `Price` INT NOT NULL, PRIMARY KEY (`Id`))"
        " ENGINE = innodb"
    )
    other = form_for(template, "own.toml", "postgresql")
    (table,) = other.loaded()
    assert (table.name, table.create) == (
        "item",
        'CREATE TABLE "item" ("id" BIGINT NOT NULL, "price" INT NOT NULL, PRIMARY KEY ("id"))',
    )
    assert table.indexes == ('CREATE INDEX "item_1" ON "item" ("price")',)
    assert other.spec.transactions[0].statements[0] == template.spec.transactions[0].statements[0]
    assert other.table_lines["item"]["price"] == 8
    assert template.names == other.names == frozenset({"Item", "item"})
    assert form_for(other, "own.toml", "mysql").spec == template.spec
    assert [str(one.effect.writes[0]) for one in other.effects if one.effect.writes] == ["item"]


@pytest.mark.parametrize("name", bundled())
def test_templates_that_come_along_are_for_all_families(name: str) -> None:
    template = parse_template(text_of_bundled(name), f"{name}.toml")
    assert template.lacks == {}
    for family in FAMILIES:
        form = form_for(template, f"{name}.toml", family)
        assert not [one for one in form.effects if one.effect.unclear]
        assert form.writes == template.writes


def test_what_helps_one_family_to_infer_types_does_not_change_the_other_s_statements() -> None:
    tatp = parse_template(text_of_bundled("tatp"), "tatp.toml")
    for family, expected in (
        ("mysql", "SELECT * FROM subscriber WHERE s_id = ("),
        ("postgresql", "0 + "),
    ):
        (statement,) = form_for(tatp, "tatp.toml", family).spec.transactions[0].statements
        assert isinstance(statement.pieces[0], TextPiece)
        assert statement.pieces[0].text.endswith(expected)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            'dialect = ["mysql", "postgresql"]',
            'dialect = "mysql"',
            "own.toml:2: dialect: the file is not for PostgreSQL",
        ),
        (
            ', postgresql = "DELETE FROM Item"',
            "",
            "own.toml:12: transaction.put.statements[2].sql: it has no text for postgresql",
        ),
        (
            "DELETE FROM Item",
            "DELETE FROM $$",
            "put.statements[2].sql: as SQL of PostgreSQL: a text that starts with $$ has no end",
        ),
    ],
)
def test_what_a_file_lacks_for_a_family_is_said_where_that_is_wanted(
    was: str, now: str, said: str
) -> None:
    text = BOTH.replace(was, now)
    assert text != BOTH
    if "dialect" not in was:
        text = text.replace('dialect = ["mysql", "postgresql"]', "")
    template = parse(text)
    assert template.family == "mysql"
    with pytest.raises(TemplateRefused) as refused:
        form_for(template, "own.toml", "postgresql")
    assert said in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('["mysql", "postgresql"]', '"oracle"', "own.toml:2: dialect: there is no dialect"),
        ('["mysql", "postgresql"]', "[]", "own.toml:2: dialect: [] is not a list of different"),
        ('["mysql", "postgresql"]', "7", "own.toml:2: dialect: "),
        (', postgresql = "BIGINT NOT NULL"', "", "Id.type: it has no text for postgresql"),
        ('postgresql = "DELETE', 'oracle = "DELETE', "sql.oracle: there is no dialect oracle"),
        (
            "DELETE FROM Item",
            "DELETE FROM Item WHERE Id = :no",
            "sql: there is no parameter :no",
        ),
        ('"BIGINT NOT NULL"', '"INT2"', "Id: INT2 holds -32,768 to 32,767"),
    ],
)
def test_faults_of_a_listed_family_are_faults_of_the_file(was: str, now: str, said: str) -> None:
    text = BOTH.replace(was, now).replace("rows = 100", "rows = 100_000")
    with pytest.raises(TemplateRefused) as refused:
        parse(text)
    assert said in refused.value.message


def test_a_file_of_another_family_needs_no_first_one() -> None:
    text = BOTH.replace('["mysql", "postgresql"]', '"postgresql"')
    template = parse(text)
    assert (template.family, template.others) == ("postgresql", ())
    with pytest.raises(TemplateRefused, match="the file is not for MySQL"):
        form_for(template, "own.toml", "mysql")


def test_values_are_compared_with_the_types_of_the_family() -> None:
    for kind in ("INT2", "SMALLSERIAL", "smallint NOT NULL"):
        assert misfit(kind, IntegerValue(low=0, high=40_000), 1, POSTGRESQL) is not None
    assert misfit("NUMERIC", IntegerValue(low=0, high=10**15), 1, POSTGRESQL) is None
    assert misfit("VARCHAR", TextValue(least=0, most=500), 1, POSTGRESQL) is None
    assert misfit("TINYINT", IntegerValue(low=0, high=40_000), 1, POSTGRESQL) is None


def test_a_question_mark_is_an_operator_where_it_is_no_placeholder() -> None:
    sql = "SELECT 1 FROM doc WHERE body ? :key"
    assert parts_of(sql, POSTGRESQL)[0] == Text("SELECT 1 FROM doc WHERE body ? ")
    with pytest.raises(InvalidValue, match="is not a placeholder here"):
        parts_of(sql, FAMILIES["mysql"].dialect)


@pytest.mark.parametrize("word", ["END", "abort", "COMMIT"])
def test_what_ends_a_transaction_is_no_statement_of_one(word: str) -> None:
    with pytest.raises(InvalidValue, match="BEGIN and COMMIT are sent"):
        parts_of(word, POSTGRESQL)


def test_parameters_are_found_where_this_sql_has_them() -> None:
    sql = "SELECT ':a', E'\\':b', \":c\", $q$:d$q$, `:e, :f::int, x # :g /* /* :h */ :i */ -- :j"
    assert [part for part in parts_of(sql, POSTGRESQL) if not isinstance(part, Text)] == [
        Named("e"), Named("f"), Named("g"),
    ]  # fmt: skip
    assert CopyOf("t") in parts_of("SELECT 1 FROM {t}", POSTGRESQL)
