"""Words of a server, before a person reads them.

A server may be hostile, or broken: what it says must neither drive a terminal nor fill it.
"""

from __future__ import annotations

MOST_CHARACTERS = 64 * 1024
"""Longer words are cut off; no variable and no message of a real server comes near."""


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """Without control characters but for line ends and tabs, and not longer than `most`."""
    if text.isprintable() and len(text) <= most:
        return text
    kept = (each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text[:most])
    return "".join(kept) + ("…" if len(text) > most else "")
