"""A review of a server's settings for a benchmark: what makes its figures unfair, slow or odd.

Each rule looks at the variables as the server reports them and at its machine, and says what it
found, why that matters and what to write instead. A variable that the server does not have is not
a finding. On a managed service advice says where its users set a parameter, as nobody else writes
the server's configuration file; and settings in whose place the service's storage decides are not
judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loadstone.analyse.advice import Advice, Machine, Server
from loadstone.analyse.known_settings import KNOWN
from loadstone.analyse.meaning import WEIGHTS
from loadstone.model.error_codes import MYSQL
from loadstone.model.managed import SERVICES, Managed, managed_by
from loadstone.model.message import Message, say


def review(variables: Mapping[str, str], machine: Machine, family: str = MYSQL) -> list[Advice]:
    """All advice, starting with what makes figures unfair."""
    left_out = KNOWN[family].not_judged(variables)
    service = managed_by(variables)
    found = [
        replace(advice, how=_how(advice, service, family)) if service else advice
        for advice in _by_all_rules(variables, machine, family)
        if advice.variable not in left_out
    ]
    return sorted(found, key=lambda advice: WEIGHTS.index(advice.weight))


def not_judged(variables: Mapping[str, str], machine: Machine, family: str = MYSQL) -> list[str]:
    """What the rules say nothing about, as a managed service's storage decides: `name = value`."""
    left_out = KNOWN[family].not_judged(variables)
    found = _by_all_rules(variables, machine, family)
    told = (f"{one.variable} = {one.value}" for one in found if one.variable in left_out)
    return list(dict.fromkeys(told))


def _by_all_rules(variables: Mapping[str, str], machine: Machine, family: str) -> list[Advice]:
    server = Server(variables, machine)
    return [advice for rule in KNOWN[family].rules for advice in rule(server)]


def _how(advice: Advice, managed: Managed, family: str) -> Message | None:
    """Where users of a managed service set what is advised; `None`: nothing is to be set."""
    if advice.wanted is None:
        return None
    service, known = SERVICES[managed], KNOWN[family]
    if advice.variable in known.of_provider.get(managed, ()):
        return say("only the provider can set this")
    written = known.written_there.get(managed, {}).get(advice.variable)
    setting = written or f"{advice.variable} = {{wanted}}"
    told = {"place": service.place, "setting": setting.format(wanted=advice.wanted)}
    if advice.restart:
        return say("set it in {place}: {setting} (needs a reboot)", **told)
    return say("set it in {place}: {setting} (dynamic)", **told)


def fragment(found: list[Advice], family: str = MYSQL) -> str:
    """The advice as lines for the configuration file, those that need a restart last.

    It is empty for servers of managed services, whose users write no such file.
    """
    lines = [advice for advice in found if advice.wanted is not None and advice.how is None]
    if not lines:
        return ""
    lines.sort(key=lambda advice: advice.restart)
    text = list(KNOWN[family].fragment_head)
    for advice in lines:
        restart = "  # at the server's start" if advice.restart else ""
        text.append(f"{advice.variable} = {advice.wanted}{restart}")
    return "\n".join(text) + "\n"
