"""What the variants of an experiment promise of a commit: where that differs, so does the work.

Rates of a server that may lose commits are no rates of one that may not; that is said before any
figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.lab.variants import place_of
from loadstone.model.experiment import Experiment

Variables = Mapping[str, str]

_ONES = ("ON", "YES", "TRUE")
_NOUGHTS = ("OFF", "NO", "FALSE")

_MEANINGS = {
    "log_bin": "without a binary log a commit is written once, and nothing can be replicated",
    "innodb_flush_log_at_trx_commit": (
        "1 has each commit on the disk; with 2 a power cut loses about a second of commits, with 0 "
        "a crash of the server does as well"
    ),
    "sync_binlog": (
        "1 has each commit's binary log on the disk; with 0, or with N after every N groups, a "
        "power cut loses what came since, and replicas part from their primary"
    ),
    "innodb_doublewrite": "without it a page that was half written when the power went is lost",
    "rpl_semi_sync_master_enabled": "with it a commit waits until a replica has it",
    "rpl_semi_sync_source_enabled": "with it a commit waits until a replica has it",
}
"""What decides whether a commit lasts, the weightiest first."""

_LASTING = {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"}


def variables_of_variants(
    experiment: Experiment, targets: Sequence[Mapping[str, Any]]
) -> dict[str, Variables]:
    """By variant, the variables under which its steps ran.

    `targets`: those of environment.json, one for each server in the order in which the variants
    come to it; what a variant sets itself was set after it was asked.
    """
    keys: dict[str, int] = {}
    found: dict[str, Variables] = {}
    for variant in experiment.variants:
        place = place_of(experiment, variant)
        at = keys.setdefault(place.key, len(keys))
        said = targets[at].get("variables", {}) if at < len(targets) else {}
        given = place.sandbox.settings if place.sandbox else {}
        found[variant.name] = {**said, **given, **variant.dynamic}
    return found


def warnings(variants: Mapping[str, Variables]) -> list[str]:
    """Where durability differs, and where all may lose commits alike."""
    differing: list[str] = []
    relaxed: list[str] = []
    for name, meaning in _MEANINGS.items():
        by_value: dict[str, list[str]] = {}
        for variant, variables in variants.items():
            if name in variables:
                by_value.setdefault(_value(variables[name]), []).append(variant)
        if len(by_value) > 1:
            said = ", ".join(f"{value} ({', '.join(who)})" for value, who in by_value.items())
            differing.append(f"durability differs, {name}: {said}: {meaning}")
        elif name in _LASTING and by_value and _LASTING[name] not in by_value:
            relaxed.append(f"{name} = {next(iter(by_value))}")
    if relaxed:
        differing.append(f"no variant has each commit on the disk: {', '.join(relaxed)}")
    return differing


def _value(said: str) -> str:
    """Switches are told as words by some and as numbers by others."""
    if said.upper() in _ONES:
        return "1"
    return "0" if said.upper() in _NOUGHTS else said
