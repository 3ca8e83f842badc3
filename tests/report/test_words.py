"""The catalogues of the report's words: the same keys, the same placeholders, the field's terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from string import Formatter
from typing import get_args

import pytest
from loadstone.report.words import CHINESE, ENGLISH, LANGUAGES, Messages

from loadstone.diagnosis.rules import RULES_OF
from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.model.ceilings import Resource
from loadstone.report.checklist import Item


def said(words: Messages) -> dict[str, str]:
    """All texts by key; those of a table by the table's name and theirs."""
    return dict(_said(words))


def _said(words: Messages) -> Iterator[tuple[str, str]]:
    for field in fields(words):
        value = getattr(words, field.name)
        if isinstance(value, Mapping):
            yield from ((f"{field.name}.{key}", text) for key, text in value.items())
        else:
            yield field.name, value


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("words", LANGUAGES.values(), ids=LANGUAGES)
def test_a_language_has_the_keys_and_placeholders_of_english(words: Messages) -> None:
    english, other = said(ENGLISH), said(words)
    assert other.keys() == english.keys()
    for key, text in english.items():
        assert placeholders(other[key]) == placeholders(text), key


@pytest.mark.parametrize("words", LANGUAGES.values(), ids=LANGUAGES)
def test_what_is_counted_by_name_has_a_word(words: Messages) -> None:
    causes = {rule.cause for rule in RULES_OF["mysql"]} | {NOT_OBSERVED, "unexplained"}
    causes |= {"few-users", "rate-met", "far-away"}
    assert causes <= words.causes.keys()
    assert set(get_args(Resource)) == words.resources.keys()
    assert set(get_args(Item)) == words.checklist_items.keys()


def test_chinese_is_chinese_but_for_names() -> None:
    english = said(ENGLISH)
    same = {key for key, text in said(CHINESE).items() if text == english[key]}
    # Names of figures and counters, and marks, are what they are in any language.
    names = re.compile(r"^(tps|qps|p9\d|com_commit|plus_minus|between_sentences)$")
    assert not {key for key in same if not names.match(key)}


@pytest.mark.parametrize("term", ["并发", "吞吐", "组提交", "线程池", "热点行"])
def test_the_terms_of_the_field_are_used(term: str) -> None:
    assert term in "".join(said(CHINESE).values())


def test_one_and_many_are_told_apart() -> None:
    assert (ENGLISH.users(1), ENGLISH.users(4096)) == ("1 user", "4,096 users")
    assert (CHINESE.users(1), CHINESE.users(64)) == ("1 并发", "64 并发")
