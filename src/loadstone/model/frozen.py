"""The base of all types at a boundary: they are immutable, and refuse unknown keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

DEFERRED = ConfigDict(defer_build=True)
"""For the validators of a module: each is built when it is first used, not at every start."""


class Frozen(BaseModel):
    """A value that was validated once and does not change afterwards."""

    # A command uses few of the many types: building all validators would slow down its start.
    # NaN and infinity come from a damaged file, and limits would not refuse them later.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)
