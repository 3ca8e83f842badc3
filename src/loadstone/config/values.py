"""What people write in an experiment file: times, numbers, shares, sizes, rates, addresses.

Each function takes what tomllib gave and returns the value, or raises `InvalidValue`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar, get_args

from loadstone.config.phases import phases as read_phases
from loadstone.model import quantity
from loadstone.model.columns import COLUMNS, Column
from loadstone.model.errors import LoadstoneError
from loadstone.model.experiment import Restore
from loadstone.model.plan import Distribution, Phase, Rate, Warmup, WarmupAuto, WarmupSeconds
from loadstone.model.protection import Condition, ConditionError, condition, max_load
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


class InvalidValue(Exception):
    """A value that cannot be what is meant, and what to write instead."""

    def __init__(self, what: str, write: str) -> None:
        super().__init__(what)
        self.what = what
        self.write = write


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(f"{shown(value)} is not a text", 'write a text between quotes: "name"')
    return value


def flag(value: object) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{shown(value)} is neither true nor false", "write true or false")
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
        raise InvalidValue(f"{shown(value)} is too long", "write at most 366 days")
    return found


def count(value: object) -> int:
    """`1000`, `"10k"`, `"1m"`; at least 1."""
    found = _scaled(value, quantity.COUNTS, "a number", 'write a whole number from 1 on, or "10k"')
    if found < 1 or not found.is_integer() or found > _MOST:
        raise InvalidValue(f"{shown(value)} is not a number from 1 to {_MOST:,}", "write 1 or more")
    return int(found)


def seed(value: object) -> int:
    """A whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidValue(f"{shown(value)} is no seed", "write a whole number from 0 on")
    return value


def cores(value: object) -> float:
    """Cores, a part of one too."""
    found = _scaled(value, {"": 1}, "a number of cores", "write cores = 4, or 0.5")
    if found <= 0:
        raise InvalidValue("without any core a server does nothing", "write cores = 4, or 0.5")
    return found


def size_bytes(value: object) -> int:
    """`"512M"`, `"8G"`, in steps of 1024."""
    found = _scaled(value, quantity.BYTES, "a size", 'write "512M" or "8G"')
    if found < 1:
        raise InvalidValue("a size of nought leaves nothing", 'write "512M" or "8G"')
    return int(found)


def bits_per_s(value: object) -> int:
    """`"100Mbit"`, `"1Gbit"`, a second."""
    found = _scaled(value, quantity.BITS, "a line's speed", 'write "100Mbit" or "1Gbit"')
    if found < 1:
        raise InvalidValue(
            "over a line without speed nothing arrives", 'write "100Mbit" or "1Gbit"'
        )
    return int(found)


def share(value: object) -> float:
    """`"2%"` or `0.02`: above 0 and below 1."""
    written = value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
        written = float(found[1]) / 100 if found else None
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 < written < 1:
        raise InvalidValue(f"{shown(value)} is not a share between nought and all", 'write "2%"')
    return float(written)


def ladder(value: object) -> tuple[int, ...]:
    """Numbers of users, none twice."""
    return _series(value, count, "ladder = [1, 8, 64]")


def rates(value: object) -> tuple[Rate, ...]:
    """Events a second, `1000` or `"1000..8000/60s"`, none twice."""
    return _series(value, _rate, 'rates = [1000, 2000] or ["1000..8000/60s"]')


def _series(value: object, convert: Callable[[object], T], example: str) -> tuple[T, ...]:
    if not isinstance(value, list) or not value:
        raise InvalidValue(f"{shown(value)} is no list of at least one", f"write {example}")
    found = tuple(convert(each) for each in value)
    twice = next((each for each in found if found.count(each) > 1), None)
    if twice is not None:
        raise InvalidValue(
            f"{twice} is there twice", "leave one out: repeats says how often each is measured"
        )
    return found


def _rate(value: object) -> Rate:
    example = 'write 1000, or "1000..8000/60s"'
    ramp = isinstance(value, str) and re.fullmatch(r"(.+)\.\.(.+)/(.+)", value)
    if ramp:
        first, to = (
            _scaled(part, quantity.COUNTS, "a rate", example) for part in ramp.groups()[:2]
        )
        made = Rate(rate=first, to=to, over_s=seconds(ramp[3]))
    else:
        made = Rate(rate=_scaled(value, quantity.COUNTS, "a rate", example))
    if made.highest <= 0:
        raise InvalidValue("a rate of nought asks for nothing", example)
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
    try:
        return read_phases(text(value))
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


def texts(value: object) -> tuple[str, ...]:
    """One text, or a list of some."""
    return tuple(text(each) for each in (value if isinstance(value, list) else [value]))


def weight(value: object) -> float:
    """A number above nought."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e9:
        raise InvalidValue(f"{shown(value)} is not a number above 0", "write weight = 9, or 0.5")
    return float(value)


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
        raise InvalidValue(said, "leave it out, and keep it in LOADSTONE_PASSWORD or ~/.my.cnf")
    return found


def targets(value: object) -> tuple[Target, ...]:
    """URLs without passwords."""
    return _series(value, target, 'replicas = ["mysql://user@host:3306"]')


def conditions(value: object) -> tuple[Condition, ...]:
    """`["threads_running>200", "p99>200ms for 5s"]`."""
    return _conditions(value, condition)


def conditions_of_max_load(value: object) -> tuple[Condition, ...]:
    """The same, of a load that is held back."""
    return _conditions(value, max_load)


def _conditions(value: object, parse: Callable[[str], Condition]) -> tuple[Condition, ...]:
    def one(written: object) -> Condition:
        try:
            return parse(text(written))
        except ConditionError as error:
            raise InvalidValue(error.message, error.hint or "docs/protection.md") from None

    return _series(value, one, '["threads_running>200"]')


def tls(value: object) -> TlsMode:
    """How the connection is encrypted."""
    try:
        return tls_mode(text(value))
    except LoadstoneError:
        modes = ", ".join(get_args(TlsMode))
        raise InvalidValue(f"{shown(value)} is no mode of TLS", f"write one of {modes}") from None


def kinds_of_compression(value: object) -> tuple[Compression, ...]:
    """`"zstd,zlib"`, in the order in which they are liked."""
    try:
        return compression(text(value))
    except LoadstoneError as error:
        raise InvalidValue(error.message, 'write "zlib", "zstd,zlib" or "off"') from None


def hosts(value: object) -> tuple[str, ...]:
    """Addresses: `["db1:3306", "db2:3306"]`."""
    found = _series(value, text, 'hosts = ["db1:3306", "db2:3306"]')
    for host in found:
        if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?", host):
            raise InvalidValue(f"{host!r} is no address", 'write "db1:3306"')
    return found


def folder(value: object) -> Path:
    """An absolute path: whoever carries the plan out may stand elsewhere."""
    found = Path(text(value))
    if not found.is_absolute():
        raise InvalidValue(
            f"{shown(value)} is not a whole path", 'write it from the root on: "/srv/el7"'
        )
    return found


def variables(value: object) -> dict[str, str]:
    """Server variables as the server takes them: `true` is `ON`."""
    if not isinstance(value, dict):
        raise InvalidValue(f"{shown(value)} is no table", "write { sync_binlog = 1 }")
    return {variable(name): _setting(name, each) for name, each in value.items()}


def variable(name: str) -> str:
    """The server takes dashes and underscores alike; `--` is what people copy from my.cnf."""
    plain = name.removeprefix("--").replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", plain):
        raise InvalidValue(f"{name!r} is not the name of a variable", "write { sync_binlog = 1 }")
    return plain


def _setting(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if not isinstance(value, int | float | str):
        said = f"{name} is {shown(value)}, which no server variable can be"
        raise InvalidValue(said, f'write {name} = "text", a number, true or false')
    return str(value)


def one_of(words: Collection[T]) -> Callable[[object], T]:
    """One of some words, as it is written."""

    def convert(value: object) -> T:
        for word in words:
            if value == word:
                return word
        known = ", ".join(f'"{word}"' for word in words)
        raise InvalidValue(f"{shown(value)} is not one of {known}", f"write one of {known}")

    return convert


restore = one_of(get_args(Restore))


def columns(value: object) -> tuple[Column, ...]:
    """Names of figures to show, none twice."""
    return _series(value, _column, 'columns = ["log_syncs", "transactions_per_sync"]')


def _column(value: object) -> Column:
    for known in COLUMNS:
        if value == known:
            return known
    near = get_close_matches(str(value), COLUMNS, n=1, cutoff=0.6)
    write = f"did you mean {near[0]}?" if near else f"there are {', '.join(COLUMNS)}"
    raise InvalidValue(f"{shown(value)} is no column", write)


def distribution(value: object) -> Distribution:
    """A kind, or a table with its kind: `"uniform"`, `{ kind = "zipfian", exponent = 0.8 }`."""
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Distribution] = TypeAdapter(Distribution)
    given = {"kind": value} if isinstance(value, str) else value
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "union_tag_invalid":
            raise _no_kind(value, str(first["ctx"]["tag"])) from None
        said = first["msg"]
        what = f"{shown(value)} is no distribution: {said[:1].lower()}{said[1:]}"
        raise InvalidValue(
            what, 'write "uniform", or { kind = "zipfian", exponent = 0.8 }'
        ) from None


def _no_kind(value: object, kind: str) -> InvalidValue:
    known = ("uniform", "special", "gaussian", "pareto", "zipfian")
    near = get_close_matches(kind, known, n=1, cutoff=0.6)
    write = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return InvalidValue(f"{shown(value)} is no distribution", write)


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
