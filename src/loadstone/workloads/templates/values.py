"""Parses the values of columns and parameters in a template file; `kinds` has their types."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from loadstone.config import values
from loadstone.config.values import InvalidValue, shown
from loadstone.config.written import not_a_list
from loadstone.families import FAMILIES
from loadstone.model.distribution import Distribution
from loadstone.model.figure import Count
from loadstone.model.hints import write
from loadstone.model.message import say
from loadstone.model.nearest import nearest_or_all
from loadstone.model.template import (
    ChoiceValue,
    ConstantValue,
    DecimalValue,
    MomentValue,
    PatternValue,
    Scalar,
    SequenceValue,
    TextValue,
    UniqueValue,
)

LEAST, MOST = -(2**63), 2**63 - 1
LONGEST_TEXT = 65_535
_MOST_PLACES = 18
T = TypeVar("T", int, Decimal)

LONGEST_THINK_S = 3600
NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"

Hot = tuple[float, float]
"""Percent of the numbers, and percent of the draws that they receive."""


def name(value: object) -> str:
    """Parse the name of a table, column, index, transaction or parameter."""
    written = values.text(value)
    if not re.fullmatch(NAME, written):
        raise InvalidValue(
            say("{value} cannot be a name here", value=shown(value)),
            say("write up to 64 letters, digits and underscores, a letter first"),
        )
    return written


def names(value: object) -> tuple[str, ...]:
    """Parse one name or a list: `"id"`, or `["shop", "id"]`."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise InvalidValue(say("there is no column"), write('["id"]'))
    found = tuple(name(each) for each in listed)
    if len(set(found)) < len(found):
        raise InvalidValue(say("a column is there twice"), say("leave one out"))
    return found


def families(value: object) -> tuple[str, ...]:
    """Parse the families of servers that a file is for: `"mysql"`, or a list."""
    listed = tuple(map(values.text, value if isinstance(value, list) else [value]))
    for each in listed:
        if each not in FAMILIES:
            said = say("there is no dialect {name}", name=shown(each))
            raise InvalidValue(said, nearest_or_all(each, FAMILIES))
    if not listed or len(set(listed)) < len(listed):
        said = say("{value} is not a list of different dialects", value=shown(value))
        raise InvalidValue(said, write('["mysql", "postgresql"]'))
    return listed


def column_type(value: object) -> str:
    """Parse a type as CREATE TABLE takes it: `INT NOT NULL`."""
    written = values.text(value)
    depth = 0
    for sign in re.sub(r"'[^']*'", "", written):
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or sign in ";`'#" or (sign == "," and not depth):
            break
    else:
        if not depth and "--" not in written and "/*" not in written:
            return written
    raise InvalidValue(
        say("{value} is not a column type", value=shown(value)),
        say('write "INT NOT NULL" or "VARCHAR(60)"'),
    )


def rows_loaded(value: object) -> int:
    """Parse a number of rows: `10000`, `"10k"`, or 0 for a table that starts empty."""
    if value == 0 and not isinstance(value, bool):
        return 0
    return values.count(value)


def rows_expected(value: object) -> tuple[int, int]:
    """Parse the expected number of rows: `1`, or `[0, 10]`."""
    listed = value if isinstance(value, list) else [value, value]
    if len(listed) != 2:
        raise InvalidValue(
            say("{value} is not a number of rows", value=shown(value)), say("write 1, or [0, 10]")
        )
    fewest, most = (_whole(each, 0, MOST) for each in listed)
    if fewest > most:
        raise InvalidValue(say("the smaller number comes first"), write(f"[{most}, {fewest}]"))
    return fewest, most


def think_s(value: object) -> float:
    """Parse a think time in seconds, at most an hour."""
    found = values.seconds_or_none(value)
    if found > LONGEST_THINK_S:
        raise InvalidValue(
            say("{value} is too long", value=shown(value)), say('write "1h" or less')
        )
    return found


def _whole(value: object, least: int = LEAST, most: int = MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidValue(
            say("{value} is not a whole number here", value=shown(value)),
            say("write one from {least} to {most}", least=Count(least), most=Count(most)),
        )
    return value


def integer(value: object) -> tuple[int, int]:
    """Parse the limits of a whole number: `[1, 100]`."""
    low, high = _two(value, _whole, "[1, 100]")
    if high - low >= MOST:
        raise InvalidValue(
            say("{value} is too wide", value=shown(value)),
            say("write a range of less than 2^63 numbers"),
        )
    return low, high


def spread(value: object) -> Distribution | Hot:
    """Parse `"zipfian"`, a table with parameters, or `{ kind = "hot", percent = 1, hits = 90 }`."""
    if value == "hot":
        value = {"kind": "hot"}
    if isinstance(value, dict) and value.get("kind") == "hot":
        shares = {"percent": 1, "hits": 90} | value
        if set(shares) != {"kind", "percent", "hits"}:
            raise InvalidValue(
                say("a hot set has percent and hits"), write('{ kind = "hot", percent = 1 }')
            )
        return _percent(shares["percent"]), _percent(shares["hits"])
    return values.distribution(value)


def sequence(value: object) -> SequenceValue:
    """Parse the first number of a sequence; `true` is 1."""
    return SequenceValue(start=1 if value is True else _whole(value))


def row_number(value: object) -> SequenceValue:
    """Parse `true`: the column has the row's number."""
    if value is not True:
        raise InvalidValue(say("rows are counted from 1"), write("sequence = true"))
    return SequenceValue()


def unique(value: object) -> UniqueValue:
    """Parse `true`: the values are unique."""
    if value is not True:
        raise InvalidValue(
            say("{value} means nothing here", value=shown(value)), write("unique = true")
        )
    return UniqueValue()


def text(value: object) -> TextValue:
    """Parse the length of a text, or its limits: `[10, 60]`."""
    listed = [value, value] if isinstance(value, int) else value
    least, most = _two(listed, lambda one: _whole(one, 0, LONGEST_TEXT), "[10, 60]")
    return TextValue(least=least, most=most)


def pattern(value: object) -> PatternValue:
    """Parse a pattern: `"###-@@"`."""
    written = values.text(value)
    if any(sign in "'\\" or ord(sign) < 32 for sign in written):
        raise InvalidValue(
            say("a pattern cannot have quotes, backslashes or line ends"),
            write('"##-@@"'),
        )
    return PatternValue(pattern=written)


def choice(value: object) -> ChoiceValue:
    """Parse a list of values; one that is listed twice is twice as likely."""
    if not isinstance(value, list) or not value:
        raise InvalidValue(not_a_list(shown(value)), write('["new", "paid"]'))
    return ChoiceValue(values=tuple(_scalar(each) for each in value))


def cycle(value: object) -> tuple[Scalar, ...]:
    """Parse a list of values that rows have in turn."""
    if not isinstance(value, list) or not value:
        raise InvalidValue(not_a_list(shown(value)), write("[1, 2, 2, 3]"))
    return tuple(_scalar(each) for each in value)


def constant(value: object) -> ConstantValue:
    """Parse a constant, or `"NULL"`."""
    return ConstantValue(value=_scalar(value))


def decimal(value: object) -> DecimalValue:
    """Parse limits such as `["0.01", "99.99"]`, which also state the number of decimal places."""
    first, last = _two(value, _decimal, '["0.01", "99.99"]')
    places = max(-int(each.as_tuple().exponent) for each in (first, last))
    places = max(places, 0)
    if places > _MOST_PLACES:
        raise InvalidValue(
            say("{value} has too many decimal places", value=shown(value)),
            say("write {most} at most", most=_MOST_PLACES),
        )
    low, high = (int(each.scaleb(places)) for each in (first, last))
    if low < LEAST or high > MOST:
        raise InvalidValue(
            say("{value} is too large", value=shown(value)), say("write fewer digits")
        )
    return DecimalValue(low=low, high=high, places=places)


def date(value: object) -> MomentValue:
    """Parse the first and last date: `["2020-01-01", "2026-12-31"]`."""
    low, high = _two(value, _day, '["2020-01-01", "2026-12-31"]')
    return MomentValue(low=low, high=high, with_time=False)


def datetime_(value: object) -> MomentValue:
    """Parse the first and last moment, as dates with times of day."""
    low, high = _two(value, _second, '["2020-01-01 00:00:00", "2026-12-31 23:59:59"]')
    return MomentValue(low=low, high=high, with_time=True)


def _two(value: object, convert: Callable[[object], T], example: str) -> tuple[T, T]:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidValue(say("{value} is not a range", value=shown(value)), write(example))
    low, high = (convert(each) for each in value)
    if low > high:
        raise InvalidValue(say("the lowest value comes first"), write(example))
    return low, high


def _percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 100:
        raise InvalidValue(
            say("{value} is not a percentage", value=shown(value)),
            say("write a number above 0 and below 100"),
        )
    return float(value)


def _scalar(value: object) -> Scalar:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, str):
        return None if value == "NULL" else value
    if isinstance(value, float) and abs(value) != float("inf") and value == value:
        return value
    if isinstance(value, datetime.date | datetime.time):
        return str(value)
    raise InvalidValue(
        say("{value} is not an SQL value", value=shown(value)),
        say('write a text, a number or "NULL"'),
    )


def _decimal(value: object) -> Decimal:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if isinstance(value, bool) or not found.is_finite():
        raise InvalidValue(
            say("{value} is not a decimal number", value=shown(value)), write('"12.34"')
        )
    return found


def _day(value: object) -> int:
    try:
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))
    except ValueError:
        raise InvalidValue(
            say("{value} is not a date", value=shown(value)), write('"2026-12-31"')
        ) from None
    return _unix_s(datetime.datetime(day.year, day.month, day.day))


def _second(value: object) -> int:
    try:
        found = (
            value
            if isinstance(value, datetime.datetime)
            else datetime.datetime.fromisoformat(str(value))
        )
    except ValueError:
        raise InvalidValue(
            say("{value} is not a date with a time", value=shown(value)),
            write('"2026-12-31 23:59:59"'),
        ) from None
    if found.tzinfo is not None:
        raise InvalidValue(
            say("times are in the server's own time zone"), say("leave the time zone out")
        )
    return _unix_s(found)


def _unix_s(moment: datetime.datetime) -> int:
    return int(moment.replace(tzinfo=datetime.UTC).timestamp())


def no_row(_: object) -> str:
    """Refuse a row: columns have none."""
    raise InvalidValue(say("only parameters choose rows"), write("integer = [1, 100]"))
