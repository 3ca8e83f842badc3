"""How much was tried, in a test that is under way; tests/trust/conftest.py keeps it."""

from __future__ import annotations

from collections import Counter

COUNTS: Counter[str] = Counter()
"""By what was counted, in the words in which it is shown."""
