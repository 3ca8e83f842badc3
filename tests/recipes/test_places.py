"""`--target` takes the place of a recipe's only server, where that can be another's."""

from __future__ import annotations

import pytest

from loadstone.model.experiment import Experiment
from loadstone.recipes.filling import fill
from loadstone.recipes.places import check_targets, said_of_throwaways, with_target
from loadstone.recipes.recipe import RecipeRefused, recipe
from loadstone.runner.experiment import NoConsent, checked_text

URL = "mysql://bench@db1:3306/sbtest"


def test_a_target_is_the_value_of_the_only_place() -> None:
    assert with_target(recipe("tls"), ["users=8"], URL) == ("users=8", f"target={URL}")
    assert with_target(recipe("tls"), ["users=8"], None) == ("users=8",)


def test_a_recipe_that_compares_servers_asks_which_one_is_meant() -> None:
    said = "instance-size compares 2 servers, so it cannot be about one alone"
    with pytest.raises(RecipeRefused, match=said) as refused:
        with_target(recipe("instance-size"), [], URL)
    assert "--set small=URL --set large=URL" in str(refused.value.hint)


def experiment_of(name: str, target: str | None = None) -> Experiment:
    given = with_target(recipe(name), [], target)
    filled = fill(recipe(name), given, quick=True, is_root=False)
    return checked_text(filled.text, filled.name).experiment


@pytest.mark.parametrize("name", ["durability", "flash-sale", "sale-day"])
def test_others_commits_are_not_risked_whatever_the_user_agrees_to(name: str) -> None:
    said = f"{name} cannot be about db1:3306: it sets sync_binlog, "
    with pytest.raises(NoConsent, match=said) as refused:
        check_targets(recipe(name), experiment_of(name, URL))
    assert str(refused.value.hint) == "without --target it runs on a throwaway server"


@pytest.mark.parametrize("name", ["tls", "sort-buffer", "group-commit", "socket-or-tcp"])
def test_other_recipes_may_be_about_a_target(name: str) -> None:
    url = "mysql://bench@127.0.0.1:3306/sbtest"
    check_targets(recipe(name), experiment_of(name, url))


def test_on_its_own_servers_any_recipe_may_set_anything() -> None:
    check_targets(recipe("durability"), experiment_of("durability"))


def test_a_run_without_a_target_names_its_servers_and_how_to_name_others() -> None:
    assert str(said_of_throwaways(recipe("tls"), ["MariaDB 10.11.14"])) == (
        "on a throwaway server (MariaDB 10.11.14), removed afterwards; about a server of yours: "
        "--target URL"
    )
    assert str(said_of_throwaways(recipe("versions"), ["MariaDB 10.11.14", "MySQL 9.7.4"])) == (
        "on throwaway servers (MariaDB 10.11.14, MySQL 9.7.4), removed afterwards; about servers of"
        " yours: --set a=URL --set b=URL"
    )


OTHER = "postgresql://bench@db1:5432/sbtest"


@pytest.mark.parametrize("name", ["sort-buffer"])
def test_a_recipe_about_other_servers_says_so_before_anything_is_done(name: str) -> None:
    said = f"{name} is about MariaDB, MySQL, not about PostgreSQL"
    with pytest.raises(RecipeRefused, match=said):
        experiment_of(name, OTHER)


def test_servers_of_two_families_are_not_compared() -> None:
    with pytest.raises(
        RecipeRefused, match="these are of several: MariaDB, MySQL, PostgreSQL"
    ) as refused:
        fill(recipe("versions"), [f"a={OTHER}"], quick=True, is_root=False)
    assert "--set server_a=SERVER --set server_b=SERVER" in str(refused.value.hint)
    filled = fill(recipe("versions"), [f"a={OTHER}", f"b={OTHER}2"], quick=True, is_root=False)
    assert "innodb" not in filled.text


@pytest.mark.parametrize("name", ["durability", "flash-sale", "sale-day"])
def test_commits_of_others_on_postgresql_are_not_risked_either(name: str) -> None:
    with pytest.raises(NoConsent, match="it sets synchronous_commit, "):
        check_targets(recipe(name), experiment_of(name, OTHER))


def test_one_that_sets_nothing_may_be_about_a_target_of_postgresql() -> None:
    check_targets(recipe("group-commit"), experiment_of("group-commit", OTHER))
