"""The settings that a review advises against, of which a run shows no effect."""

from __future__ import annotations

from collections.abc import Collection

from loadstone.analyse.run_machine import machine_of
from loadstone.analyse.settings_review import review
from loadstone.diagnosis.context import Case
from loadstone.model.finding import WithoutEffect


def without_effect(case: Case, silent: Collection[str]) -> tuple[WithoutEffect, ...]:
    """Those that `loadstone check` would advise against, in its order.

    `silent`: the causes that were evaluated at all levels and found at none. A setting that no rule
    looks at, or one that was not evaluated, is left out: nothing is known of its effect.
    """
    machine = machine_of(case.step, case.environment, case.limits)
    return tuple(
        WithoutEffect(variable=one.variable, value=one.value, cause=one.cause)
        for one in review(case.variables or {}, machine, case.family)
        if one.cause is not None and one.cause in silent
    )
