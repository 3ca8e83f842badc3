"""A review of a server's settings for a benchmark: what makes its figures unfair, slow or odd.

Each rule looks at the variables as the server reports them and at its machine, and says what it
found, why that matters and what to write instead. A variable that the server does not have is not
a finding.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.advice import Advice, Machine, Server
from loadstone.analyse.known_settings import KNOWN
from loadstone.analyse.meaning import WEIGHTS
from loadstone.model.error_codes import MYSQL


def review(variables: Mapping[str, str], machine: Machine, family: str = MYSQL) -> list[Advice]:
    """All advice, starting with what makes figures unfair."""
    server = Server(variables, machine)
    found = [advice for rule in KNOWN[family].rules for advice in rule(server)]
    return sorted(found, key=lambda advice: WEIGHTS.index(advice.weight))


def fragment(found: list[Advice], family: str = MYSQL) -> str:
    """The advice as lines for the configuration file, those that need a restart last."""
    lines = [advice for advice in found if advice.wanted is not None]
    if not lines:
        return ""
    lines.sort(key=lambda advice: advice.restart)
    text = list(KNOWN[family].fragment_head)
    for advice in lines:
        restart = "  # at the server's start" if advice.restart else ""
        text.append(f"{advice.variable} = {advice.wanted}{restart}")
    return "\n".join(text) + "\n"
