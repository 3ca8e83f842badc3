"""The recipes themselves: each is a valid experiment, consistent and short enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import plan_time, schedule
from loadstone.model.experiment import Experiment
from loadstone.model.language import in_language
from loadstone.recipes.filling import Filled, fill_to_look_at
from loadstone.recipes.recipe import NAMES, Expectation, recipe

MACHINE = Machine(is_root=True, cores=64)
DOCUMENT = Path(__file__).parents[2] / "docs" / "recipes.md"
URLS = {
    "mysql": "mysql://bench@db1:3306/sbtest",
    "postgresql": "postgresql://bench@db1:5432/sbtest",
}

OF_POSTGRESQL = frozenset(
    "shared_buffers synchronous_commit wal_buffers wal_writer_delay max_wal_size"
    " effective_io_concurrency".split()
)
"""Its settings, in recipes that are about servers of either family."""

QUICK_S = 300.0
AGAIN = 1.5
"""Units disturbed by the generator, steal or a limit are measured again: at most half as many."""
LONGEST = "three-databases"
"""Three servers and three workloads take all the time, unless units have to be measured again."""

START_S = 5.0
"""The time to start either server on two cores, with its data copied back, and a margin. The plan's
own figure, which users see, is not larger."""
BETWEEN_S = 1.0
"""Time for connecting, and for the counters before and after a step."""


def experiment_of(filled: Filled) -> Experiment:
    return parse_experiment(filled.text, filled.name, MACHINE).experiment


def looked_at(name: str, *given: str, quick: bool) -> Experiment:
    return experiment_of(fill_to_look_at(recipe(name), given, quick=quick))


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_each_recipe_is_an_experiment_in_both_sizes(name: str, quick: bool) -> None:
    asked = looked_at(name, quick=quick)
    assert asked.name == name
    assert asked.columns, "the rates alone do not answer the question"
    if not quick:
        assert asked.duration_s >= 60


@pytest.mark.parametrize("name", NAMES)
def test_quick_is_as_long_and_as_large_as_promised(name: str) -> None:
    asked = looked_at(name, quick=True)
    assert asked.duration_s >= 5
    assert asked.repeats >= 3
    largest = [max(one.tables * one.table_size for one in each.alone) for each in asked.workloads]
    assert set(largest) == {100_000}
    steps = schedule(asked)
    time = plan_time(asked, steps)
    blocks = time.starts if asked.restarting else time.restores
    assert time.total_s <= QUICK_S, "what --dry-run says"
    total_s = time.load_s + BETWEEN_S * len(steps) + START_S * blocks
    assert (1.0 if name == LONGEST else AGAIN) * total_s <= QUICK_S


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_can_be_looked_for(name: str) -> None:
    filled = fill_to_look_at(recipe(name), (), quick=True)
    asked = experiment_of(filled)
    for expected in filled.expect:
        check_expectation(expected, asked, filled)
    other = filled.recipe.without_root
    for expected in other.expect if other else ():
        check_expectation(expected, asked, filled)


def check_expectation(expected: Expectation, asked: Experiment, filled: Filled) -> None:
    factors = {each.name: [level.name for level in each.levels] for each in asked.factors}
    if expected.kind in ("verdict", "column"):
        assert expected.level in factors[str(expected.factor)][1:]
    if expected.kind in ("column", "ladder"):
        assert expected.column in asked.columns
    if expected.kind == "ladder":
        assert len(asked.ladder) > 1
    if expected.kind == "line":
        assert filled.recipe.parameter[str(expected.rate)].kind == "rate"
        assert "line_mbit" in asked.columns
    if expected.kind == "costs":
        assert {"response_ms", "lock_ms", "flush_ms", "server_us"} <= set(asked.columns)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_used(name: str) -> None:
    found = recipe(name)
    other = found.without_root.experiment if found.without_root else ""
    text = found.experiment + other
    text += "".join(each.sandbox + (each.root or "") for each in found.parameter.values())
    for each in found.parameter.values():
        text += "".join(part for parts in each.choices.values() for part in parts.values())
    for theirs in found.family.values():
        text += "".join(theirs.text.values())
    used = set(re.findall(r"\$\{(\w+?)(?:_in_bytes)?\}", text))
    # A choice may use only what it inserts.
    puts_in = {
        name
        for name, each in found.parameter.items()
        if each.choices and set(next(iter(each.choices.values()))) <= used
    }
    assert set(found.parameter) <= used | puts_in


@pytest.mark.parametrize("name", NAMES)
def test_a_place_may_be_a_target(name: str) -> None:
    places = [key for key, each in recipe(name).parameter.items() if each.kind == "place"]
    for place in places:
        family = next(iter(recipe(name).family))
        url = URLS[family].replace("db1", f"host-{place.replace('_', '-')}")
        filled = fill_to_look_at(recipe(name), (f"{place}={url}",), quick=True)
        asked = experiment_of(filled)
        targets = [level.target for factor in asked.factors for level in factor.levels]
        hosts = [target.host for target in [*targets, asked.target] if target]
        assert f"host-{place.replace('_', '-')}" in hosts


@pytest.mark.parametrize(
    "name", [each for each in NAMES if {"mysql", "postgresql"} <= set(recipe(each).family)]
)
def test_on_postgresql_no_setting_is_of_mysql(name: str) -> None:
    servers = [
        key
        for key, each in recipe(name).parameter.items()
        if each.kind == "server" or "postgresql" in each.choices
    ]
    versions = ("postgresql", "postgresql-17")
    given = [f"{key}={server}" for key, server in zip(servers, versions, strict=False)]
    theirs = fill_to_look_at(recipe(name), given, quick=True)
    settings = {
        setting
        for one in [experiment_of(theirs)]
        for sandbox in [one.sandbox, *(each.sandbox for f in one.factors for each in f.levels)]
        for setting in (sandbox.settings if sandbox else ())
    }
    dynamic = {
        setting
        for factor in experiment_of(theirs).factors
        for level in factor.levels
        for setting in level.dynamic
    }
    assert settings | dynamic <= OF_POSTGRESQL
    for expected in theirs.expect:
        check_expectation(expected, experiment_of(theirs), theirs)


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
@pytest.mark.parametrize("name", ["thread-pool", "three-databases"])
def test_a_pool_is_set_by_the_words_of_its_server(name: str, server: str) -> None:
    asked = looked_at(name, f"server={server}", quick=True)
    levels = {level.name: level for factor in asked.factors for level in factor.levels}
    pooled = levels["on"].startup if "on" in levels else None
    if pooled is None:
        assert levels["a"].sandbox is not None
        pooled = levels["a"].sandbox.settings
    word = {"mariadb": "thread_handling", "mysql": "plugin_load_add"}[server]
    assert word in pooled


def test_the_three_databases_have_the_studys_settings() -> None:
    asked = looked_at("three-databases", quick=False)
    settings = {
        level.name: level.sandbox.settings
        for level in asked.factors[0].levels
        if level.sandbox is not None
    }
    assert [settings[name]["sync_binlog"] for name in "abc"] == ["1000", "0", "1000"]
    assert {each["innodb_flush_log_at_trx_commit"] for each in settings.values()} == {"2"}
    assert [settings[name]["innodb_buffer_pool_size"] for name in "abc"] == ["24G", "22G", "24G"]
    assert len(asked.ladder) == 11


def test_the_document_has_each_recipe_with_its_title() -> None:
    text = DOCUMENT.read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]+?) \|", text, re.MULTILINE))
    assert rows == {name: recipe(name).title for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_recipe_says_of_itself_can_be_said_in_chinese(name: str) -> None:
    found = recipe(name)
    other = found.without_root
    expected = [*found.expect, *(other.expect if other else ())]
    texts = [found.title, found.question, found.needs, found.needs_root, other and other.about]
    texts += [each.about for each in found.parameter.values()]
    texts += [each.field for each in expected]
    assert [text for text in texts if text and not in_language("zh").knows(text)] == []
