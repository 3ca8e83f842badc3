"""Replaces each name by a pseudonym, the same one everywhere in a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PUBLIC = frozenset(
    (
        "",
        "localhost",
        "127.0.0.1",
        "::1",
        "loadstone",
        "sbtest",
        "root",
        "/",
        "./",
        "-",
        "ON",
        "OFF",
    )
)
"""Names that are the same everywhere, so they say nothing about anybody."""

_NUMBER = re.compile(r"[-+0-9.,:%eE ]*(ON|OFF|YES|NO|yes|no|[kKmMgG]i?B?)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?")
_DIGITS = re.compile(r"[-+]?\d+")
_PLAIN = re.compile(r"[\w.,:=+*%#&<>()\" -]*", re.ASCII)
_PRIVATE = re.compile(
    r"/|@|\\|(\d{1,3}\.){3}\d{1,3}|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,}"
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}|[0-9a-fA-F]{16}"
)


def is_number(text: str) -> bool:
    """Whether the text is a number, a size, a time or a switch; an IP address is not."""
    if _TIME.fullmatch(text) or _DIGITS.fullmatch(text):
        return True
    return _NUMBER.fullmatch(text) is not None and _PRIVATE.search(text) is None


def is_plain(text: str) -> bool:
    """Whether the text has neither a path, an address, nor an identifier in it."""
    return _PLAIN.fullmatch(text) is not None and _PRIVATE.search(text) is None


@dataclass
class Pseudonyms:
    """The pseudonyms given so far."""

    _given: dict[str, dict[str, str]] = field(default_factory=dict)
    """By kind, the pseudonym of each original."""

    def of(self, kind: str, original: str) -> str:
        """`host-1`, the same for the same original; names that say nothing stay."""
        if original in PUBLIC:
            return original
        known = self._given.setdefault(kind, {})
        return known.setdefault(original, f"{kind}-{len(known) + 1}")

    @property
    def originals(self) -> dict[str, str]:
        """The originals, each with its pseudonym."""
        return {
            original: pseudonym
            for known in self._given.values()
            for original, pseudonym in known.items()
        }
