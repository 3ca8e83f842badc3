"""Values that are drawn resemble those that were recorded."""

from __future__ import annotations

from random import Random

import pytest

from loadstone.traffic.shapes import Hole, Value, sentence_of
from loadstone.traffic.value_model import Constant, Drawn, Estimate, estimate
from loadstone.traffic.value_sketches import Sketch


def value(written: str) -> Value:
    return sentence_of(f"SELECT {written}").values[0][0]


def estimated(
    values: list[str], column: str = "a", function: str = "", *, inserts: bool = False
) -> Estimate:
    sketch = Sketch()
    random = Random(1)
    for one in values:
        sketch.add((value(one),), random)
    return estimate(sketch, Hole(column, "t", function), inserts=inserts)


RANDOM = Random(7)
EVEN = [str(RANDOM.randint(1, 5_000)) for _ in range(500)]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (EVEN, {"integer": [min(map(int, EVEN)), max(map(int, EVEN))]}),
        ([str(1 + n % 10) for n in range(200)], {"integer": [1, 10]}),
        (["'new'", "'paid'", "'paid'", "'sent'"] * 20, {"choice": ["new", "paid", "paid", "sent"]}),
        (["5", "700", "700", "NULL"] * 20, {"choice": [5, 700, 700, "NULL"]}),
        (["1.25", "-3.5", *[f"{n}.01" for n in range(90)]], {"decimal": ["-3.50", "89.01"]}),
        # Decimals as prepared statements send them, or as they were read as text before.
        ([f"'{n}.50'" for n in range(7, 300)], {"decimal": ["7.50", "299.50"]}),
        ([f"'2026-01-{n:02}'" for n in range(1, 32)] * 3, {"date": ["2026-01-01", "2026-01-31"]}),
        (
            [f"'2026-01-01 10:00:{n:02}.5'" for n in range(60)] * 2,
            {"datetime": ["2026-01-01 10:00:00", "2026-01-01 10:00:59"]},
        ),
        # Dates that servers accept and no calendar has.
        ([f"'2026-02-{n}'" for n in range(10, 40)], {"pattern": "2026-02-##"}),
        (
            [f"'{n:03}-X{'YZ'[n % 2]}-{n % 7}'" for n in range(300)],
            {"pattern": "###-X@-#"},
        ),
        ([f"'{'a' * (3 + n % 9)}{n}'" for n in range(300)], {"text": [4, 14]}),
        ([f"x'{'ab' * (1 + n % 5)}{n:04x}'" for n in range(300)], {"text": [1, 7]}),
        ([str(2 * n) for n in range(50)], {"sequence": 0}),
    ],
)
def test_estimates(values: list[str], keys: dict[str, object]) -> None:
    found = estimated(values)
    assert isinstance(found, Drawn) and found.keys == keys


def test_new_keys_are_counted_on() -> None:
    found = estimated([str(n) for n in range(500, 600)], inserts=True)
    assert isinstance(found, Drawn) and found.keys == {"sequence": 600}


def test_what_is_always_the_same_stays_in_the_statement() -> None:
    assert estimated(["10"] * 5, function="LIMIT") == Constant("10")
    assert estimated(["'it''s'"]) == Constant("'it''s'")


def test_bytes_that_are_no_text_stay_as_digits() -> None:
    raw = b"SELECT '\xff\xfe'".decode("utf-8", "surrogateescape")
    sketch = Sketch()
    sketch.add(sentence_of(raw).values[0], Random(1))
    assert estimate(sketch, Hole("a", "t"), inserts=False) == Constant("x'fffe'")


@pytest.mark.parametrize("column", ["password", "api_key", "user_token", "PasswdHash"])
def test_secrets_are_lengths_at_most(column: str) -> None:
    found = estimated(["'hunter2'"] * 9, column)
    assert isinstance(found, Drawn) and found.keys == {"text": [7, 7]}
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([*EVEN, "NULL"], "NULL, which was 0.2 % of its values"),
        ([*EVEN, "'x'"], "values of other types: 0.2 %"),
        (["'a'", "'bc'"] * 2, "which texts: "),
    ],
)
def test_what_cannot_be_known_is_said(values: list[str], said: str) -> None:
    found = estimated(values)
    assert isinstance(found, Drawn) and found.unknown and said in found.unknown


def test_memory_does_not_grow_with_the_number_of_values() -> None:
    random = Random(1)
    sketch = Sketch()
    for number in range(50_000):
        sketch.add((Value("int", number, str(number)),), random)
    assert sketch.count == 50_000 and len(sketch.numbers.sample) == 2_000
    assert sketch.distinct is None and (sketch.numbers.low, sketch.numbers.high) == (0, 49_999)


def test_a_choice_is_as_short_as_its_shares_are_known() -> None:
    # 47 and 53 of 100 may be halves; one of 30 is not one of three.
    halves = estimated(["'a%'"] * 47 + ["'b%'"] * 53)
    assert isinstance(halves, Drawn) and halves.keys == {"choice": ["a%", "b%"]}
    rare = estimated(["'a'"] * 2900 + ["'b'"] * 100)
    assert isinstance(rare, Drawn)
    listed = rare.keys["choice"]
    assert isinstance(listed, list) and 25 <= len(listed) <= 36 and listed.count("b") == 1
