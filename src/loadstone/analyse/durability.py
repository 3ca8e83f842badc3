"""The durability of commits in the variants of an experiment.

The rates of a server that may lose commits cannot be compared with those of one that may not. A
difference is reported before any figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from loadstone.analyse.known_settings import KNOWN, KnownSettings, by_newest_name
from loadstone.experiments.variants import place_of
from loadstone.model.experiment import Experiment
from loadstone.model.message import Joined, Message, say
from loadstone.model.target_url import family_in

Variables = Mapping[str, str]


class VariantSettings(NamedTuple):
    """The settings of a variant's server, and its family."""

    family: str
    variables: Variables


_ONES = ("ON", "YES", "TRUE")
_ZEROS = ("OFF", "NO", "FALSE")


def settings_of_variants(
    experiment: Experiment, targets: Sequence[Mapping[str, Any]]
) -> dict[str, VariantSettings]:
    """The settings under which the steps of each variant ran, by the variant's name.

    `targets` are those of environment.json, one for each server, in the order in which the variants
    first use it. They were read before a variant's own settings were applied.
    """
    keys: dict[str, int] = {}
    found: dict[str, VariantSettings] = {}
    for variant in experiment.variants:
        place = place_of(experiment, variant)
        at = keys.setdefault(place.key, len(keys))
        said = targets[at].get("variables", {}) if at < len(targets) else {}
        given = place.sandbox.settings if place.sandbox else {}
        family = family_in(str(targets[at].get("target", "")) if at < len(targets) else "")
        variables = by_newest_name(
            {**said, **given, **variant.dynamic, **variant.per_session}, family
        )
        found[variant.name] = VariantSettings(family, variables)
    return found


def warnings(variants: Mapping[str, VariantSettings]) -> list[Message]:
    """Warnings where durability differs between variants, or where all of them may lose commits."""
    differing: list[Message] = []
    relaxed: list[str] = []
    families = dict.fromkeys(one.family for one in variants.values())
    for family in families:
        theirs = {name: one.variables for name, one in variants.items() if one.family == family}
        _compare(KNOWN[family], theirs, differing, relaxed)
    if len(families) > 1:
        return [*differing, *_between_families(variants)]
    if relaxed:
        differing.append(
            say("no variant has each commit on disk: {settings}", settings=Joined(relaxed))
        )
    return differing


def _between_families(variants: Mapping[str, VariantSettings]) -> Iterator[Message]:
    """A warning where only some of the servers may lose commits, by settings that others lack."""
    losing = {name: KNOWN[one.family].losing(one.variables) for name, one in variants.items()}
    if not any(losing.values()) or all(losing.values()):
        return
    which = Joined(
        say("{value} ({variants})", value=Joined(settings), variants=name)
        for name, settings in losing.items()
        if settings
    )
    yield say("durability differs: with {settings} a crash may lose commits", settings=which)


def _compare(
    known: KnownSettings,
    variants: Mapping[str, Variables],
    differing: list[Message],
    relaxed: list[str],
) -> None:
    for name in known.deciding:
        by_value: dict[str, list[str]] = {}
        said: dict[str, str] = {}
        for variant, variables in variants.items():
            if name in variables and name not in known.not_judged(variables):
                value = _value(variables[name])
                by_value.setdefault(value, []).append(variant)
                said.setdefault(value, variables[name].lower())
        if len(by_value) > 1:
            values = Joined(
                say("{value} ({variants})", value=_shown(value, said), variants=Joined(who))
                for value, who in by_value.items()
            )
            differing.append(
                say(
                    "durability differs: {name} is {values}; {meaning}",
                    name=name,
                    values=values,
                    meaning=known.meanings[name].durability,
                )
            )
        elif name in known.lasting and by_value and known.lasting[name] not in by_value:
            relaxed.append(f"{name} = {_shown(next(iter(by_value)), said)}")


def _shown(value: str, said: Mapping[str, str]) -> str:
    """The value as servers write it; a number where one of them writes a number."""
    return value if any(one.isdecimal() for one in said.values()) else said[value]


def _value(said: str) -> str:
    """The value, with a switch as `1` or `0`: some servers write switches as words."""
    if said.upper() in _ONES:
        return "1"
    return "0" if said.upper() in _ZEROS else said
