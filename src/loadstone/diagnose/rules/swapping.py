"""The host has too little memory."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.words import num
from loadstone.model.finding import Finding

PAGES = 100.0
"""[P] pages a second to and from swap: USE's saturation of memory is any; a few are history."""


def judge(case: Case) -> Finding | None:
    """Pages go to swap and come back."""
    into = case.needed(case.host_rate("memory.swap_in_pages"))
    out = case.needed(case.host_rate("memory.swap_out_pages"))
    if into < PAGES or out < PAGES / 10:
        return None
    return Finding(
        cause="swapping",
        group="ceiling",
        sentence=f"The server's host swaps: {num(into)} pages/s come back, {num(out)} go.",
        evidence=(case.seen("memory.swap_in_pages", into, "pages/s", PAGES),),
        share=None,
        confidence=0.8,
        remedy="A smaller innodb_buffer_pool_size or fewer connections, or more memory.",
    )


RULE = Rule("swapping", judge)
