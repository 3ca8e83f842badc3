"""A line on stderr about what a killed run left behind; every command prints it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection

from loadstone.cli.language import in_words
from loadstone.model.message import Joined, Message, say
from loadstone.runs.state_folder import state_folder

_SHOWN = 3


def mention_leftovers(known: Collection[str] = ()) -> frozenset[str]:
    """Name the targets whose variables are still changed, except those of known journals.

    Journals of active runs are skipped. Returns the names of all others.
    """
    names: list[str] = []
    with contextlib.suppress(OSError):  # nothing is stored there
        names = os.listdir(state_folder() / "settings")
    return _mention(known) if any(name.endswith(".jsonl") for name in names) else frozenset()


def _mention(known: Collection[str]) -> frozenset[str]:
    """In a function of its own, as it imports what few commands need."""
    from loadstone.lab.variables.journal import is_at_work, left_behind, settings_folder

    behind = left_behind(settings_folder())
    staged = [each for each in behind.staged if not is_at_work(each.path)]
    paths = [each.path for each in staged] + [each.path for each in behind.unreadable]
    places = {each.place: None for each in staged if each.path.name not in known}
    unread = [each for each in behind.unreadable if each.path.name not in known]
    if places or unread:
        servers = (
            _some(list(places))
            if places
            else say("a server ({file} cannot be read)", file=str(unread[0].path))
        )
        _say(
            say(
                "note: a run left variables changed on {servers}: loadstone restore puts them back",
                servers=servers,
            )
        )
    return frozenset(path.name for path in paths)


def _some(places: list[str]) -> Message | Joined:
    more, shown = len(places) - _SHOWN, Joined(places[:_SHOWN])
    return shown if more <= 0 else say("{servers} and {more} more", servers=shown, more=more)


def _say(line: Message) -> None:
    shown = "".join(each if each.isprintable() else "\ufffd" for each in in_words(line))
    with contextlib.suppress(OSError):  # a full or broken stderr ends no command
        print(shown, file=sys.stderr, flush=True)
