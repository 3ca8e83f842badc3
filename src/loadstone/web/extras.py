"""What an extra of the package brings, looked for before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say

PAGE = ("starlette", "uvicorn", "prometheus_client")
"""The modules that serve the live page and the metrics endpoint: `loadstone[web]`."""


class ExtraMissing(LoadstoneError):
    """A part of Loadstone is not installed; nothing was started."""

    exit_code = ExitCode.USAGE


def need_page(what: str) -> None:
    """Check that a page can be served; `what` is the option or command that asks for one.

    Raises:
        ExtraMissing: a package of the extra is not installed.
    """
    package = first_missing(PAGE)
    if package is not None:
        raise ExtraMissing(
            say(
                "{what} needs the Python package {package}, which is not installed",
                what=what,
                package=package,
            ),
            say("pip install 'loadstone[web]'"),
        )


def first_missing(modules: Iterable[str]) -> str | None:
    """The package of the first of these modules that is not installed; `None`: all are."""
    for module in modules:
        try:
            is_there = find_spec(module) is not None
        except ModuleNotFoundError:  # of the package around it
            is_there = False
        if not is_there:
            return module.partition(".")[0]
    return None
