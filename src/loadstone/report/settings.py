"""The review of a server's settings as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.advice import Advice, Machine
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.names import ADVICE_WEIGHTS
from loadstone.report.text import WIDTH
from loadstone.report.wrapping import filled_to, wrapped

_INDENT = 8


def as_text(
    found: Sequence[Advice], fragment: str, machine: Machine, words: Language = ENGLISH
) -> str:
    """One paragraph a line of advice, then what to write into my.cnf."""
    lines = [line for advice in found for line in _lines(advice, words)]
    if not found:
        lines.append(words(say("nothing to change: these settings suit a benchmark")))
    if machine.memory_bytes is None:
        head = filled_to(words(ADVICE_WEIGHTS["note"]), _INDENT)
        said = say("memory and disk not evaluated: the server is not on this machine")
        lines.append(f"{head}{words(said)}")
    if fragment:
        lines += ["", fragment.rstrip()]
    return "\n".join(lines) + "\n"


def _lines(advice: Advice, words: Language) -> Iterator[str]:
    said = words.pair(f"{advice.variable} = {advice.value}", words(advice.why))
    head = filled_to(words(ADVICE_WEIGHTS[advice.weight]), _INDENT)
    yield from wrapped(said, WIDTH, head, " " * _INDENT)
