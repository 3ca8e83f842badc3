"""Several workloads at once: `loadstone run oltp_read_write oltp_read_only:as=report,users=2`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import click

from loadstone.cli.options.types import SIZE, TABLES, THINK_TIME, DistributionSpec, Size

_USERS = Size(1_000_000)
_WAREHOUSES = Size(1_000_000)
_MOST_MEMBERS = 64
_HEAVIEST = 1e9
_OWN = ("as", "users", "weight", "think")
_TABLES = ("tables", "table_size", "warehouses", "distribution")


@dataclass(frozen=True)
class Member:
    """One of several workloads as it was written."""

    workload: str
    name: str
    users: int | None = None
    weight: float | None = None
    think_s: float | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    """Those of `_TABLES` that it has of its own."""
    options: tuple[str, ...] = ()
    """Of its workload, as `name=value`."""


def is_mix(words: Sequence[str]) -> bool:
    """Whether several workloads are asked for, or one as a member of a mix is written.

    Raises:
        UsageError: one of them is the URL of a target.
    """
    for word in words[1:]:
        if "://" in word:  # a target without its option; it may hold a password
            raise click.UsageError(f"got unexpected extra argument ({word})")
    return len(words) > 1 or (":" in words[0] and "://" not in words[0])


def members_of(words: Sequence[str]) -> tuple[Member, ...]:
    """The members as they were written; one that has no users of its own has a weight.

    Raises:
        UsageError: names the member, and the part of it that cannot be.
    """
    if len(words) > _MOST_MEMBERS:
        raise click.UsageError(f"{len(words)} workloads at once are too many: at most 64")
    members = tuple(_member(word) for word in words)
    names = [member.name for member in members]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(
                f"{name} is there twice: give one another name, as {name}:as=report"
            )
    return members


def _member(word: str) -> Member:
    workload, _, rest = word.partition(":")
    pairs: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        name, equals, value = (each.strip() for each in part.partition("="))
        name = name.replace("-", "_")
        if not equals or not name or not value:
            raise _unfit(word, f"'{part}': write NAME=VALUE, as users=2 or range_size=1000")
        if name in pairs:
            raise _unfit(word, f"{name} is there twice")
        pairs[name] = value
    try:
        return _made(workload, pairs)
    except click.BadParameter as error:
        raise _unfit(word, error.message) from error


def _made(workload: str, pairs: Mapping[str, str]) -> Member:
    is_file = workload.endswith(".toml")
    name = pairs.get("as", PurePath(workload).stem if is_file else workload)
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        said = f"as={name}: a name has letters, digits, dots, dashes and underscores"
        raise click.BadParameter(said)
    users = _converted(pairs, "users", _USERS)
    weight = _weight(pairs["weight"]) if "weight" in pairs else None
    think_s = _converted(pairs, "think", THINK_TIME)
    if users is not None and weight is not None:
        raise click.BadParameter("it has either users of its own or a weight")
    if think_s is not None and users is None:
        raise click.BadParameter("think is of users of its own: --think-time is of all others")
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
    """The value as its type has it; `None` where it is not there."""
    if key not in pairs:
        return None
    try:
        return kind.convert(pairs[key], None, None)
    except click.BadParameter as error:
        raise click.BadParameter(f"{key}: {error.message}") from error


def _weight(text: str) -> float:
    try:
        weight = float(text.removesuffix("%"))
    except ValueError:
        weight = 0.0
    if not 0 < weight <= _HEAVIEST:
        raise click.BadParameter(f"weight: '{text}' is not a number above 0, as 9 or 0.5")
    return weight


def _unfit(word: str, why: str) -> click.UsageError:
    return click.UsageError(f"{word}: {why}")


def ladder_of(
    members: Sequence[Member], asked: tuple[int, ...] | None, few: int
) -> tuple[int, ...]:
    """All users of each step: those that are asked for, and beside them the members' own.

    Args:
        members: of the mix.
        asked: with --concurrency, users that no member has for itself.
        few: how many of those there are where nobody asked.

    Raises:
        UsageError: users were asked for, and none would be left without a workload.
    """
    own = sum(member.users or 0 for member in members)
    if all(member.users for member in members):
        if asked:
            raise click.UsageError(
                "--concurrency is of workloads without users of their own: leave it out, or write"
                " one of them without users="
            )
        return (own,)
    return tuple(users + own for users in asked or (few,))
