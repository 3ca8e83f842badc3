"""Each rule names its cause, is silent in a near case, and says which figure it lacks."""

from __future__ import annotations

import pytest

from diagnose.examples import EXAMPLES, Example
from diagnose.healthy import a_case
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Missing

_IDS = [example.cause for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_the_cause_is_named_with_its_figures(example: Example) -> None:
    found = example.rule.judge(example.fires)
    assert found is not None
    assert found.cause == example.cause
    assert found.evidence
    assert found.remedy
    assert 0 < found.confidence <= 1
    assert found.share is None or 0 <= found.share <= 1
    assert any(digit in found.sentence for digit in "0123456789")


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_next_to_it_nothing_is_named(example: Example) -> None:
    assert example.rule.judge(example.silent) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_a_healthy_server_is_not_accused(example: Example) -> None:
    found = example.rule.judge(a_case())
    assert found is None or found.group == "note"


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.needs],
    ids=[example.cause for example in EXAMPLES if example.needs],
)
def test_what_was_not_counted_is_missed_by_name(example: Example) -> None:
    with pytest.raises(Missing) as missing:
        example.rule.judge(example.lacks)
    assert missing.value.what == example.needs


def test_each_rule_has_an_example() -> None:
    assert {rule.cause for rule in RULES_OF["mysql"]} == {
        example.rule.cause for example in EXAMPLES
    }
