"""What causes are called in reports."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis import unexplained
from loadstone.diagnosis.rules import RULES_OF
from loadstone.model.message import Message

TITLES: Mapping[str, Message] = {
    cause: title
    for rules in RULES_OF.values()
    for rule in rules
    for cause, title in rule.titles.items()
} | dict(unexplained.TITLES)
"""By cause: a rule brings the titles of the causes that it names."""
