"""What counters of statements say of transactions."""

from __future__ import annotations

CHANGES_MOST = 100
"""[P] Statements that change something in a transaction of which somebody says COMMIT."""
