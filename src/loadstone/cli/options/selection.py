"""The options that choose runs of a folder by what they are about."""

from __future__ import annotations

from typing import Any

from loadstone.cli.help.command import option
from loadstone.cli.options.types import WORD, gathered
from loadstone.model.message import say

_NAMED = option(
    "--named",
    "name",
    type=WORD,
    metavar="TEXT",
    own=True,
    help=say("Only runs with this text in the name of the run or of its folder."),
)
_WORKLOAD = option(
    "--workload",
    type=WORD,
    metavar="TEXT",
    own=True,
    help=say("Only runs with this text in the name of their workload."),
)
_TARGET = option(
    "--target",
    type=WORD,
    metavar="TEXT",
    own=True,
    help=say("Only runs with this text in the URL of their target, such as db1:3306."),
)
_LABEL = option(
    "--label",
    type=WORD,
    metavar="TEXT",
    own=True,
    help=say("Only runs with this text in a label (loadstone runs label)."),
)


def _selection(**given: Any) -> object:
    from loadstone.runs.selection import Selection

    return Selection(**{name: text for name, text in given.items() if text is not None})


selection_options = gathered("selection", (_NAMED, _WORKLOAD, _TARGET, _LABEL), _selection)
"""Add the options to a command, which gets one `selection` instead."""
