"""Parses the values of an experiment file: times, numbers, shares, sizes, rates, addresses.

Each function takes what tomllib returned, and returns the value or raises `InvalidValue`;
`config.kinds` has the types of fields that are parsed with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import (
    TypeAdapter,
    ValidationError,
)

from loadstone.config.phases import HIGHEST_RATE
from loadstone.config.phases import phases as read_phases
from loadstone.families import family_of
from loadstone.model import quantity
from loadstone.model.errors import LoadstoneError
from loadstone.model.figure import Count as CountFigure
from loadstone.model.hints import write as write_example
from loadstone.model.levels import InvalidLevels
from loadstone.model.levels import levels as read_levels
from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest
from loadstone.model.plan import (
    Distribution,
    Phase,
    Rate,
    Warmup,
    WarmupAuto,
    WarmupSeconds,
)
from loadstone.model.quantity import LONGEST_S
from loadstone.model.refusals import message_of, reason_of
from loadstone.model.search import Figure, Objective
from loadstone.model.target import Target
from loadstone.model.target_url import parse_target_url

T = TypeVar("T")

MOST = 2**31 - 1
HOST = r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?"
VARIABLE = r"[a-z][a-z0-9_.]*"
DISTRIBUTIONS = ("uniform", "special", "gaussian", "pareto", "zipfian")


class InvalidValue(ValueError):
    """An invalid value, and what to write instead."""

    def __init__(self, what: str, write: str) -> None:
        super().__init__(say("{wrong}: {write}", wrong=what, write=write))
        self.what = what
        self.write = write


def text(value: object) -> str:
    """Parse a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(
            say("{value} is not a text", value=shown(value)),
            say('write a text between quotes: "name"'),
        )
    return value


def seconds(value: object) -> float:
    """Parse `500ms`, `30s`, `2m`, `1h`, or a number of seconds. Above zero, at most 366 days."""
    return _seconds(value, zero=False)


def seconds_or_none(value: object) -> float:
    """Parse a time as `seconds` does, or zero."""
    return _seconds(value, zero=True)


def _seconds(value: object, *, zero: bool) -> float:
    example = say('write "500ms", "30s", "2m" or "1h"')
    found = _scaled(value, quantity.SECONDS, say("a time"), example)
    if found == 0 and not zero:
        raise InvalidValue(say("a time of zero measures nothing"), write_example('"30s"'))
    if found > LONGEST_S:
        raise InvalidValue(
            say("{value} is too long: at most 366 days", value=shown(value)),
            say("write a shorter time"),
        )
    return found


def count(value: object) -> int:
    """Parse `1000`, `"10k"`, `"1m"`; at least 1."""
    example = say('write a whole number of 1 or more, or "10k"')
    found = _scaled(value, quantity.COUNTS, say("a number"), example)
    if found < 1 or not found.is_integer() or found > MOST:
        raise InvalidValue(
            say(
                "{value} is not a number from 1 to {most}",
                value=shown(value),
                most=CountFigure(MOST),
            ),
            say("write 1 or more"),
        )
    return int(found)


def _above_zero(
    units: Mapping[str, float],
    what: Message,
    write: Message,
    zero: Message,
    kind: Callable[[float], T],
) -> Callable[[object], T]:
    def read(value: object) -> T:
        found = kind(_scaled(value, units, what, write))
        if not found:
            raise InvalidValue(zero, write)
        return found

    return read


cores = _above_zero(
    {"": 1},
    say("a number of cores"),
    say("write cores = 4, or 0.5"),
    say("without any core a server does nothing"),
    float,
)
"""Parses a number of cores, which may have a fraction."""

size_bytes = _above_zero(
    quantity.BYTES,
    say("a size"),
    say('write "512M" or "8G"'),
    say("a size of zero leaves nothing"),
    int,
)
"""Parses `"512M"`, `"8G"`, in steps of 1024."""

bits_per_s = _above_zero(
    quantity.BITS,
    say("a network speed"),
    say('write "100Mbit" or "1Gbit"'),
    say("a network without speed carries nothing"),
    int,
)
"""Parses `"100Mbit"`, `"1Gbit"`, per second."""


def levels(text: str) -> list[int]:
    """Parse numbers of users, with ranges: `1,8,64`, `1..128`."""
    try:
        return list(read_levels(text))
    except InvalidLevels as wrong:
        raise InvalidValue(wrong.what, wrong.write) from None


def levels_or_list(value: object) -> object:
    """Parse numbers of users that are written as a text; a list is parsed by its type."""
    return levels(value) if isinstance(value, str) else value


def share(value: object) -> float:
    """Parse `"2%"` or `0.02`: above 0 and below 1."""
    written = value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
        written = float(found[1]) / 100 if found else None
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 < written < 1:
        raise InvalidValue(
            say("{value} is not a share above 0 % and below 100 %", value=shown(value)),
            write_example('"2%"'),
        )
    return float(written)


def once(values: list[T]) -> list[T]:
    """Refuse a list with duplicates."""
    twice = next((each for each in values if values.count(each) > 1), None)
    if twice is not None:
        raise InvalidValue(
            say("{value} is there twice", value=twice),
            say("leave one out: repeats says how often each is measured"),
        )
    return values


def rate(value: object) -> Rate:
    """Parse events per second: `1000`, or a ramp, `"1000..8000/60s"`."""
    example = say('write 1000, or "1000..8000/60s"')
    kind = say("a rate")
    ramp = isinstance(value, str) and re.fullmatch(r"(.+)\.\.(.+)/(.+)", value)
    if ramp:
        first, to = (_scaled(part, quantity.COUNTS, kind, example) for part in ramp.groups()[:2])
        made = Rate(rate=first, to=to, over_s=seconds(ramp[3]))
    else:
        made = Rate(rate=_scaled(value, quantity.COUNTS, kind, example))
    if not 0 < made.highest <= HIGHEST_RATE:
        said = say(
            "{value}: a rate is above 0 and at most {most} events a second",
            value=shown(value),
            most=CountFigure(HIGHEST_RATE),
        )
        raise InvalidValue(said, example)
    return made


def warmup(value: object) -> Warmup:
    """Parse `"auto"`, or a time."""
    if value == "auto":
        return WarmupAuto()
    try:
        return WarmupSeconds(warmup_s=seconds_or_none(value))
    except InvalidValue as unfit:
        raise InvalidValue(unfit.what, say('write "auto", or a time such as "10s"')) from None


def phases(value: object) -> tuple[Phase, ...]:
    """Parse `"warm 60s 16, ramp 120s 16..256"`."""
    written = text(value)
    try:
        return read_phases(written)
    except ValueError as error:
        raise InvalidValue(
            message_of(error), write_example('"warm 60s 16, ramp 120s 16..256, spike 30s 1k"')
        ) from error


def objective(value: object) -> Objective:
    """Parse `"p99<10ms"`: a figure of the response times, and its limit with its unit."""
    found = re.fullmatch(r"\s*([a-z0-9.]+)\s*(<=?)\s*(.+?)\s*", text(value).lower())
    if not found:
        said = say("{value} is not an objective", value=shown(value))
        raise InvalidValue(said, write_example('"p99<10ms"'))
    figure = found[1].replace(".", "")
    if figure not in get_args(Figure):
        known = Joined(get_args(Figure))
        said = say("{value} is not one of {known}", value=shown(found[1]), known=known)
        raise InvalidValue(said, write_example('"p99<10ms"'))
    if found[3][-1].isdigit() and quantity.scaled(found[3], quantity.SECONDS) is not None:
        example = f'"{found[1]}{found[2]}{found[3]}ms"'
        raise InvalidValue(
            say("{value}: {figure} needs a unit", value=shown(value), figure=found[1]),
            say(
                "write {example}; units: {units}",
                example=example,
                units=Joined(unit for unit in quantity.SECONDS if unit),
            ),
        )
    given = {"figure": figure, "relation": found[2], "limit_ms": 1000 * seconds(found[3])}
    return Objective.model_validate(given)


def target(value: object) -> Target:
    """Parse a target's URL without a password."""
    try:
        found, password = parse_target_url(text(value))
    except LoadstoneError as error:
        raise InvalidValue(
            error.message, error.hint or write_example("mysql://user@host:3306/schema")
        ) from None
    if password is not None and password.get_secret_value():
        raise InvalidValue(
            say("the URL has a password, and files are copied and shown"),
            say(
                "leave it out, and keep it in LOADSTONE_PASSWORD or {file}",
                file=family_of(found).words.own_file,
            ),
        )
    return found


def ciphers(value: object) -> tuple[str, ...]:
    """Parse ciphers by OpenSSL's names, as its own lists have them: with colons or commas."""
    found = tuple(name for name in re.split("[:, ]+", text(value)) if name)
    if not found:
        raise InvalidValue(say("it names no cipher"), write_example('"AES256-SHA"'))
    return found


def host(value: object) -> str:
    """Parse an address, with a port or without."""
    found = text(value)
    if not re.fullmatch(HOST, found):
        raise InvalidValue(
            say("{value} is not an address", value=repr(found)), write_example('"db1:3306"')
        )
    return found


def folder(value: object) -> Path:
    """Parse an absolute path: the process that runs the plan may have another working directory."""
    found = Path(text(value))
    if not found.is_absolute():
        raise InvalidValue(
            say("{value} is not an absolute path", value=shown(value)),
            say('write it from the root on: "/srv/el7"'),
        )
    return found


def variable(name: object) -> str:
    """Parse a variable's name: dashes become underscores, and a leading `--` is dropped."""
    plain = str(name).removeprefix("--").replace("-", "_").lower()
    if not re.fullmatch(VARIABLE, plain):
        raise InvalidValue(
            say("{value} is not the name of a variable", value=repr(name)),
            write_example("{ sync_binlog = 1 }"),
        )
    return plain


def plain_value(value: object) -> bool | int | float | str:
    """Parse a value that is neither a list nor a table."""
    if not isinstance(value, bool | int | float | str):
        raise InvalidValue(
            say("{value} is not a plain value", value=shown(value)),
            say("write a text, a number, true or false"),
        )
    return value


def setting(value: object) -> str:
    """Parse a variable's value into the server's form."""
    plain = plain_value(value)
    return str(plain) if not isinstance(plain, bool) else "ON" if plain else "OFF"


def distribution(value: object) -> Distribution:
    """Parse a distribution: `"uniform"`, or a table `{ kind = "zipfian", exponent = 0.8 }`."""
    adapter: TypeAdapter[Distribution] = TypeAdapter(Distribution)
    given = {"kind": value} if isinstance(value, str) else value
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
    if first["type"] == "union_tag_invalid":
        kind, known = first["ctx"]["tag"], DISTRIBUTIONS
        what = say(
            "{value} is not a distribution: there are {known}",
            value=shown(kind),
            known=Joined(known),
        )
        raise InvalidValue(what, nearest(str(kind), known) or write_example(known[0]))
    where, reason = ": ".join(map(str, first["loc"])), reason_of(first)
    if where:
        what = say("{place}: {reason}", place=where, reason=reason)
    else:
        what = say("{value} is not a distribution: {reason}", value=shown(value), reason=reason)
    raise InvalidValue(what, say('write "uniform", or { kind = "zipfian", exponent = 0.8 }'))


def shown(value: object) -> str:
    """The written value, short enough for a line; it contains no password."""
    if isinstance(value, dict):
        return say("a table")
    said = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        said = said.lower()
    return said if len(said) <= 60 else f"{said[:57]}..."


def _scaled(value: object, units: Mapping[str, float], what: Message, write: Message) -> float:
    """Parse a number with its unit; a bare number has the unit without a name.

    `what`: a description of valid values, for the message.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and "" in units:
        if not 0 <= value < float("inf"):
            raise InvalidValue(say("{value} is not {what}", value=value, what=what), write)
        return float(value)
    found = quantity.scaled(value, units) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue(say("{value} is not {what}", value=shown(value), what=what), write)
    return found
