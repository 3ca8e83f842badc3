"""What the page offers: workloads and options of the engine, explained; recipes as questions."""

from __future__ import annotations

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone import engine
from loadstone.model.language import translating
from loadstone.recipes.offered import recipes_offered
from loadstone.recipes.recipe import NAMES, places_of, recipe
from loadstone.web.begin.offers import OPTIONS, TEMPLATES, WORKLOADS, Offers
from loadstone.workloads.bundled import bundled, text_of_bundled
from loadstone.workloads.templates.file import parse_template

ALLOWED = "mysql://bench@db1.example:3306/shop"


def test_each_workload_and_each_of_its_options_is_explained() -> None:
    known = engine.workloads()
    assert {name: one.summary for name, one in known.items()} == WORKLOADS
    assert {option for one in known.values() for option in one.options} == set(OPTIONS)


def test_each_bundled_template_is_offered_as_its_file_explains_it() -> None:
    written = {
        name: parse_template(text_of_bundled(name), f"{name}.toml").about for name in bundled()
    }
    assert written == TEMPLATES
    offered = Offers().for_person(None, [])["workloads"]
    templates = {one["name"]: one["about"] for one in offered if one["is_template"]}
    assert templates == {f"{name}.toml": about for name, about in written.items()}


def test_a_throwaway_server_comes_first_and_a_target_says_where_its_password_is_from() -> None:
    found = Offers(recipes_offered(), [ALLOWED]).for_person(None, ["mysql://me@db2.example/x"])
    urls = [(one["url"], one["kind"]) for one in found["targets"] if one["kind"] in KINDS]
    assert urls == [
        ("throwaway", "throwaway"), (ALLOWED, "kept"), ("mysql://me@db2.example/x", "before"),
    ]  # fmt: skip
    assert found["targets"][0]["password"] is None
    assert all(one["password"] for one in found["targets"][1:])


def test_a_throwaway_server_comes_first_for_the_people_of_a_team_too() -> None:
    found = Offers().for_person([ALLOWED, "throwaway"], [])["targets"]
    assert [(one["url"], one["kind"]) for one in found] == [
        ("throwaway", "throwaway"), (ALLOWED, "kept"),
    ]  # fmt: skip
    assert [one["url"] for one in Offers().for_person([ALLOWED], [])["targets"]] == [ALLOWED]


KINDS = ("throwaway", "kept", "before")


def test_every_recipe_is_a_form_of_its_parameters() -> None:
    offers = Offers(recipes_offered())
    found = offers.for_person(["throwaway"], [])
    assert [one["name"] for one in found["recipes"]] == list(NAMES)
    for one in found["recipes"]:
        asked = recipe(one["name"])
        assert [each["name"] for each in one["questions"]] == list(asked.parameter)
        kinds = offers.kinds_of(one["name"]) or {}
        assert [name for name, kind in kinds.items() if kind == "place"] == places_of(asked)
    assert offers.kinds_of("no-such") is None


def test_what_is_offered_has_its_chinese() -> None:
    (chinese,) = translating()
    told = Offers(recipes_offered()).for_person(["throwaway"], [])["told"]
    for text in (*OPTIONS.values(), *WORKLOADS.values()):
        assert told[text][chinese.code] != text
