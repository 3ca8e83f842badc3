"""Translations of English sentences about a run, for a page that is switched between languages.

The page has the English and with it the text in other languages, as it may be switched while it is
open.
"""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.model.language import Lang, translating
from loadstone.model.result import StepResult
from loadstone.report.notes import step_notes

Translations = dict[str, dict[Lang, str]]
"""By an English sentence, and then by language; what nobody translated is left out."""


def translations(texts: Iterable[str]) -> Translations:
    """Messages of the program; what a server or a user said has none."""
    found = {
        text: {one.code: one(text) for one in translating() if one.knows(text)} for text in texts
    }
    return {text: others for text, others in found.items() if others}


def translated_notes(steps: Iterable[StepResult]) -> Translations:
    """The notes of steps, which the report words itself."""
    found: Translations = {}
    for step in steps:
        for language in translating():
            for english, other in zip(step_notes(step), step_notes(step, language), strict=True):
                if other != english:
                    found.setdefault(english, {})[language.code] = other
    return found
