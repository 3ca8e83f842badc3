"""What MySQL 5.7 does not say of itself: which variables have another value than it was built with.

The values are those that 5.7.22 names in `mysqld --no-defaults --verbose --help`, without those
that it derives from the host, and of settings that may decide how fast it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from loadstone.model.compatible import Flavour

_FLAGS = "optimizer_switch"


def is_57(version: str, flavour: Flavour) -> bool:
    """Whether it is a release of 5.7, of Percona Server too; others bear its number."""
    return version.startswith("5.7.") and flavour in ("mysql", "percona")


def changed_on_57(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Names of variables that have other values, in the order of the alphabet."""
    text = resources.files(__package__).joinpath("defaults_5_7.json").read_text()
    defaults: dict[str, str] = json.loads(text)
    return tuple(
        name
        for name, default in defaults.items()
        if name in variables and not _is_alike(name, variables[name], default)
    )


def _is_alike(name: str, value: str, default: str) -> bool:
    if name == _FLAGS:  # later releases have more of them
        return set(default.split(",")) <= set(value.split(","))
    try:
        return float(value) == float(default)
    except ValueError:
        return value.upper() == default.upper()
