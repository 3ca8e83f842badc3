"""The recipe of a run, as in run.json: enough to show its answer again."""

from __future__ import annotations

from loadstone.model.frozen import Frozen


class RecipeAsked(Frozen):
    """The arguments of `loadstone recipes run`."""

    name: str
    quick: bool
    given: tuple[str, ...] = ()
    """The options as `key=value`; URLs with a password were refused before."""
    as_root: bool
    """Whether it ran as root; without, some recipes do something else."""
