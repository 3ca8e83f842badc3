"""Templates that come with the program, to be driven or copied."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

ENDING = ".toml"


@cache
def bundled() -> tuple[str, ...]:
    """The names of the bundled templates."""
    found = (each.name for each in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(ENDING) for name in found if name.endswith(ENDING)))


def text_of_bundled(name: str) -> str:
    """The text of a bundled template's file."""
    return files(__package__).joinpath(f"{name}{ENDING}").read_text(encoding="utf-8")
