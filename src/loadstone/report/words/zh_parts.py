"""Parts of Chinese sentences that more than one table needs."""

from __future__ import annotations

from loadstone.report.words.phrases import one_of
from loadstone.report.words.zh import CHINESE

USERS = one_of({"1 user": "1 并发", "{number} users": "{number} 并发"})

END = {".": "。"}
"""The end of a sentence to which nothing was added."""

RESOURCES = {str(name): told for name, told in CHINESE.resources.items()}
"""Everything that has a ceiling."""
