"""Messages of rules and trials have Chinese, with the same figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from diagnose.examples import EXAMPLES, Example
from diagnose.healthy import Made, a_case
from diagnose.test_proving import LOG, faster_by, one, tried
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Missing
from loadstone.diagnosis.no_trial import NOTHING_TO_CHANGE, WHY, with_reason
from loadstone.diagnosis.titles import TITLES
from loadstone.diagnosis.trials import RELAXED, at_start, more_users, pool_plugin, warm
from loadstone.diagnosis.unexplained import NOT_OBSERVED, unexplained
from loadstone.model.finding import Finding, Trial
from loadstone.model.language import in_language
from loadstone.model.message import Joined, Message, say
from loadstone.report.names import cause_name

CHINESE = in_language("zh")

NAME = re.compile(r"[\w./]+|state\.[\w: ]+")
"""Names of counters or variables, which are the same in every language."""


def within(value: Any) -> Iterator[Message]:
    """The message and those in its placeholders."""
    match value:
        case Message():
            yield value
            for inner in value.values.values():
                yield from within(inner)
        case Joined():
            for part in value.parts:
                yield from within(part)


def figures(said: str) -> list[str]:
    return sorted(re.findall(r"\d[\d,.]*\d|\d", said))


def assert_has_chinese(said: Message) -> None:
    unknown = [str(part) for part in within(said) if not CHINESE.knows(part)]
    assert [part for part in unknown if not NAME.fullmatch(part)] == []
    assert figures(CHINESE(said)) == figures(said)


def spoken(finding: Finding) -> Iterator[Message]:
    yield finding.sentence
    yield finding.remedy
    if finding.untried:
        yield finding.untried
    if finding.trial:
        yield finding.trial.subject
        if finding.trial.costs:
            yield finding.trial.costs
    for seen in finding.evidence:
        yield seen.counter
        if seen.unit:
            yield seen.unit


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.cause for example in EXAMPLES])
def test_all_that_a_rule_says_has_chinese(example: Example) -> None:
    found = example.rule.judge(example.fires)
    assert found is not None
    for said in spoken(with_reason(found)):
        assert_has_chinese(said)


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.needs],
    ids=[example.cause for example in EXAMPLES if example.needs],
)
def test_what_a_rule_misses_has_chinese(example: Example) -> None:
    with pytest.raises(Missing) as missing:
        example.rule.judge(example.lacks)
    assert_has_chinese(missing.value.what)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.cause for example in EXAMPLES])
def test_each_cause_has_a_title_in_both_languages(example: Example) -> None:
    found = example.rule.judge(example.fires)
    assert found is not None
    assert found.cause in example.rule.titles
    assert cause_name(found.cause) == example.rule.titles[found.cause]
    assert CHINESE.knows(TITLES[found.cause])


def test_a_cause_has_one_title() -> None:
    said = [title for rule in RULES_OF["mysql"] for title in rule.titles]
    assert len(said) == len(set(said))
    assert cause_name(NOT_OBSERVED) == "the server or its host was not observed"
    assert cause_name("of-a-later-version") == "of-a-later-version"


@pytest.mark.parametrize("why", [NOTHING_TO_CHANGE, *WHY.values()])
def test_why_there_is_no_trial_has_chinese(why: Message) -> None:
    assert_has_chinese(why)


@pytest.mark.parametrize(
    "made",
    [
        Made(),
        Made(step={"host": None}),
        Made(step={"server": None, "host": None}),
        Made(means={"threads_running": 1.0, "state.opening tables": 30.0}),
    ],
)
def test_what_nothing_explains_is_said_in_chinese(made: Made) -> None:
    for said in spoken(unexplained(a_case(made))):
        assert_has_chinese(said)


@pytest.mark.parametrize(
    "trial",
    [warm(), pool_plugin(4), more_users(a_case(), 4), at_start(a_case(), {"a": "1"}, RELAXED)],
)
def test_what_a_trial_is_about_has_chinese(trial: Trial | None) -> None:
    assert trial is None or CHINESE.knows(trial.subject)


@pytest.mark.parametrize("change", [0.3, 0.0, -0.2])
def test_what_a_trial_showed_is_said_in_chinese(change: float) -> None:
    trial = LOG.model_copy(update={"subject": say("the general log"), "costs": RELAXED})
    proof = one(tried(faster_by(change), trial))
    assert_has_chinese(proof.sentence)


def test_the_proof_of_a_subject_is_one_sentence_in_each_language() -> None:
    trial = LOG.model_copy(update={"subject": say("the general log"), "costs": RELAXED})
    sentence = one(tried(faster_by(0.3), trial)).sentence
    assert sentence.startswith("the general log costs 23 % ± ")
    assert CHINESE(sentence).startswith("general log 使吞吐损失 23% ± ")
    assert CHINESE(sentence).endswith(
        "保持这样的代价：主机崩溃会丢失最多一秒的提交，binlog 也可能缺失一部分。"
    )
