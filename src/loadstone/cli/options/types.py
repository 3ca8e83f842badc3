"""What people write on the command line: durations, sizes, ladders, distributions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.model import quantity

if TYPE_CHECKING:
    from loadstone.model.plan import Distribution, Rate, Warmup
    from loadstone.model.search import Objective

_DAY_S = 86_400.0
# A leap year, which is as long as the engine goes on.
_LIMITS_S = {"an hour": 3600.0, "a day": _DAY_S, "366 days": quantity.LONGEST_S}


class Word(click.ParamType[str]):
    """A text that must not be empty: `--host ""` is an unset variable of a script."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        if not str(value).strip():
            self.fail("it is empty: leave the option out, or give it a value", param, ctx)
        return str(value)


class CompressionList(Word):
    """`zlib`, or a list of kinds in the order in which they are liked, such as `zstd,zlib,off`."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The list as it was written, known to be one."""
        from loadstone.model.target import CompressionError, compression

        word = super().convert(value, param, ctx)
        try:
            compression(word)
        except CompressionError as error:
            self.fail(error.message, param, ctx)
        return word


class Charset(Word):
    """The name of a character set, as far as that can be said without the server."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is."""
        word = super().convert(value, param, ctx)
        if not re.fullmatch(r"[A-Za-z0-9]+", word):
            self.fail(f"'{word}' is not the name of a character set", param, ctx)
        return word


class FilePath(click.Path):
    """A file's path, which must not be empty: that would be the folder one is in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """The path."""
        WORD.convert(os.fspath(value), param, ctx)
        return super().convert(value, param, ctx)


class Duration(click.ParamType[float]):
    """`500ms`, `30s`, `2m`, `1h`; a bare number is seconds."""

    name = "time"

    def __init__(self, *, zero: bool = False, most: str = "366 days") -> None:
        self._zero = zero
        self._most = most
        self._most_s = _LIMITS_S[most]

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        seconds = quantity.scaled(str(value), quantity.SECONDS)
        if seconds is None:
            self.fail(f"'{value}' is not a time: write 500ms, 30s, 2m or 1h", param, ctx)
        if seconds == 0 and not self._zero:
            self.fail("a time of nought makes no sense here", param, ctx)
        if seconds > self._most_s:
            self.fail(f"'{value}' is too long: at most {self._most}", param, ctx)
        return seconds


class Size(click.ParamType[int]):
    """`1000`, `10k`, `1m`; at least 1."""

    name = "number"

    def __init__(self, most: int = 2**31 - 1) -> None:
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        if isinstance(value, int):
            return value
        number = quantity.scaled(str(value), quantity.COUNTS) or 0.0
        if number < 1 or not (number.is_integer() or number > self._most):
            self.fail(f"'{value}' is not a number from 1 on: write 1000, 10k or 1m", param, ctx)
        if number > self._most:
            self.fail(f"'{value}' is too many: at most {self._most:,}", param, ctx)
        return int(number)


class Bytes(click.ParamType[int]):
    """`512`, `16K`, `2G`, in steps of 1024; at least 1."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """So many bytes."""
        if isinstance(value, int):
            return value
        size = quantity.scaled(str(value), quantity.BYTES) or 0.0
        if not 1 <= size < 2**63 or not size.is_integer():
            self.fail(f"'{value}' is not a size: write 512, 16K, 64M or 2G", param, ctx)
        return int(size)


_HIGHEST_RATE = 10_000_000


class Ladder(click.ParamType[tuple[int, ...]]):
    """The numbers of virtual users to try, as `loadstone.model.levels` reads them."""

    name = "1,8,64|1..64"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The levels, in the order given."""
        from loadstone.model.levels import InvalidLevels, levels

        if isinstance(value, tuple):
            return value
        try:
            return levels(str(value))
        except InvalidLevels as unfit:
            self.fail(str(unfit), param, ctx)


class Rates(click.ParamType[tuple["Rate", ...]]):
    """`1000`, `1000,2000,4000`, `1000..8000/60s`: events a second."""

    name = "N|N,M|N..M/time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Rate, ...]:
        """The rates, in the order given."""
        if isinstance(value, tuple):
            return value
        rates = tuple(self._rate(word.strip(), param, ctx) for word in str(value).split(","))
        twice = next((rate for rate in rates if rates.count(rate) > 1), None)
        if twice is not None:
            self.fail(f"the rate {twice} is there twice; --repeats repeats steps", param, ctx)
        return rates

    def _rate(self, word: str, param: click.Parameter | None, ctx: click.Context | None) -> Rate:
        from loadstone.model.plan import Rate

        number = r"(\d+(?:\.\d+)?[km]?)"
        found = re.fullmatch(rf"{number}(?:\.\.{number}/(.+))?", word.lower().replace("_", ""))
        if not found:
            said = f"'{word}' is not a rate: write 1000, 1000,2000 or 1000..8000/60s"
            self.fail(said, param, ctx)
        rate = Rate(rate=_events(found[1]))
        if found[2]:
            over_s = DURATION.convert(found[3], param, ctx)
            rate = Rate(rate=rate.rate, to=_events(found[2]), over_s=over_s)
        if not 0 < rate.highest <= _HIGHEST_RATE:
            said = f"'{word}': a rate is above 0 and at most {_HIGHEST_RATE:,} events a second"
            self.fail(said, param, ctx)
        return rate


def _events(word: str) -> float:
    return quantity.scaled(word, quantity.COUNTS) or 0.0


class LadderOrAuto(Ladder):
    """Levels, or `auto`, which is the empty ladder."""

    name = "1,8,64|1..64|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The levels, in the order given."""
        if isinstance(value, str) and value.strip().lower() == "auto":
            return ()
        return super().convert(value, param, ctx)


class ObjectiveSpec(click.ParamType["Objective"]):
    """`p99<10ms`: a figure of the response times, and its limit."""

    name = "FIGURE<TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Objective:
        """The objective."""
        from loadstone.config.values import InvalidValue, objective

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return objective(value)
        except InvalidValue as unfit:
            self.fail(f"{unfit.what}: {unfit.write}", param, ctx)


class WarmupTime(click.ParamType["Warmup"]):
    """A duration, or `auto`."""

    name = "time|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Warmup:
        """The warm-up."""
        from loadstone.model.plan import WarmupAuto, WarmupSeconds

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if value.strip().lower() == "auto":
            return WarmupAuto()
        return WarmupSeconds(warmup_s=Duration(zero=True).convert(value, param, ctx))


class DistributionSpec(click.ParamType["Distribution"]):
    """`uniform`, `special:percent=1,hits=75`, `zipfian:exponent=0.8`."""

    name = "kind[:name=value,...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Distribution:
        """The distribution."""
        from pydantic import TypeAdapter, ValidationError

        from loadstone.cli.errors import nearest
        from loadstone.model import plan

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        kind, _, rest = value.partition(":")
        kinds = ("uniform", "special", "gaussian", "pareto", "zipfian")
        if kind not in kinds:
            near = nearest(kind, kinds)
            said = f"'{kind}' is not one of {', '.join(kinds)}{f'; {near}' if near else ''}"
            self.fail(said, param, ctx)
        pairs = [part.partition("=") for part in rest.split(",") if part]
        try:
            adapter: TypeAdapter[Distribution] = TypeAdapter(plan.Distribution)
            return adapter.validate_python(
                {"kind": kind} | {name.strip(): text.strip() for name, _, text in pairs}
            )
        except ValidationError as error:
            first = error.errors()[0]
            name = first["loc"][-1]
            self.fail(f"{kind}: {name}: {first['msg'][:1].lower()}{first['msg'][1:]}", param, ctx)


DURATION = Duration()
CONNECT_TIME = Duration(most="an hour")
THINK_TIME = Duration(zero=True, most="a day")
WORD = Word()
FILE = FilePath()
SIZE = Size()
BYTES = Bytes()
TABLES = Size(100_000)
BACKLOG = Size(100_000_000)


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder for run folders.",
)
