"""Finds the rules: each file in a folder of rules brings its own, so a new cause is a new file."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from loadstone.diagnosis.rule import Rule


def rules_in(package: ModuleType) -> tuple[Rule, ...]:
    """The rules of a package's modules, by module name, then in the order of their definition.

    Packages within it are other families' and left out. The order only matters where two findings
    have the same weight.
    """
    modules = (
        import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if not found.ispkg
    )
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Rule)
    )
