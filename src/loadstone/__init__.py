"""Loadstone drives load against MySQL and its family, and says what the numbers are worth."""

from importlib import import_module

__version__ = "0.1.0"

_API = {
    "Run": "loadstone.report.opened",
    "open_run": "loadstone.report.opened",
    "run": "loadstone.api",
    "experiment": "loadstone.api",
    "compare": "loadstone.api",
    "diagnose": "loadstone.api",
    "prove": "loadstone.api",
    "LoadstoneError": "loadstone.model.errors",
}
"""What scripts and notebooks use, and where it is. It is imported when it is asked for: the command
line starts without it, and packages that only want the version do not depend on the report."""


def __getattr__(name: str) -> object:
    """PEP 562; `__init__.pyi` has the types."""
    if name not in _API:
        raise AttributeError(f"module 'loadstone' has no attribute '{name}'")
    return getattr(import_module(_API[name]), name)
