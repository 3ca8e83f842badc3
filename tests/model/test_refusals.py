"""Why a value is refused: pydantic's errors as messages, and the messages of our own validators."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from loadstone.model.language import in_language
from loadstone.model.message import say
from loadstone.model.refusals import reason_of


class Small(BaseModel):
    kind: Literal["small"]
    size: int = 1


class Large(BaseModel):
    kind: Literal["large"]


class Given(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    whole: int = Field(1, ge=1, le=9_999)
    share: float = Field(0.5, gt=0, lt=1)
    name: str = Field("ab", min_length=2, max_length=4, pattern="[a-z]*")
    is_on: bool = False
    word: Literal["one", "two"] = "one"
    listed: list[int] = Field([1], min_length=1, max_length=2)
    table: dict[str, int] = {}
    part: Small | None = None
    either: Annotated[Small | Large, Field(discriminator="kind")] = Large(kind="large")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.whole == 7:
            raise ValueError(say("{number} brings bad luck", number=7))
        return self


def reasons(**given: object) -> list[Any]:
    with pytest.raises(ValidationError) as refused:
        Given.model_validate(given)
    return [reason_of(error) for error in refused.value.errors()]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"whole": "1"}, "it must be a whole number"),
        ({"whole": 0}, "it must be 1 or more"),
        ({"whole": 10_000}, "it must be 9,999 or less"),
        ({"share": "x"}, "it must be a number"),
        ({"share": 0.0}, "it must be above 0"),
        ({"share": 1.0}, "it must be below 1"),
        ({"name": 3}, "it must be a text"),
        ({"name": "a"}, "it must have at least 2 characters"),
        ({"name": "abcde"}, "it must have at most 4 characters"),
        ({"is_on": 1}, "it must be true or false"),
        ({"word": "three"}, "it must be one of 'one' or 'two'"),
        ({"listed": 3}, "it must be a list"),
        ({"listed": []}, "it must have at least 1 elements"),
        ({"listed": [1, 2, 3]}, "it must have at most 2 elements"),
        ({"table": 3}, "it must be a table"),
        ({"part": 3}, "it must be a table"),
        ({"part": {}}, "it is missing"),
        ({"either": {}}, "it must have a 'kind'"),
        ({"either": {"kind": "huge"}}, "its 'kind' must be one of 'small', 'large'"),
        ({"other": 1}, "there is no such key"),
    ],
)
def test_what_pydantic_refuses_is_said_in_our_words(given: dict[str, object], said: str) -> None:
    (reason,) = reasons(**given)
    assert reason == said
    assert in_language("zh").knows(reason)


def test_what_a_validator_says_keeps_its_template() -> None:
    (reason,) = reasons(whole=7)
    assert reason == "7 brings bad luck"
    assert (reason.template, reason.values) == ("{number} brings bad luck", {"number": 7})
