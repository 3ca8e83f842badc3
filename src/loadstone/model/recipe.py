"""Which recipe a run is of, as run.json has it: enough to tell again what it answers."""

from __future__ import annotations

from loadstone.model.frozen import Frozen


class RecipeAsked(Frozen):
    """What `loadstone recipes run` was asked for."""

    name: str
    quick: bool
    given: tuple[str, ...] = ()
    """`key=value` as they were set; a URL with a password is refused before."""
    as_root: bool
    """Some do something else without."""
