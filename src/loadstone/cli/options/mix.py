"""Several workloads at once: `loadstone run oltp_read_write oltp_read_only:as=report,users=2`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import click

from loadstone.cli.options.types import SIZE, TABLES, THINK_TIME, DistributionSpec, Size
from loadstone.model.message import Message, say, say_in

_USERS = Size(1_000_000)
_WAREHOUSES = Size(1_000_000)
_MOST_MEMBERS = 64
_HEAVIEST = 1e9
_OWN = ("as", "users", "weight", "think")
_TABLES = ("tables", "table_size", "warehouses", "distribution")


@dataclass(frozen=True)
class Member:
    """One of several workloads, as written on the command line."""

    workload: str
    name: str
    users: int | None = None
    weight: float | None = None
    think_s: float | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    """Its own values for some of `_TABLES`."""
    options: tuple[str, ...] = ()
    """Options of its workload, as `name=value`."""


def is_mix(words: Sequence[str]) -> bool:
    """Whether the words are several workloads, or one that is written as a member of a mix.

    Raises:
        UsageError: one of the words is the URL of a target.
    """
    for word in words[1:]:
        if "://" in word:  # a target without its option; it may contain a password
            raise click.UsageError(say("got unexpected extra argument ({word})", word=word))
    return len(words) > 1 or (":" in words[0] and "://" not in words[0])


def members_of(words: Sequence[str]) -> tuple[Member, ...]:
    """The members as they were written; one without users of its own has a weight.

    Raises:
        UsageError: a member cannot be read; names it and the faulty part.
    """
    if len(words) > _MOST_MEMBERS:
        raise click.UsageError(
            say("{number} workloads at once are too many: at most 64", number=len(words))
        )
    members = tuple(_member(word) for word in words)
    names = [member.name for member in members]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(
                say("{name} occurs twice: rename one, as in {name}:as=report", name=name)
            )
    return members


def _member(word: str) -> Member:
    workload, _, rest = word.partition(":")
    pairs: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        name, equals, value = (each.strip() for each in part.partition("="))
        name = name.replace("-", "_")
        if not equals or not name or not value:
            why = say("'{part}': write NAME=VALUE, such as users=2 or range_size=1000", part=part)
            raise _unfit(word, why)
        if name in pairs:
            raise _unfit(word, say("{name} occurs twice", name=name))
        pairs[name] = value
    try:
        return _made(workload, pairs)
    except click.BadParameter as error:
        raise _unfit(word, error.message) from error


def _made(workload: str, pairs: Mapping[str, str]) -> Member:
    is_file = workload.endswith(".toml")
    name = pairs.get("as", PurePath(workload).stem if is_file else workload)
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise click.BadParameter(
            say(
                "as={name}: a name consists of letters, digits, dots, dashes and underscores",
                name=name,
            )
        )
    users = _converted(pairs, "users", _USERS)
    weight = _weight(pairs["weight"]) if "weight" in pairs else None
    think_s = _converted(pairs, "think", THINK_TIME)
    if users is not None and weight is not None:
        raise click.BadParameter(say("it has either users of its own or a weight, not both"))
    if think_s is not None and users is None:
        raise click.BadParameter(
            say("think needs users of its own: for all others there is --think-time")
        )
    if users is None and weight is None:
        weight = 1.0
    types: dict[str, click.ParamType[Any]] = {
        "tables": TABLES,
        "table_size": SIZE,
        "warehouses": _WAREHOUSES,
        "distribution": DistributionSpec(),
    }
    sizes = {key: _converted(pairs, key, types[key]) for key in _TABLES if key in pairs}
    options = tuple(
        f"{key}={value}" for key, value in pairs.items() if key not in (*_OWN, *_TABLES)
    )
    return Member(workload, name, users, weight, think_s, sizes, options)


def _converted(pairs: Mapping[str, str], key: str, kind: click.ParamType[Any]) -> Any:
    """The value as its type reads it; `None` if there is none."""
    if key not in pairs:
        return None
    try:
        return kind.convert(pairs[key], None, None)
    except click.BadParameter as error:
        raise click.BadParameter(
            say_in("joined", "{first}: {second}", first=key, second=error.message)
        ) from error


def _weight(text: str) -> float:
    try:
        weight = float(text.removesuffix("%"))
    except ValueError:
        weight = 0.0
    if not 0 < weight <= _HEAVIEST:
        raise click.BadParameter(
            say("weight: '{text}' is not a number above 0, such as 9 or 0.5", text=text)
        )
    return weight


def _unfit(word: str, why: Message | str) -> click.UsageError:
    return click.UsageError(say_in("joined", "{first}: {second}", first=word, second=why))


def ladder_of(
    members: Sequence[Member], asked: tuple[int, ...] | None, few: int
) -> tuple[int, ...]:
    """The users of each step: the requested ones plus the members' own.

    Args:
        members: the members of the mix.
        asked: the users of --concurrency, shared by all members without their own.
        few: how many of those there are without --concurrency.

    Raises:
        UsageError: users were requested, but every member has its own.
    """
    own = sum(member.users or 0 for member in members)
    if all(member.users for member in members):
        if asked:
            raise click.UsageError(
                say(
                    "--concurrency is for workloads without users of their own: leave it out, or"
                    " write one of them without users="
                )
            )
        return (own,)
    return tuple(users + own for users in asked or (few,))
