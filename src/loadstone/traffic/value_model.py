"""Chooses what a template draws in place of a value, from what is known of the value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import reduce
from math import gcd, sqrt

from loadstone.model.figure import Count, Percent
from loadstone.model.message import Message, say
from loadstone.mysql.tokens import meaning_of
from loadstone.traffic.entries import clauses
from loadstone.traffic.fit_distribution import Spread, fitted
from loadstone.traffic.kinds import is_secret_column
from loadstone.traffic.shapes import Hole
from loadstone.traffic.value_sketches import CAPITAL, DIGIT, Numbers, Sketch, Texts

_LONGEST_TEXT = 65_535
_MOST_CHOICES = 16
_EACH_SEEN = 5
"""A few values count as all there are only if each was seen this often on average."""

_LISTED = 100
"""The most entries of a list of choices: shares are kept to a percent at best."""

_NORMAL_95 = 1.96
"""How many standard deviations of a share are on each side of its 95 % interval."""

_RISING = 0.8
_FEWEST_OF_SEQUENCE = 20
_MOST_PLACES = 18
_WIDEST = 2**63 - 1

Keys = Mapping[str, object]
"""A parameter's keys in the file, with their values as TOML writes them."""


@dataclass(frozen=True)
class Constant:
    """A value that stays in the statement as it was written."""

    written: str


@dataclass(frozen=True)
class Drawn:
    """A value that is drawn again for each execution."""

    keys: Keys
    unknown: Message | None = None
    """What could not be known of the value; `None`: nothing is missing."""


Estimate = Constant | Drawn

_DEFAULT_INTEGER = (1, 1_000)


def estimate(sketch: Sketch, hole: Hole, *, inserts: bool) -> Estimate:
    """Estimate what to draw in a place; `inserts`: the values are those of new rows."""
    if sketch.first is None or sketch.kinds.keys() == {"unknown"}:
        return _unknown(hole)
    if is_secret_column(hole.column):
        return _hidden(sketch, hole)
    if sketch.same:
        return _constant(sketch)
    return _without_nulls(sketch, _of_kind(sketch, hole, inserts=inserts))


def _unknown(hole: Hole) -> Drawn:
    """An estimate for a value of which only the statement's text is known."""
    if hole.function == "LIMIT":
        return Drawn({"integer": [10, 10]}, say("how many rows; the template reads 10"))
    low, high = _DEFAULT_INTEGER
    said = say(
        "all of its values; the template draws {low} to {high}", low=Count(low), high=Count(high)
    )
    return Drawn({"integer": [low, high]}, said)


def _constant(sketch: Sketch) -> Constant:
    assert sketch.first is not None
    if sketch.first.kind == "bytes" and not sketch.first.written.isascii():
        raw = sketch.first.written
        content = raw[raw.index(raw[-1]) + 1 : -1].encode("utf-8", "surrogateescape")
        return Constant(f"x'{content.hex()}'")
    return Constant(sketch.first.written)


def _hidden(sketch: Sketch, hole: Hole) -> Drawn:
    """An estimate for a column whose name suggests secret values: only lengths are kept."""
    said = say("left out: {column} looks like a secret", column=hole.column)
    if sketch.texts:
        return Drawn({"text": _lengths(sketch.texts)}, said)
    return Drawn({"integer": list(_DEFAULT_INTEGER)}, said)


def _without_nulls(sketch: Sketch, found: Estimate) -> Estimate:
    nulls = sketch.kinds["null"]
    if not nulls or isinstance(found, Constant) or "choice" in found.keys:
        return found
    said = say("NULL, which was {share} of its values", share=Percent(nulls / sketch.count))
    return Drawn(found.keys, with_more(found.unknown, said))


def with_more(first: Message | None, second: Message) -> Message:
    """What was not known, and one thing more."""
    return clauses([first, second]) if first else second


def _of_kind(sketch: Sketch, hole: Hole, *, inserts: bool) -> Estimate:
    if choice := _choice(sketch):
        return choice
    kinds = Counter({kind: n for kind, n in sketch.kinds.items() if kind != "null"})
    (kind, often), *_ = kinds.most_common(1)
    found = _most_common(kind, sketch, inserts=inserts)
    if often < kinds.total():
        said = say("values of other types: {share}", share=Percent(1 - often / kinds.total()))
        return Drawn(found.keys, with_more(found.unknown, said))
    return found


def _most_common(kind: str, sketch: Sketch, *, inserts: bool) -> Drawn:
    if kind == "int":
        return _integer(sketch.numbers, inserts=inserts)
    if kind in ("decimal", "float") and sketch.decimals:
        return _decimal(sketch.decimals.low, sketch.decimals.high, sketch.decimals.places)
    if kind == "text" and sketch.texts:
        return _text(sketch.texts, sketch.kinds["text"])
    if kind == "bytes":
        size = min(max(sketch.longest_bytes, 1), _LONGEST_TEXT)
        said = say("binary values; the template draws letters and digits")
        return Drawn({"text": [1, size]}, said)
    if kind == "flag":
        return Drawn({"choice": [0, 1]})
    return Drawn({"integer": list(_DEFAULT_INTEGER)}, say("all of its values"))


def _choice(sketch: Sketch) -> Drawn | None:
    """A choice among a few recurring values, with their shares as well as they are known."""
    counts = sketch.distinct
    if counts is None or len(counts) > _MOST_CHOICES or counts.total() < _EACH_SEEN * len(counts):
        return None
    if sketch.kinds.keys() - {"int", "text", "null"} or any(len(one) >= 256 for one in counts):
        return None
    if sketch.kinds.keys() == {"int"} and _is_even_range(sketch.numbers, counts):
        return None
    listed: list[object] = []
    for one, times in _entries(counts).items():
        listed += [_scalar(one)] * times
    return Drawn({"choice": listed})


def _entries(counts: Counter[str]) -> dict[str, int]:
    """How often a list has each value: the shortest list with the shares that were seen.

    A share is the same if the list's differs from it by no more than the share is known, since the
    values are a sample of the traffic.
    """
    total = counts.total()
    known_to = {
        one: _NORMAL_95 * sqrt(n / total * (1 - n / total) / total) for one, n in counts.items()
    }
    for length in range(len(counts), _LISTED):
        times = {one: max(round(length * n / total), 1) for one, n in counts.items()}
        listed = sum(times.values())
        if all(abs(times[one] / listed - n / total) <= known_to[one] for one, n in counts.items()):
            return times
    times = {one: max(round(_LISTED * n / total), 1) for one, n in counts.items()}
    divisor = reduce(gcd, times.values())
    return {one: number // divisor for one, number in times.items()}


def _is_even_range(numbers: Numbers, counts: Counter[str]) -> bool:
    """Whether all numbers from least to greatest are about equally frequent, like a range."""
    if len(counts) != numbers.high - numbers.low + 1:
        return False
    even = counts.total() / len(counts)
    return all(abs(n - even) <= 4 * even**0.5 for n in counts.values())


def _scalar(written: str) -> object:
    """A value of a choice, in the type that the file has for it."""
    if written == "NULL":
        return "NULL"
    return int(written) if written.lstrip("-").isdecimal() else meaning_of(written)


def _integer(numbers: Numbers, *, inserts: bool) -> Drawn:
    low, high = numbers.low, numbers.high
    steps = numbers.count - 1
    all_new = len(set(numbers.sample)) == len(numbers.sample)
    if steps >= _FEWEST_OF_SEQUENCE and all_new and numbers.rising >= _RISING * steps:
        return Drawn({"sequence": high + 1 if inserts else low})
    if high - low >= _WIDEST:
        return Drawn({"unique": True}, say("negative numbers; the template draws positive ones"))
    if inserts and all_new and low > 2**48:
        return Drawn({"unique": True})
    spread = fitted(numbers.sample, low, high)
    keys: dict[str, object] = {"integer": [low, high]}
    if spread.kind != "uniform":
        keys["spread"] = _written(spread)
    said = say("which numbers are hot: they were anywhere, and are the lowest here")
    return Drawn(keys, said if spread.scattered else None)


def _written(spread: Spread) -> dict[str, object]:
    if spread.kind == "hot":
        return {"kind": "hot", "percent": spread.percent, "hits": spread.hits}
    return {"kind": "zipfian", "exponent": spread.exponent}


def _decimal(low: Decimal, high: Decimal, places: int) -> Drawn:
    places = min(places, _MOST_PLACES)
    ends = [low, high]
    if any(abs(one.scaleb(places)) > _WIDEST for one in ends):
        said = say("all but its lowest and its highest value")
        return Drawn({"choice": [float(low), float(high)]}, said)
    return Drawn({"decimal": [f"{one:.{places}f}" for one in ends]})


def _text(texts: Texts, count: int) -> Drawn:
    ends = [one.replace("T", " ")[:19] for one in (texts.low, texts.high)]
    if texts.dates == count and all(map(_is_moment, ends)):
        return Drawn({"date": ends})
    if texts.datetimes == count and all(map(_is_moment, ends)):
        return Drawn({"datetime": ends})
    if texts.numbers and texts.decimals == count:
        return _decimal(texts.numbers.low, texts.numbers.high, texts.numbers.places)
    if pattern := _pattern(texts.shape or ""):
        return Drawn({"pattern": pattern})
    said = say("which texts: the template draws letters and digits of the same lengths")
    return Drawn({"text": _lengths(texts)}, said)


def _is_moment(text: str) -> bool:
    """Whether it is a real date or time: servers accept others too, such as 2026-02-30."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _pattern(shape: str) -> str | None:
    """The shape as a template's pattern; `None` where it cannot be written or draws nothing."""
    is_drawn = DIGIT in shape or CAPITAL in shape
    plain = shape.replace(DIGIT, "").replace(CAPITAL, "")
    if not is_drawn or not plain.isascii() or any(s < " " or s in "'\\#@" for s in plain):
        return None
    return shape.replace(DIGIT, "#").replace(CAPITAL, "@")


def _lengths(texts: Texts) -> list[int]:
    return [min(texts.shortest, _LONGEST_TEXT), min(texts.longest, _LONGEST_TEXT)]
