"""A line on stderr for what a killed run has left: commands mention it, whatever they are for."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection

from loadstone.runs.state_folder import state_folder

_SHOWN = 3


def mention_leftovers(known: Collection[str] = ()) -> frozenset[str]:
    """Name the targets whose variables are changed still, but for journals that are known.

    Journals whose maker is at work are his own matter. Returns the names of all others.
    """
    names: list[str] = []
    with contextlib.suppress(OSError):  # nothing is kept there
        names = os.listdir(state_folder() / "settings")
    return _mention(known) if any(name.endswith(".jsonl") for name in names) else frozenset()


def _mention(known: Collection[str]) -> frozenset[str]:
    """Apart, as it imports what few commands need."""
    from loadstone.lab.variables.journal import is_at_work, left_behind, settings_folder

    behind = left_behind(settings_folder())
    staged = [each for each in behind.staged if not is_at_work(each.path)]
    paths = [each.path for each in staged] + [each.path for each in behind.unreadable]
    places = {each.place: None for each in staged if each.path.name not in known}
    unread = [each for each in behind.unreadable if each.path.name not in known]
    if places or unread:
        what = _some(list(places)) if places else f"a server ({unread[0].path} cannot be read)"
        _say(f"note: a run left variables changed on {what}: loadstone restore puts them back")
    return frozenset(path.name for path in paths)


def _some(places: list[str]) -> str:
    more = len(places) - _SHOWN
    return ", ".join(places[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _say(line: str) -> None:
    shown = "".join(each if each.isprintable() else "\ufffd" for each in line)
    with contextlib.suppress(OSError):  # a full or broken stderr ends no command
        print(shown, file=sys.stderr, flush=True)
