"""The headings under which help shows options, in this order."""

from __future__ import annotations

from enum import Enum

from loadstone.model.message import Message, say


class Section(Enum):
    """A heading; the options of a `rare` one are shown by `--help-all` only."""

    OPTIONS = (say("Options"), False)
    LOAD = (say("Load"), False)
    SERVER = (say("Server"), False)
    SANDBOX = (say("Throwaway server"), False)
    TABLES = (say("Tables"), False)
    RESULT = (say("Output"), False)
    GATES = (say("Pass or fail, for CI"), False)
    PROVE = (say("Prove the findings"), False)
    SHAPE = (say("Load in detail"), True)
    CONNECTIONS = (say("Connections and sessions"), True)
    LOGIN = (say("Login and TLS"), True)
    OBSERVE = (say("Observation of servers and hosts"), True)
    PROTECT = (say("Protection of servers that others use"), True)
    CLUSTER = (say("Several machines"), True)
    GENERAL = (say("General"), False)

    def __init__(self, title: Message, rare: bool) -> None:
        self.title = title
        self.rare = rare
