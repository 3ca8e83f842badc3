"""Loadstone drives load against MySQL and its family, and says what the numbers are worth."""

__version__ = "0.1.0"
