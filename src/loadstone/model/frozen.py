"""What all types at a border have in common: they do not change, and they refuse unknown keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that was checked once and does not change afterwards."""

    # A command uses a few of many types: building the validators of all would slow its start.
    # What is no number, or has no end, is of a damaged file: no limit would refuse it later.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)
