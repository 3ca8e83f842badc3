"""The durability of commits in the variants of an experiment.

The rates of a server that may lose commits cannot be compared with those of one that may not. A
difference is reported before any figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.analyse.known_settings import KNOWN, KnownSettings, by_newest_name
from loadstone.experiments.variants import place_of
from loadstone.model.experiment import Experiment
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import family_in

Variables = Mapping[str, str]

_ONES = ("ON", "YES", "TRUE")
_ZEROS = ("OFF", "NO", "FALSE")


def variables_of_variants(
    experiment: Experiment, targets: Sequence[Mapping[str, Any]]
) -> dict[str, Variables]:
    """The variables under which the steps of each variant ran, by the variant's name.

    `targets` are those of environment.json, one for each server, in the order in which the variants
    first use it. They were read before a variant's own settings were applied.
    """
    keys: dict[str, int] = {}
    found: dict[str, Variables] = {}
    for variant in experiment.variants:
        place = place_of(experiment, variant)
        at = keys.setdefault(place.key, len(keys))
        said = targets[at].get("variables", {}) if at < len(targets) else {}
        given = place.sandbox.settings if place.sandbox else {}
        family = family_in(str(targets[at].get("target", "")) if at < len(targets) else "")
        found[variant.name] = by_newest_name({**said, **given, **variant.dynamic}, family)
    return found


def warnings(variants: Mapping[str, Variables]) -> list[Message]:
    """Warnings where durability differs between variants, or where all of them may lose commits."""
    differing: list[Message] = []
    relaxed: list[str] = []
    for known in KNOWN.values():
        _compare(known, variants, differing, relaxed)
    if relaxed:
        differing.append(
            say("no variant has each commit on disk: {settings}", settings=Joined(relaxed))
        )
    return differing


def _compare(
    known: KnownSettings,
    variants: Mapping[str, Variables],
    differing: list[Message],
    relaxed: list[str],
) -> None:
    for name in known.deciding:
        by_value: dict[str, list[str]] = {}
        for variant, variables in variants.items():
            if name in variables:
                by_value.setdefault(_value(variables[name]), []).append(variant)
        if len(by_value) > 1:
            values = Joined(
                say("{value} ({variants})", value=value, variants=Joined(who))
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
            relaxed.append(f"{name} = {next(iter(by_value))}")


def _value(said: str) -> str:
    """The value, with a switch as `1` or `0`: some servers write switches as words."""
    if said.upper() in _ONES:
        return "1"
    return "0" if said.upper() in _ZEROS else said
