"""What the error of an account may be."""

from __future__ import annotations

import math

from loadstone.model.account import Account


def unexplained(account: Account) -> float:
    """By how much the places come to more than all time and their own intervals together."""
    halves = [one.share - one.low for one in account.entries if one.low is not None]
    return account.beyond - math.hypot(*halves)
