"""Schemas for editors accept what the program accepts, and refuse what a schema can see."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from called import called
from loadstone.cli.commands.schema import FILES
from loadstone.recipes.filling import fill_to_look_at
from loadstone.recipes.recipe import NAMES, recipe
from loadstone.workloads.bundled import bundled, text_of_bundled

DOCS = Path(__file__).parents[2] / "docs"
EXPERIMENT = '[sandbox]\n[[workload]]\nname = "oltp_read_write"\n'
TEMPLATE = """
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
[transaction.look]
statements = ["SELECT 1 FROM item WHERE id = :id"]
parameters.id = { integer = [1, 9] }
"""


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command prints."""
    folder = tmp_path_factory.mktemp("schemas")
    return {kind: json.loads(called("schema", kind, folder=folder).stdout) for kind in FILES}


def refusals(schemas: dict[str, Any], kind: str, text: str) -> list[str]:
    """The keys that the schema refuses, each with why."""
    found = Draft7Validator(schemas[kind]).iter_errors(tomllib.loads(text))
    return [f"{error.json_path}: {error.message}" for error in found]


def parts(schema: object) -> Iterable[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    below = schema.values() if isinstance(schema, dict) else schema
    if isinstance(below, Iterable) and not isinstance(below, str):
        for each in below:
            yield from parts(each)


@pytest.mark.parametrize("kind", FILES)
def test_each_is_a_schema_and_says_what_each_key_means(schemas: dict[str, Any], kind: str) -> None:
    Draft7Validator.check_schema(schemas[kind])
    tables = [schemas[kind], *schemas[kind]["$defs"].values()]
    of_loadstone = [one for one in tables if "kind" not in one["properties"]]
    assert len(of_loadstone) >= 5
    for table in of_loadstone:
        assert table["additionalProperties"] is False
        assert [key for key, one in table["properties"].items() if not one.get("description")] == []


@pytest.mark.parametrize("kind", FILES)
def test_only_what_a_toml_file_can_hold_is_in_it(schemas: dict[str, Any], kind: str) -> None:
    every = [*parts(schemas[kind])]
    assert not [one for one in every if one.get("type") == "null" or one.get("default", 0) is None]
    assert not [one for one in every if "$ref" in one and len(one) > 1], "ignored in draft 7"


@pytest.mark.parametrize("name", NAMES)
def test_each_recipe_fits(schemas: dict[str, Any], name: str) -> None:
    for quick in (True, False):
        filled = fill_to_look_at(recipe(name), (), quick=quick)
        assert refusals(schemas, "experiment", filled.text) == []


@pytest.mark.parametrize("name", bundled())
def test_each_bundled_template_fits(schemas: dict[str, Any], name: str) -> None:
    assert refusals(schemas, "template", text_of_bundled(name)) == []


def test_the_examples_of_the_documents_fit(schemas: dict[str, Any]) -> None:
    from loadstone.config.problems import ExperimentRefused
    from loadstone.experiments.checks import Machine
    from loadstone.experiments.file import parse_experiment

    fits = 0
    for page in ("experiments.md", "mixes.md", "failover.md"):
        for text in re.findall(r"^```toml\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S):
            whole = text if "[sandbox]" in text or "target" in text else f"[sandbox]\n{text}"
            try:
                parse_experiment(whole, "example.toml", Machine(is_root=True, cores=64))
            except ExperimentRefused:
                continue  # a part of a file
            assert refusals(schemas, "experiment", whole) == []
            fits += 1
    assert fits >= 3


def test_the_document_has_each_key(schemas: dict[str, Any]) -> None:
    said = (DOCS / "experiments.md").read_text()
    keys = schemas["experiment"]["properties"]
    assert [key for key in keys if not re.search(rf"[`\[]{key}\b", said)] == []


GOOD = (
    'duration = "1_0 MIN"', "duration = 0.5", 'warmup = 0',
    'ladder = "1..8, 64"', 'ladder = [1, "2k"]', 'rates = [1000, "2k", "1k..8k/60s"]',
    'until = "2%"\ntime_limit = "8h"', "margin = 0.03", 'phases = "warm 60s 16, ramp 2m 1k..8k"',
    'search = { objective = "p99.9 <= 10ms" }', 'search = { peak = true, most_users = 64 }',
    'init_sql = "SET x = 1"', 'init_sql = ["SET x = 1"]', 'abort_if = ["p99>200ms for 5s"]',
    'factor.a.x = {}\nfactor.a.y.startup = { --sync-binlog = 1, b = "x", c = true }',
    'factor.a.x = {}\nfactor.a.y.client = { tls = "VERIFY_CA" }',
    'factor.a.x = {}\nfactor.a.y.client.compression = "zstd, uncompressed"',
    'factor.a.x = {}\nfactor.a.y.cgroup = { cores = 0.5, memory = "8G" }',
    'factor.a.x = {}\nfactor.a.y.client = { tls_version = "tlsv1.1,TLSv1", hosts = ["[::1]:1"] }',
    'factor.a.x = {}\nfactor.a.y.network = { rate = "100 Mbit", delay = "500us" }',
)  # fmt: skip


@pytest.mark.parametrize("keys", GOOD)
def test_what_the_program_reads_the_schema_accepts(
    schemas: dict[str, Any], tmp_path: Path, keys: str
) -> None:
    from loadstone.experiments.checks import Machine
    from loadstone.experiments.file import parse_experiment

    parse_experiment(f"{keys}\n{EXPERIMENT}", "good.toml", Machine(is_root=True, cores=8))
    assert refusals(schemas, "experiment", f"{keys}\n{EXPERIMENT}") == []


BAD = {
    "duraton = 1": "duraton",
    'duration = "soon"': "duration",
    'duration = "0s"': "duration",
    "duration = 0": "duration",
    'warmup = "warm"': "warmup",
    "ladder = []": "ladder",
    "ladder = [0]": "ladder",
    "repeats = 1.5": "repeats",
    'repeats = "six"': "repeats",
    'margin = "500%"': "margin",
    'margin = "0%"': "margin",
    'time_limit = "1h"': "until",
    'rates = ["1000/s"]': "rates",
    'columns = ["log_sinks"]': "columns",
    'restore = "undo"': "restore",
    'search = { objective = "p99<10" }': "search",
    "search = {}": "search",
    'target = "mysql://u:secret@h/x"': "target",
    'target = "db1:3306"': "target",
    'phases = "warm 60s"': "phases",
    'phases = "steady 60s 8"\nduration = "30s"': "duration",
    "factor.a.x = {}": "factor",
    'factor."a b" = { x = {}, y = {} }': "factor",
    "factor.a = { x = {}, y.cgroup = {} }": "cgroup",
    'factor.a = { x = {}, y.client.tls = "maybe" }': "tls",
    "factor.a = { x = {}, y.startup.b = [1] }": "startup",
    'factor.a = { x = {}, y.network.rate = "fast" }': "rate",
    'factor.a = { x = {}, y.client.hosts = ["db1:x"] }': "hosts",
    'cluster = { address = "h:1", on_node_loss = "wait" }': "on_node_loss",
    "cluster = { generators = 2 }": "address",
}


@pytest.mark.parametrize(("keys", "where"), BAD.items())
def test_what_the_program_refuses_the_schema_refuses_too(
    schemas: dict[str, Any], keys: str, where: str
) -> None:
    from loadstone.config.problems import ExperimentRefused
    from loadstone.experiments.checks import Machine
    from loadstone.experiments.file import parse_experiment

    text = EXPERIMENT.replace("[sandbox]\n", "") if "target" in keys else EXPERIMENT
    with pytest.raises(ExperimentRefused):
        parse_experiment(f"{keys}\n{text}", "bad.toml", Machine(is_root=True, cores=8))
    (said,) = refusals(schemas, "experiment", f"{keys}\n{text}")
    assert where in said


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('name = "oltp_read_write"', "tables = 3"),
        ('name = "oltp_read_write"', 'name = "x"\ntable_size = 0'),
        ('name = "oltp_read_write"', 'name = "x"\ndistribution = "flat"'),
        ('name = "oltp_read_write"', 'name = "x"\ndistribution = { exponent = 0.8 }'),
        ('name = "oltp_read_write"', 'name = "x"\nmix = [{ users = 2 }, { name = "y" }]'),
        ('name = "oltp_read_write"', 'tables = 2\nmix = [{ name = "x" }, { name = "y" }]'),
        ('name = "oltp_read_write"', 'mix = [{ name = "x", think = 1 }, { name = "y" }]'),
        ('[[workload]]\nname = "oltp_read_write"', ""),
    ],
)
def test_workloads_are_checked(schemas: dict[str, Any], was: str, now: str) -> None:
    from loadstone.config.problems import ExperimentRefused
    from loadstone.experiments.checks import Machine
    from loadstone.experiments.file import parse_experiment

    text = EXPERIMENT.replace(was, now)
    with pytest.raises(ExperimentRefused):
        parse_experiment(text, "bad.toml", Machine(is_root=True, cores=8))
    assert refusals(schemas, "experiment", text) != []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (", sequence = true", ""),
        ("sequence = true", "sequence = true, text = 3"),
        ("sequence = true", "cycle = []"),
        ("sequence = true", "sequence = true, step = 3"),
        ("integer = [1, 9]", ""),
        ("integer = [1, 9]", "integer = [1]"),
        ("integer = [1, 9]", 'integer = ["1", "9"]'),
        ("integer = [1, 9]", 'from = "x", text = 3'),
        ("integer = [1, 9]", "integer = [1, 9], add = 3"),
        ("integer = [1, 9]", 'integer = [1, 9], spread = "flat"'),
        ("integer = [1, 9]", 'integer = [1, 9], per = "user"'),
        ("integer = [1, 9]", "unifrom = [1, 2]"),
        ('["SELECT 1 FROM item WHERE id = :id"]', "[]"),
        ('["SELECT 1 FROM item WHERE id = :id"]', '[{ sql = "SELECT :id", repeat = 0 }]'),
        ("[transaction.look]", '[transaction."a b"]'),
        ("[transaction.look]", "[transaction.look]\nthink = 3601"),
        ("[table.item.columns]", "[table.item]\nrows = -1\n[table.item.columns]"),
        ("[table.item.columns]", "[table.item]\ncopies = 0\n[table.item.columns]"),
        (TEMPLATE[TEMPLATE.index("[transaction") :], ""),
    ],
)
def test_templates_are_checked(schemas: dict[str, Any], was: str, now: str) -> None:
    from loadstone.workloads.templates.file import TemplateRefused, parse_template

    assert refusals(schemas, "template", TEMPLATE) == []
    text = TEMPLATE.replace(was, now)
    assert text != TEMPLATE
    with pytest.raises(TemplateRefused):
        parse_template(text, "bad.toml")
    assert refusals(schemas, "template", text) != []


def test_another_kind_of_file_is_named(tmp_path: Path) -> None:
    said = called("schema", "recipe", folder=tmp_path, code=2).stderr
    assert "recipe" in said and "template" in said
