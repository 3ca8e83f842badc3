"""Knowledge about the settings of each family of servers. A new family is registered here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from loadstone.analyse.advice import Rule
from loadstone.analyse.meaning import Meaning
from loadstone.analyse.mysql import known as mysql
from loadstone.analyse.postgresql import known as postgresql
from loadstone.model.error_codes import MYSQL, POSTGRESQL
from loadstone.model.managed import Managed
from loadstone.model.message import Message


class KnownSettings(Protocol):
    """Knowledge about the settings of one family."""

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        """Meanings by the variable's name, the newest one if it was renamed."""

    @property
    def renamed(self) -> Mapping[str, str]:
        """Other names of settings, each with the name that `meanings` has."""

    @property
    def places(self) -> Collection[str]:
        """Settings that name folders which matter only by the disk they are on."""

    def is_suspect(self, name: str) -> bool:
        """Whether a setting that was changed may be why one server is slow.

        Not where it names or identifies something, matters only where two servers are compared, or
        is judged by rules of the diagnosis by what the server counts, before they read it.
        """

    @property
    def read_alone(self) -> Collection[str]:
        """Settings that rules read for what else they judge, not for what these cost."""

    # The review of one server.

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules of the review."""

    @property
    def fragment_head(self) -> Sequence[str]:
        """The lines before the settings in the server's configuration file."""

    # Servers of managed services.

    def not_judged(self, variables: Mapping[str, str]) -> Collection[str]:
        """The settings of a server in whose place a managed service's storage decides."""

    @property
    def of_provider(self) -> Mapping[Managed, Collection[str]]:
        """The settings that only the provider of a service can set."""

    @property
    def written_there(self) -> Mapping[Managed, Mapping[str, str]]:
        """What to set, with `{wanted}` for the value, where a service has another name for it."""

    # The durability of commits.

    @property
    def deciding(self) -> Sequence[str]:
        """The settings that decide whether a commit is durable, the most important first."""

    @property
    def lasting(self) -> Mapping[str, str]:
        """The values of these settings with which commits are durable."""

    def losing(self, variables: Mapping[str, str]) -> list[str]:
        """Those of the current settings with which a crash may lose commits."""

    # Differences between servers.

    @property
    def versions(self) -> Mapping[str, Message]:
        """Variables that identify the build of a server, with their labels."""

    @property
    def own_places(self) -> Sequence[str]:
        """Variables with the paths of a server's own files, and its host's name."""

    @property
    def part_of(self) -> Mapping[str, str]:
        """Settings that have no effect unless a feature is on, with the feature's switch."""

    @property
    def shown_though_missing(self) -> Collection[str]:
        """Settings that are shown even where a server lacks them, as that says how it works."""

    @property
    def lists(self) -> Collection[str]:
        """Settings with long lists as values, of which only the differences are shown."""

    def leaders(self, name: str) -> tuple[str, ...]:
        """The settings from which a server derives this one by default."""

    def is_identity(self, name: str) -> bool:
        """Whether the variable only identifies a server or reflects its own past."""

    # The page of a run.

    @property
    def matters(self) -> Sequence[str]:
        """The settings to show, durability first."""

    def is_own(self, name: str) -> bool:
        """Whether the setting differs between any two servers and affects no figure."""


KNOWN: dict[str, KnownSettings] = {MYSQL: mysql, POSTGRESQL: postgresql}
"""By the family's name, as in a target."""


def by_newest_name(variables: Mapping[str, str], family: str = MYSQL) -> dict[str, str]:
    """The variables under their newest names: a server may have one setting under both names."""
    renamed = KNOWN[family].renamed
    found = {name: value for name, value in variables.items() if name not in renamed}
    for old, new in renamed.items():
        if old in variables:
            found.setdefault(new, variables[old])
    return found


def keeps_commits(name: str, family: str = MYSQL) -> bool:
    """Whether a variable, under any of its names, affects the durability of commits."""
    newest = next(iter(by_newest_name({name: ""}, family)))
    meaning = KNOWN[family].meanings.get(newest)
    return meaning is not None and meaning.durability is not None
