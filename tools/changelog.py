"""CHANGELOG.md by version, newest first: https://keepachangelog.com/en/1.1.0/."""

from __future__ import annotations

import re
from datetime import date

UNRELEASED = "## Unreleased"
_HEADING = re.compile(r"^## .*$", re.MULTILINE)


class ChangelogError(ValueError):
    """The changelog does not have what a release needs; the message says what."""


def notes_of(text: str, version: str) -> str:
    """The part of a version, without its heading.

    Raises:
        ChangelogError: it has no such part, or nothing in it.
    """
    return _part(text, f"## [{version}]")


def released(text: str, version: str, day: date) -> str:
    """The changelog with "Unreleased" turned into that version, and an empty "Unreleased" above.

    Raises:
        ChangelogError: nothing is unreleased, or the version is there already.
    """
    if f"\n## [{version}]" in text:
        raise ChangelogError(f"CHANGELOG.md has a part for {version} already")
    _part(text, UNRELEASED)
    heading = f"{UNRELEASED}\n\n## [{version}] - {day.isoformat()}"
    return text.replace(UNRELEASED, heading, 1)


def _part(text: str, heading: str) -> str:
    begins = re.search(rf"^{re.escape(heading)}.*$", text, re.MULTILINE)
    if begins is None:
        raise ChangelogError(f"CHANGELOG.md has no '{heading}'")
    following = _HEADING.search(text, begins.end())
    content = text[begins.end() : following.start() if following else None].strip()
    if not content:
        raise ChangelogError(f"CHANGELOG.md has nothing below '{heading}'")
    return f"{content}\n"
