"""What people write on the command line: durations, sizes, ladders, distributions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.model import quantity

if TYPE_CHECKING:
    from loadstone.model.plan import Distribution, Phase, Rate, Warmup
    from loadstone.model.search import Objective

_DAY_S = 86_400.0
# A leap year, which is as long as the engine goes on.
_LIMITS_S = {"an hour": 3600.0, "a day": _DAY_S, "366 days": quantity.LONGEST_S}


T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


class Parsed(click.ParamType[T]):
    """What stands on the command line as a text; a default may be a value already."""

    def read(self, text: str) -> T:
        """What the text means.

        Raises:
            ValueError: it cannot be what is meant; says why, and what to write.
        """
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The value, or an error of usage."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Word(Parsed[str]):
    """A text that must not be empty: `--host ""` is an unset variable of a script."""

    name = "text"

    def read(self, text: str) -> str:
        """The text as it is."""
        if not text.strip():
            raise ValueError("it is empty: leave the option out, or give it a value")
        return text


class CompressionList(Word):
    """`zlib`, or a list of kinds in the order in which they are liked, such as `zstd,zlib,off`."""

    name = "kinds"

    def read(self, text: str) -> str:
        """The list as it was written, known to be one."""
        from loadstone.model.target import CompressionError, compression

        try:
            compression(super().read(text))
        except CompressionError as error:
            raise ValueError(error.message) from error
        return text


class Charset(Word):
    """The name of a character set, as far as that can be said without the server."""

    name = "name"

    def read(self, text: str) -> str:
        """The name as it is."""
        if not re.fullmatch(r"[A-Za-z0-9]+", super().read(text)):
            raise ValueError(f"'{text}' is not the name of a character set")
        return text


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


class Duration(Parsed[float]):
    """`500ms`, `30s`, `2m`, `1h`; a bare number is seconds."""

    name = "time"

    def __init__(self, *, zero: bool = False, most: str = "366 days") -> None:
        self._zero = zero
        self._most = most
        self._most_s = _LIMITS_S[most]

    def read(self, text: str) -> float:
        """Seconds."""
        seconds = quantity.scaled(text, quantity.SECONDS)
        if seconds is None:
            raise ValueError(f"'{text}' is not a time: write 500ms, 30s, 2m or 1h")
        if seconds == 0 and not self._zero:
            raise ValueError("a time of nought makes no sense here")
        if seconds > self._most_s:
            raise ValueError(f"'{text}' is too long: at most {self._most}")
        return seconds


class Size(Parsed[int]):
    """`1000`, `10k`, `1m`; at least 1."""

    name = "number"

    def __init__(self, most: int = 2**31 - 1) -> None:
        self._most = most

    def read(self, text: str) -> int:
        """The number."""
        number = quantity.scaled(text, quantity.COUNTS) or 0.0
        if number < 1 or not (number.is_integer() or number > self._most):
            raise ValueError(f"'{text}' is not a number from 1 on: write 1000, 10k or 1m")
        if number > self._most:
            raise ValueError(f"'{text}' is too many: at most {self._most:,}")
        return int(number)


class Bytes(Parsed[int]):
    """`512`, `16K`, `2G`, in steps of 1024; at least 1."""

    name = "size"

    def read(self, text: str) -> int:
        """So many bytes."""
        size = quantity.scaled(text, quantity.BYTES) or 0.0
        if not 1 <= size < 2**63 or not size.is_integer():
            raise ValueError(f"'{text}' is not a size: write 512, 16K, 64M or 2G")
        return int(size)


class Ladder(Parsed[tuple[int, ...]]):
    """The numbers of virtual users to try, as `loadstone.model.levels` reads them."""

    name = "1,8,64|1..64"

    def read(self, text: str) -> tuple[int, ...]:
        """The levels, in the order given."""
        from loadstone.model.levels import levels

        return levels(text)


class Rates(Parsed[tuple["Rate", ...]]):
    """`1000`, `1000,2000,4000`, `1000..8000/60s`: events a second."""

    name = "N|N,M|N..M/time"

    def read(self, text: str) -> tuple[Rate, ...]:
        """The rates, in the order given."""
        from loadstone.config.values import once, rate

        return tuple(once([rate(word.strip()) for word in text.split(",")]))


class LadderOrAuto(Ladder):
    """Levels, or `auto`, which is the empty ladder."""

    name = "1,8,64|1..64|auto"

    def read(self, text: str) -> tuple[int, ...]:
        """The levels, in the order given."""
        return () if text.strip().lower() == "auto" else super().read(text)


class Phases(Parsed[tuple["Phase", ...]]):
    """`warm 60s 16, ramp 120s 16..256`: a name, a time, and users or a rate, between commas."""

    name = "NAME TIME LEVEL,..."

    def read(self, text: str) -> tuple[Phase, ...]:
        """The phases, in the order given; all of users, or all of rates."""
        from loadstone.config.phases import phases

        return phases(text)


class ObjectiveSpec(Parsed["Objective"]):
    """`p99<10ms`: a figure of the response times, and its limit."""

    name = "FIGURE<TIME"

    def read(self, text: str) -> Objective:
        """The objective."""
        from loadstone.config.values import objective

        return objective(text)


class WarmupTime(Parsed["Warmup"]):
    """A duration, or `auto`."""

    name = "time|auto"

    def read(self, text: str) -> Warmup:
        """The warm-up."""
        from loadstone.config.values import warmup

        return warmup(text.strip().lower())


class DistributionSpec(Parsed["Distribution"]):
    """`uniform`, `special:percent=1,hits=75`, `zipfian:exponent=0.8`."""

    name = "kind[:name=value,...]"

    def read(self, text: str) -> Distribution:
        """The distribution."""
        from loadstone.config.values import distribution

        kind, _, rest = text.partition(":")
        pairs = [part.partition("=") for part in rest.split(",") if part]
        more = {name.strip(): value.strip() for name, _, value in pairs}
        return distribution({"kind": kind} | more)


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


def with_options(command: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    """The command with these options, which its help shows in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def gathered(
    name: str, options: Sequence[Callable[[Any], Any]], make: Callable[..., object]
) -> Callable[[Command], Command]:
    """Gives a command these options, and in their place one argument: what is made of them."""
    taken = [each.name for each in with_options(lambda: None, options).__click_params__]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(*arguments: Any, **given: Any) -> Any:
            made = make(**{each: given.pop(each) for each in taken})
            return command(*arguments, **{name: made}, **given)

        return with_options(called, options)  # type: ignore[no-any-return]

    return decorate


def lang_option(said: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--lang`: English unless something else is asked for; the environment is not looked at.

    What a command prints must not depend on the machine on which a script runs.
    """
    return click.option(
        "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help=said
    )


strict_option = click.option(
    "--strict", is_flag=True, help="Exit with code 5 when the load generator was the bottleneck."
)
result_json_option = click.option("--json", "as_json", is_flag=True, help="Print result.json only.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
trust_option = click.option(
    "--trust-folder",
    "trusted",
    is_flag=True,
    help="Trust this run folder although it was not created by you on this machine.",
)
"""Of commands that carry out what a run's folder says, for folders of somebody else."""
