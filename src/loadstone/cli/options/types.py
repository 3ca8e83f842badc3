"""The types of option values: durations, sizes, ladders, distributions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.help.command import option
from loadstone.cli.help.sections import Section
from loadstone.model import quantity
from loadstone.model.figure import Count
from loadstone.model.message import Message, say

if TYPE_CHECKING:
    from loadstone.model.plan import Distribution, Phase, Rate, Warmup
    from loadstone.model.search import Objective

_HOUR_S = 3_600.0
_DAY_S = 86_400.0


T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


class Parsed(click.ParamType[T]):
    """A type that parses text from the command line; a default may already be a value."""

    takes_list = False
    """Whether the text may list several values between commas."""

    def read(self, text: str) -> T:
        """The value of the text.

        Raises:
            ValueError: the text is not such a value; its message has the reason and what to write.
        """
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The value, or a usage error."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return self.read(value)
        except ValueError as error:
            # A message keeps its type, so that it can be shown in any language.
            why = error.args[0] if error.args else ""
            self.fail(why if isinstance(why, Message) else str(error), param, ctx)


class Word(Parsed[str]):
    """A non-empty text: `--host ""` is usually an unset variable of a script."""

    name = "text"

    def read(self, text: str) -> str:
        """The text unchanged."""
        if not text.strip():
            raise ValueError(say("it is empty: leave the option out, or give it a value"))
        return text


class CompressionList(Word):
    """`zlib`, or a list of kinds in order of preference, such as `zstd,zlib,off`."""

    name = "kinds"
    takes_list = True

    def read(self, text: str) -> str:
        """The list as written, once it is checked."""
        from loadstone.model.target_url import CompressionError, compression

        try:
            compression(super().read(text))
        except CompressionError as error:
            raise ValueError(error.message) from error
        return text


class Addresses(Parsed[tuple[str, ...]]):
    """IP addresses of this machine between commas: `10.0.0.5,10.0.0.6`."""

    name = "addresses"
    takes_list = True

    def read(self, text: str) -> tuple[str, ...]:
        """The addresses, once a socket could be bound to each."""
        from loadstone.lab.machine.outgoing import OutgoingError, check_address

        found = tuple(one.strip() for one in text.split(","))
        for one in found:
            try:
                check_address(one)
            except OutgoingError as error:
                raise ValueError(error.message) from error
        return found


class Charset(Word):
    """The name of a character set, as far as that can be checked without the server."""

    name = "name"

    def read(self, text: str) -> str:
        """The name unchanged."""
        if not re.fullmatch(r"[A-Za-z0-9]+", super().read(text)):
            raise ValueError(say("'{text}' is not the name of a character set", text=text))
        return text


class FilePath(click.Path):
    """A file's path; an empty one would mean the current folder, and is refused."""

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

    def __init__(self, *, zero: bool = False, most_s: float = quantity.LONGEST_S) -> None:
        self._zero = zero
        self._most_s = most_s

    def read(self, text: str) -> float:
        """Seconds."""
        seconds = quantity.scaled(text, quantity.SECONDS)
        if seconds is None:
            raise ValueError(say("'{text}' is not a time: write 500ms, 30s, 2m or 1h", text=text))
        if seconds == 0 and not self._zero:
            raise ValueError(say("the time must be more than 0"))
        if seconds > self._most_s:
            raise ValueError(
                say("'{text}' is too long: at most {most}", text=text, most=_LIMITS[self._most_s])
            )
        return seconds


# The engine runs for at most a leap year.
_LIMITS = {
    _HOUR_S: say("an hour"),
    _DAY_S: say("a day"),
    quantity.LONGEST_S: say("366 days"),
}


class Size(Parsed[int]):
    """`1000`, `10k`, `1m`; at least 1."""

    name = "number"

    def __init__(self, most: int = 2**31 - 1) -> None:
        self._most = most

    def read(self, text: str) -> int:
        """The number."""
        number = quantity.scaled(text, quantity.COUNTS) or 0.0
        if number < 1 or not (number.is_integer() or number > self._most):
            raise ValueError(
                say("'{text}' is not a whole number above 0: write 1000, 10k or 1m", text=text)
            )
        if number > self._most:
            most = Count(self._most)
            raise ValueError(say("'{text}' is too large: at most {most}", text=text, most=most))
        return int(number)


class Bytes(Parsed[int]):
    """`512`, `16K`, `2G`, in steps of 1024; at least 1."""

    name = "size"

    def read(self, text: str) -> int:
        """The number of bytes."""
        size = quantity.scaled(text, quantity.BYTES) or 0.0
        if not 1 <= size < 2**63 or not size.is_integer():
            raise ValueError(say("'{text}' is not a size: write 512, 16K, 64M or 2G", text=text))
        return int(size)


class Ladder(Parsed[tuple[int, ...]]):
    """The numbers of virtual users to try, as `loadstone.model.levels` reads them."""

    name = "1,8,64|1..64"
    takes_list = True

    def read(self, text: str) -> tuple[int, ...]:
        """The levels, in the order given."""
        from loadstone.model.levels import levels

        return levels(text)


class Rates(Parsed[tuple["Rate", ...]]):
    """`1000`, `1000,2000,4000`, `1000..8000/60s`: events per second."""

    name = "N|N,M|N..M/time"
    takes_list = True

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
    takes_list = True

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
CONNECT_TIME = Duration(most_s=_HOUR_S)
THINK_TIME = Duration(zero=True, most_s=_DAY_S)
WORD = Word()
ADDRESSES = Addresses()
FILE = FilePath()
SIZE = Size()
BYTES = Bytes()
TABLES = Size(100_000)
BACKLOG = Size(100_000_000)


out_option = option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    section=Section.RESULT,
    help=say("Folder that holds the run folders."),
)


def name_option(
    *, default: str | None = None, unnamed: Message | None = None
) -> Callable[[Command], Command]:
    """`--name` of a run; `unnamed` is its help if the default is not a fixed name."""
    return option(
        "--name",
        type=WORD,
        metavar="NAME",
        default=default,
        show_default=default is not None,
        section=Section.RESULT,
        help=unnamed or say("Name of the run."),
    )


def output_option(default: Message) -> Callable[[Command], Command]:
    """`--output FILE`, for a document; `default` is its help, which says where it goes without."""
    return option("--output", "-o", type=FILE, metavar="FILE", section=Section.RESULT, help=default)


def former(name: str, now: str, kind: click.ParamType[Any]) -> Callable[[Command], Command]:
    """The former name of an option, which scripts still use and the help does not show.

    Args:
        name: the former name, such as `--runs`.
        now: click's name of the option that has replaced it.
        kind: the type of the option's value.
    """
    return option(name, now, type=kind, hidden=True)


def with_options(command: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    """The command with these options, in the order in which its help shows them."""
    for add in reversed(options):
        command = add(command)
    return command


def gathered(
    name: str, options: Sequence[Callable[[Any], Any]], make: Callable[..., object]
) -> Callable[[Command], Command]:
    """Add these options to a command, which gets what `make` returns as one argument instead."""
    taken = [each.name for each in with_options(lambda: None, options).__click_params__]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(*arguments: Any, **given: Any) -> Any:
            made = make(**{each: given.pop(each) for each in taken})
            return command(*arguments, **{name: made}, **given)

        return with_options(called, options)  # type: ignore[no-any-return]

    return decorate


strict_option = option(
    "--strict",
    is_flag=True,
    section=Section.GATES,
    help=say("Exit with code 5 if the load generator was the bottleneck."),
)
result_json_option = option(
    "--json",
    "as_json",
    is_flag=True,
    section=Section.RESULT,
    help=say("Print only the result, as JSON (the same as result.json)."),
)
json_option = option("--json", "as_json", is_flag=True, help=say("Print only JSON."))
trust_option = option(
    "--trust-folder",
    "trusted",
    is_flag=True,
    help=say("Trust this run folder although it was not created by you on this machine."),
)
"""For commands that follow the contents of a run's folder, which may be another user's."""
