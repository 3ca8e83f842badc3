"""Loadstone drives load against MySQL-compatible servers, and judges how reliable figures are."""

from importlib import import_module

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
"""The public names for scripts and notebooks, with their modules. They are imported on first use:
the command line starts without them, and packages that only need the version do not depend on the
report."""


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562); `__init__.pyi` has the types.

    The number of the version is in Cargo.toml alone, and the engine is compiled with it.
    """
    if name == "__version__":
        return import_module("loadstone._engine").version()
    if name not in _API:
        raise AttributeError(f"module 'loadstone' has no attribute '{name}'")
    return getattr(import_module(_API[name]), name)
