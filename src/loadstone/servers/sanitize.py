"""Sanitises text from a server before it is displayed.

A server may be hostile, or broken: its text must neither control a terminal nor fill it.
"""

from __future__ import annotations

MOST_CHARACTERS = 64 * 1024
"""Longer text is cut off; no variable and no message of a real server comes near this."""


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text without control characters other than line ends and tabs, at most `most` long."""
    if text.isprintable() and len(text) <= most:
        return text
    kept = (each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text[:most])
    return "".join(kept) + ("…" if len(text) > most else "")
