"""What the page has in common with the report, so that both look and speak alike.

The page has its English in its own scripts and changes languages while it is open; where the report
says the same, the other languages' words are the report's.
"""

from __future__ import annotations

from typing import Any

from loadstone.report.figures.palette import themes
from loadstone.report.words import ENGLISH, LANGUAGES, Messages

TEXTS = (
    "against",
    "connections",
    "cpu_iowait",
    "cpu_sys",
    "cpu_user",
    "due_rate",
    "errors",
    "events_per_s",
    "evidence",
    "explains",
    "findings",
    "ladder",
    "many_users",
    "more_repeats",
    "notes",
    "one_user",
    "p95",
    "p95_ms",
    "p99",
    "p99_ms",
    "proof",
    "qps",
    "remedy",
    "seconds",
    "star",
    "state",
    "statements_per_s",
    "step_number",
    "sure",
    "threshold",
    "tps",
    "users_axis",
    "variant",
    "warmup",
    "weight",
    "what",
)
"""Texts of the report's catalogue that the page uses as they are."""

NAMES = ("causes", "groups", "proof_verdicts", "states", "verdict_words", "weights")
"""Tables of the catalogue: what something is called that has a name of its own in the data."""


def shared() -> dict[str, Any]:
    """The figures' colours; by language the texts by the English one, and the tables of names."""
    return {
        "themes": themes(),
        "texts": {lang: _texts(words) for lang, words in LANGUAGES.items()},
        "names": {
            lang: {table: dict(getattr(words, table)) for table in NAMES}
            for lang, words in LANGUAGES.items()
        },
    }


def _texts(words: Messages) -> dict[str, str]:
    return {getattr(ENGLISH, field): getattr(words, field) for field in TEXTS}
