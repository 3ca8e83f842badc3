"""What people write in an experiment file: times, numbers, shares, sizes, rates, addresses.

Each function takes what tomllib gave and returns the value, or raises `InvalidValue`; the types
are for fields of `Written`, which read with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)

from loadstone.config.phases import HIGHEST_RATE
from loadstone.config.phases import phases as read_phases
from loadstone.families import family_of
from loadstone.model import quantity
from loadstone.model.errors import LoadstoneError
from loadstone.model.levels import InvalidLevels
from loadstone.model.levels import levels as read_levels
from loadstone.model.nearest import nearest
from loadstone.model.plan import (
    Distribution,
    OptionValue,
    Phase,
    Rate,
    Warmup,
    WarmupAuto,
    WarmupSeconds,
)
from loadstone.model.protection import Condition, condition, max_load
from loadstone.model.quantity import LONGEST_S
from loadstone.model.search import Figure, Objective
from loadstone.model.target import (
    Compression,
    Target,
    TlsMode,
    compression,
    parse_target_url,
    tls_mode,
)

T = TypeVar("T")

_MOST = 2**31 - 1


class InvalidValue(ValueError):
    """A value that cannot be what is meant, and what to write instead."""

    def __init__(self, what: str, write: str) -> None:
        super().__init__(f"{what}: {write}")
        self.what = what
        self.write = write


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(f"{shown(value)} is not a text", 'write a text between quotes: "name"')
    return value


def seconds(value: object) -> float:
    """`500ms`, `30s`, `2m`, `1h`; a bare number is seconds. Above nought, at most 366 days."""
    return _seconds(value, zero=False)


def seconds_or_none(value: object) -> float:
    """The same, or nought."""
    return _seconds(value, zero=True)


def _seconds(value: object, *, zero: bool) -> float:
    found = _scaled(value, quantity.SECONDS, "a time", 'write "500ms", "30s", "2m" or "1h"')
    if found == 0 and not zero:
        raise InvalidValue(
            "a time of nought measures nothing", 'write "30s", or whatever is wanted'
        )
    if found > LONGEST_S:
        raise InvalidValue(f"{shown(value)} is too long: at most 366 days", "write less")
    return found


def count(value: object) -> int:
    """`1000`, `"10k"`, `"1m"`; at least 1."""
    found = _scaled(value, quantity.COUNTS, "a number", 'write a whole number from 1 on, or "10k"')
    if found < 1 or not found.is_integer() or found > _MOST:
        raise InvalidValue(f"{shown(value)} is not a number from 1 to {_MOST:,}", "write 1 or more")
    return int(found)


def _above_nought(
    units: Mapping[str, float], what: str, write: str, nought: str, kind: Callable[[float], T]
) -> Callable[[object], T]:
    def read(value: object) -> T:
        found = kind(_scaled(value, units, what, write))
        if not found:
            raise InvalidValue(nought, write)
        return found

    return read


cores = _above_nought(
    {"": 1},
    "a number of cores",
    "write cores = 4, or 0.5",
    "without any core a server does nothing",
    float,
)
"""Cores, a part of one too."""

size_bytes = _above_nought(
    quantity.BYTES, "a size", 'write "512M" or "8G"', "a size of nought leaves nothing", int
)
"""`"512M"`, `"8G"`, in steps of 1024."""

bits_per_s = _above_nought(
    quantity.BITS,
    "a line's speed",
    'write "100Mbit" or "1Gbit"',
    "over a line without speed nothing arrives",
    int,
)
"""`"100Mbit"`, `"1Gbit"`, a second."""


def levels(text: str) -> list[int]:
    """Numbers of users, with ranges: `1,8,64`, `1..128`."""
    try:
        return list(read_levels(text))
    except InvalidLevels as wrong:
        raise InvalidValue(wrong.what, wrong.write) from None


def _levels_or_list(value: object) -> object:
    return levels(value) if isinstance(value, str) else value


def share(value: object) -> float:
    """`"2%"` or `0.02`: above 0 and below 1."""
    written = value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
        written = float(found[1]) / 100 if found else None
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 < written < 1:
        raise InvalidValue(f"{shown(value)} is not a share between nought and all", 'write "2%"')
    return float(written)


def once(values: list[T]) -> list[T]:
    """A list in which nothing is there twice."""
    twice = next((each for each in values if values.count(each) > 1), None)
    if twice is not None:
        raise InvalidValue(
            f"{twice} is there twice", "leave one out: repeats says how often each is measured"
        )
    return values


def rate(value: object) -> Rate:
    """Events a second: `1000`, or a ramp, `"1000..8000/60s"`."""
    example = 'write 1000, or "1000..8000/60s"'
    ramp = isinstance(value, str) and re.fullmatch(r"(.+)\.\.(.+)/(.+)", value)
    if ramp:
        first, to = (
            _scaled(part, quantity.COUNTS, "a rate", example) for part in ramp.groups()[:2]
        )
        made = Rate(rate=first, to=to, over_s=seconds(ramp[3]))
    else:
        made = Rate(rate=_scaled(value, quantity.COUNTS, "a rate", example))
    if not 0 < made.highest <= HIGHEST_RATE:
        said = f"a rate is above 0 and at most {HIGHEST_RATE:,} events a second"
        raise InvalidValue(f"{shown(value)}: {said}", example)
    return made


def warmup(value: object) -> Warmup:
    """`"auto"`, or a time."""
    if value == "auto":
        return WarmupAuto()
    try:
        return WarmupSeconds(warmup_s=seconds_or_none(value))
    except InvalidValue as unfit:
        raise InvalidValue(unfit.what, 'write "auto", or a time such as "10s"') from None


def phases(value: object) -> tuple[Phase, ...]:
    """`"warm 60s 16, ramp 120s 16..256"`."""
    written = text(value)
    try:
        return read_phases(written)
    except ValueError as error:
        raise InvalidValue(
            str(error), 'write "warm 60s 16, ramp 120s 16..256, spike 30s 1k"'
        ) from error


def objective(value: object) -> Objective:
    """`"p99<10ms"`: a figure of the response times, and its limit."""
    found = re.fullmatch(r"\s*([a-z0-9.]+)\s*(<=?)\s*(.+?)\s*", text(value).lower())
    if not found:
        raise InvalidValue(f"{shown(value)} is not an objective", 'write "p99<10ms"')
    figure = found[1].replace(".", "")
    if figure not in get_args(Figure):
        known = ", ".join(get_args(Figure))
        raise InvalidValue(f'"{found[1]}" is not one of {known}', 'write "p99<10ms"')
    given = {"figure": figure, "relation": found[2], "limit_ms": 1000 * seconds(found[3])}
    return Objective.model_validate(given)


def target(value: object) -> Target:
    """A URL without a password."""
    try:
        found, password = parse_target_url(text(value))
    except LoadstoneError as error:
        raise InvalidValue(
            error.message, error.hint or "write mysql://user@host:3306/schema"
        ) from None
    if password is not None and password.get_secret_value():
        said = "the URL has a password, and files are copied and shown"
        own = family_of(found).words.own_file
        raise InvalidValue(said, f"leave it out, and keep it in LOADSTONE_PASSWORD or {own}")
    return found


def _by(parse: Callable[[str], T], write: str = "") -> PlainValidator:
    """A text that a parser of the command line understands, too."""

    def read(value: object) -> T:
        try:
            return parse(text(value))
        except LoadstoneError as error:
            raise InvalidValue(error.message, write or error.hint or "") from None

    return PlainValidator(read)


def _host(value: object) -> str:
    host = text(value)
    if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?", host):
        raise InvalidValue(f"{host!r} is no address", 'write "db1:3306"')
    return host


def folder(value: object) -> Path:
    """An absolute path: whoever carries the plan out may stand elsewhere."""
    found = Path(text(value))
    if not found.is_absolute():
        raise InvalidValue(
            f"{shown(value)} is not a whole path", 'write it from the root on: "/srv/el7"'
        )
    return found


def _variable(name: object) -> str:
    """The server takes dashes and underscores alike; `--` is what people copy from my.cnf."""
    plain = str(name).removeprefix("--").replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", plain):
        raise InvalidValue(f"{name!r} is not the name of a variable", "write { sync_binlog = 1 }")
    return plain


def _plain(value: object) -> bool | int | float | str:
    if not isinstance(value, bool | int | float | str):
        write = "write a text, a number, true or false"
        raise InvalidValue(f"{shown(value)} is no plain value", write)
    return value


def _setting(value: object) -> str:
    """As the server takes it."""
    plain = _plain(value)
    return str(plain) if not isinstance(plain, bool) else "ON" if plain else "OFF"


def distribution(value: object) -> Distribution:
    """A kind, or a table with its kind: `"uniform"`, `{ kind = "zipfian", exponent = 0.8 }`."""
    adapter: TypeAdapter[Distribution] = TypeAdapter(Distribution)
    given = {"kind": value} if isinstance(value, str) else value
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
    if first["type"] == "union_tag_invalid":
        kind, known = first["ctx"]["tag"], ("uniform", "special", "gaussian", "pareto", "zipfian")
        what = f"{shown(kind)} is no distribution: there are {', '.join(known)}"
        raise InvalidValue(what, nearest(str(kind), known) or f"write {known[0]}")
    where = ": ".join(map(str, first["loc"])) or f"{shown(value)} is no distribution"
    what = f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    raise InvalidValue(what, 'write "uniform", or { kind = "zipfian", exponent = 0.8 }')


def shown(value: object) -> str:
    """What was written, short enough for a line; a password is not in it."""
    said = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        said = said.lower()
    if isinstance(value, dict):
        said = "a table"
    return said if len(said) <= 60 else f"{said[:57]}..."


def _scaled(value: object, units: Mapping[str, float], what: str, write: str) -> float:
    """A number and its unit; a bare number stands for the unit without a name."""
    if isinstance(value, int | float) and not isinstance(value, bool) and "" in units:
        if not 0 <= value < float("inf"):
            raise InvalidValue(f"{value} is not {what}", write)
        return float(value)
    found = quantity.scaled(value, units) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue(f"{shown(value)} is not {what}", write)
    return found


Text = Annotated[str, PlainValidator(text)]
Seconds = Annotated[float, PlainValidator(seconds)]
SecondsOrNone = Annotated[float, PlainValidator(seconds_or_none)]
Count = Annotated[int, PlainValidator(count)]
Cores = Annotated[float, PlainValidator(cores)]
SizeBytes = Annotated[int, PlainValidator(size_bytes)]
BitsPerS = Annotated[int, PlainValidator(bits_per_s)]
Share = Annotated[float, PlainValidator(share)]
RatePerS = Annotated[Rate, PlainValidator(rate)]
WarmupTime = Annotated[Warmup, PlainValidator(warmup)]
Phases = Annotated[tuple[Phase, ...], PlainValidator(phases)]
Limit = Annotated[Objective, PlainValidator(objective)]
Url = Annotated[Target, PlainValidator(target)]
AbortIf = Annotated[Condition, _by(condition)]
MaxLoad = Annotated[Condition, _by(max_load)]
Tls = Annotated[TlsMode, _by(tls_mode, f"write one of {', '.join(get_args(TlsMode))}")]
Host = Annotated[str, PlainValidator(_host)]
Folder = Annotated[Path, PlainValidator(folder)]
Spread = Annotated[Distribution, PlainValidator(distribution)]
Compressions = Annotated[
    tuple[Compression, ...], _by(compression, 'write "zlib", "zstd,zlib" or "off"')
]
Texts = Annotated[
    list[Text], BeforeValidator(lambda given: given if isinstance(given, list) else [given])
]
"""One text, or a list of some."""
Several = Annotated[list[T], Field(min_length=1), AfterValidator(once)]
"""At least one, and none twice."""
Levels = Annotated[Several[Count], BeforeValidator(_levels_or_list)]
"""Numbers of users: a list of them, or a text with a range (`loadstone.model.levels`)."""
Variables = dict[
    Annotated[str, PlainValidator(_variable)], Annotated[str, PlainValidator(_setting)]
]
"""Server variables as the server takes them: `true` is `ON`."""

Options = dict[
    Annotated[str, PlainValidator(lambda name: name.replace("-", "_"))],
    Annotated[OptionValue, PlainValidator(_plain)],
]
"""Of a workload."""
