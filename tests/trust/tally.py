"""Counts what a running test has tried; tests/trust/conftest.py stores it."""

from __future__ import annotations

from collections import Counter

COUNTS: Counter[str] = Counter()
"""Counts by the words under which they are shown."""
