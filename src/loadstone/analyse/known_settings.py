"""What is known of the settings of a family of servers. A new family's is entered here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from loadstone.analyse.advice import Rule
from loadstone.analyse.meaning import Meaning
from loadstone.analyse.mysql import known as mysql
from loadstone.model.error_codes import MYSQL
from loadstone.model.message import Message


class KnownSettings(Protocol):
    """One family's."""

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        """By the variable's name, where it was changed by the newest one."""

    @property
    def renamed(self) -> Mapping[str, str]:
        """Settings that have another name on other servers, and the one of the table above."""

    @property
    def places(self) -> Collection[str]:
        """Folders that matter by which disk they are on."""

    # The review of one server.

    @property
    def rules(self) -> Sequence[Rule]:
        """What is looked at."""

    @property
    def fragment_head(self) -> Sequence[str]:
        """What stands before the settings in the file that the server reads."""

    # What the servers of an experiment promise of a commit.

    @property
    def deciding(self) -> Sequence[str]:
        """What decides whether a commit lasts, the weightiest first."""

    @property
    def lasting(self) -> Mapping[str, str]:
        """With which values of those it does."""

    def losing(self, variables: Mapping[str, str]) -> list[str]:
        """The settings with which a crash may lose commits, as they are."""

    # What differs between servers.

    @property
    def versions(self) -> Mapping[str, Message]:
        """The build of a server, by the variables that tell it, and what they are called."""

    @property
    def own_places(self) -> Sequence[str]:
        """Variables that say where a server's own files are, and what its host is called."""

    @property
    def part_of(self) -> Mapping[str, str]:
        """Settings of something that does nothing unless it is switched on, and the switch."""

    @property
    def shown_though_missing(self) -> Collection[str]:
        """Settings whose absence says how the server works."""

    @property
    def lists(self) -> Collection[str]:
        """Long lists, of which only what differs is told."""

    def leaders(self, name: str) -> tuple[str, ...]:
        """The settings by which a server chooses this one, when nobody says otherwise."""

    def is_identity(self, name: str) -> bool:
        """Whether it says who or where a server is, or what its own past left in it."""

    # What the page of a run shows.

    @property
    def matters(self) -> Sequence[str]:
        """What is shown of all settings, durability first."""

    def is_own(self, name: str) -> bool:
        """Whether it differs between any two servers and changes no figure."""


KNOWN: dict[str, KnownSettings] = {MYSQL: mysql}
"""By the name that a target has for the family."""


def by_newest_name(variables: Mapping[str, str], family: str = MYSQL) -> dict[str, str]:
    """A server that has both names tells one setting twice."""
    renamed = KNOWN[family].renamed
    found = {name: value for name, value in variables.items() if name not in renamed}
    for old, new in renamed.items():
        if old in variables:
            found.setdefault(new, variables[old])
    return found


def keeps_commits(name: str, family: str = MYSQL) -> bool:
    """Whether a variable, by any of its names, decides what a crash leaves of the commits."""
    newest = next(iter(by_newest_name({name: ""}, family)))
    meaning = KNOWN[family].meanings.get(newest)
    return meaning is not None and meaning.durability is not None
