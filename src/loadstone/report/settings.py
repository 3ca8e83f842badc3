"""The review of a server's settings as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from loadstone.analyse.advice import Advice, Machine
from loadstone.report.text import WIDTH

_INDENT = 8


def as_text(found: Sequence[Advice], fragment: str, machine: Machine) -> str:
    """One paragraph a line of advice, then what to write into my.cnf."""
    lines = [line for advice in found for line in _lines(advice)]
    if not found:
        lines.append("nothing to say: these settings suit a benchmark")
    if machine.memory_bytes is None:
        lines.append("note    memory and disk not evaluated: the server is not on this machine")
    if fragment:
        lines += ["", fragment.rstrip()]
    return "\n".join(lines) + "\n"


def _lines(advice: Advice) -> Iterator[str]:
    said = f"{advice.variable} = {advice.value}: {advice.why}"
    yield from textwrap.wrap(
        said,
        WIDTH,
        initial_indent=f"{advice.weight:<{_INDENT}}",
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
