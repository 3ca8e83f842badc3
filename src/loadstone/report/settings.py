"""The review of a server's settings as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.analyse.advice import Advice, Machine
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.lines import lines_of, unbroken
from loadstone.report.names import ADVICE_WEIGHTS
from loadstone.report.wrapping import filled_to

_INDENT = 8


def as_renderable(
    found: Sequence[Advice], fragment: str, machine: Machine, words: Language = ENGLISH
) -> RenderableType:
    """One paragraph a line of advice, then what to write into the configuration file."""
    lines = [_advice(advice, words) for advice in found]
    if not found:
        lines.append(words(say("nothing to change: these settings suit a benchmark")))
    if machine.memory_bytes is None:
        head = filled_to(words(ADVICE_WEIGHTS["note"]), _INDENT)
        said = say("memory and disk not evaluated: the server is not on this machine")
        lines.append(f"{head}{words(said)}")
    to_copy = [Text(), unbroken(fragment.rstrip())] if fragment else []
    return Group(*lines_of(lines), *to_copy)


def _advice(advice: Advice, words: Language) -> str:
    said = words.pair(f"{advice.variable} = {advice.value}", words(advice.why))
    head = filled_to(words(ADVICE_WEIGHTS[advice.weight]), _INDENT)
    return f"{head}{said}"
