"""The review of a server's settings as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.analyse.advice import Advice, Machine
from loadstone.model.language import ENGLISH, Language
from loadstone.model.managed import SERVICES, Managed
from loadstone.model.message import Joined, say
from loadstone.report.lines import lines_of, unbroken
from loadstone.report.names import ADVICE_WEIGHTS
from loadstone.report.standing import Labelled
from loadstone.report.wrapping import filled_to

_INDENT = 8


@dataclass(frozen=True)
class Reviewed:
    """The review of a server's settings."""

    advice: Sequence[Advice]
    fragment: str
    machine: Machine
    not_judged: Sequence[str] = ()
    """Settings in whose place a managed service's storage decides: `name = value`."""
    managed: Managed | None = None


def as_renderable(
    reviewed: Reviewed, after: Iterable[Labelled] = (), words: Language = ENGLISH
) -> RenderableType:
    """One paragraph a line of advice, then lines `after` it, then what to write into the file."""
    found, fragment, machine = reviewed.advice, reviewed.fragment, reviewed.machine
    lines = [_advice(advice, words) for advice in found]
    if reviewed.not_judged and reviewed.managed:
        said = say(
            "not evaluated: {service}'s storage decides in place of {settings}",
            service=SERVICES[reviewed.managed].name,
            settings=Joined(reviewed.not_judged),
        )
        lines += labelled([(ADVICE_WEIGHTS["note"], said)], words)
    if not found:
        lines.append(words(say("nothing to change: these settings suit a benchmark")))
    if machine.memory_bytes is None:
        head = filled_to(words(ADVICE_WEIGHTS["note"]), _INDENT)
        said = say("memory and disk not evaluated: the server is not on this machine")
        lines.append(f"{head}{words(said)}")
    lines += labelled(after, words)
    to_copy = [Text(), unbroken(fragment.rstrip())] if fragment else []
    return Group(*lines_of(lines), *to_copy)


def labelled(lines: Iterable[Labelled], words: Language) -> list[str]:
    """Lines with their first words in a column."""
    return [f"{filled_to(words(label), _INDENT)}{words(said)}" for label, said in lines]


def _advice(advice: Advice, words: Language) -> str:
    said = words.pair(f"{advice.variable} = {advice.value}", words(advice.said))
    head = filled_to(words(ADVICE_WEIGHTS[advice.weight]), _INDENT)
    return f"{head}{said}"
