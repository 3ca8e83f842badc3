"""`--phases "warm 60s 16, ramp 120s 16..256, spike 30s 1024"`: how the load goes over a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from loadstone.model.plan import Phase


class Phases(click.ParamType[tuple["Phase", ...]]):
    """Phases one after the other, between commas: a name, a time, and users or a rate."""

    name = "NAME TIME LEVEL,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Phase, ...]:
        """The phases, in the order given; all of users, or all of rates."""
        from loadstone.config.phases import phases

        if isinstance(value, tuple):
            return value
        try:
            return phases(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
