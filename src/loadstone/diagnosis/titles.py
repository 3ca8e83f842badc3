"""The titles of causes in reports."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis import unexplained
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.model.message import Message

TITLES: Mapping[str, Message] = {
    cause: title
    for rules in RULES_OF.values()
    for rule in rules
    for cause, title in rule.titles.items()
} | dict(unexplained.TITLES)
"""By cause: each rule brings the titles of the causes that it may return."""
