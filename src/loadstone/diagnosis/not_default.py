"""Settings that somebody has changed, where no more than a resource is known.

What a rule has read it has judged: where it found nothing, the setting is not the cause by that
rule. Of the others those are named that may matter for speed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loadstone.analyse.environment_diff import target_of
from loadstone.analyse.known_settings import KNOWN
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.unexplained import UNEXPLAINED
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, say, sentences

LAST_RESORTS = ("cpu-bound", "few-users", "one-hot-core", UNEXPLAINED)
"""Causes that name what is used up, and not by what."""

_READS_TOO_MUCH = "missing-index"
"""The cause that a plan may have as well, which settings chose."""

_OF_PLANS = re.compile(r"optimizer|join|seek|_dive|condition_|histogram|^enable_|_cost$|statistics")

_MOST = 6
"""[P] Settings that a sentence may have."""

_LONGEST = 40
"""Characters of a value that a sentence may have."""


def with_changed_settings(finding: Finding, case: Case) -> Finding:
    """The finding, with settings to look at in its remedy if it names no more than a resource."""
    changed = _unjudged(case) if finding.cause in (*LAST_RESORTS, _READS_TOO_MUCH) else []
    if finding.cause == _READS_TOO_MUCH:
        changed = [name for name in changed if _OF_PLANS.search(name)]
    if not changed:
        return finding
    said = say(
        "Look also at settings that were changed on this server: {settings}.",
        settings=Joined([_shown(name, case) for name in changed[:_MOST]]),
    )
    remedy = sentences(finding.remedy, said) if finding.remedy else said
    return finding.model_copy(update={"remedy": remedy})


def _shown(name: str, case: Case) -> str:
    value = case.variable(name) or ""
    return f"{name}={value}" if len(value) <= _LONGEST else name


def _unjudged(case: Case) -> Sequence[str]:
    target = target_of(case.environment, case.step.variant, [case.step])
    known = KNOWN[case.family]
    judged = {str(what.values["variable"]) for what in case.reads if "variable" in what.values}
    return [
        name
        for name in target.get("not_default") or ()
        if (name not in judged or name in known.read_alone) and known.is_suspect(name)
    ]
