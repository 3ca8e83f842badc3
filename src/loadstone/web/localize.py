"""Translations of English sentences about a run, for a page that can switch languages.

The page gets the English text together with its translations, because its language may be switched
while it is open.
"""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.model.language import Lang, translating
from loadstone.model.result import StepResult
from loadstone.report.notes import step_notes

Translations = dict[str, dict[Lang, str]]
"""Maps an English sentence to its text by language; missing translations are left out."""


def translations(texts: Iterable[str]) -> Translations:
    """Translations of the program's messages; text from a server or a user has none."""
    found = {
        text: {one.code: one(text) for one in translating() if one.knows(text)} for text in texts
    }
    return {text: others for text, others in found.items() if others}


def translated_notes(steps: Iterable[StepResult]) -> Translations:
    """Translations of the steps' notes, in the report's wording."""
    return translations(note for step in steps for note in step_notes(step))
