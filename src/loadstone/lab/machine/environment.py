"""Records the environment of a run's servers at its start, so that runs can be compared later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from loadstone.lab.tables.inspect import InspectedTarget, server_environment
from loadstone.model.host_environment import HostSurroundings
from loadstone.observe.source import SourceError
from loadstone.observe.sources import Sources


@runtime_checkable
class _Surrounded(Protocol):
    """A source that can describe the server's environment; an exporter cannot."""

    def surroundings(self) -> HostSurroundings: ...


def target_environment(
    looked: Sequence[InspectedTarget], sources: Sources | None
) -> list[dict[str, Any]]:
    """The targets' part of environment.json: what each server reports, and facts about its host.

    `sources` are None where servers are not up yet, or differ from step to step.
    """
    return [
        {**one, "host": _host_of(number, sources).model_dump(mode="json")}
        for number, one in enumerate(server_environment(looked))
    ]


def _host_of(target: int, sources: Sources | None) -> HostSurroundings:
    if sources is None:
        return HostSurroundings.nothing("looked at with each variant's first step")
    if not sources.watched:
        return HostSurroundings.nothing("--no-observe: nothing was looked at")
    for watched in sources.watched:
        name = watched.source.name
        if name.role == "server-host" and name.target == target:
            return _told(watched.source)
    return HostSurroundings.nothing("the server's process is not on this machine")


def _told(source: object) -> HostSurroundings:
    if not isinstance(source, _Surrounded):
        return HostSurroundings.nothing("an exporter does not tell: --host-ssh does")
    try:
        return source.surroundings()
    except SourceError as error:
        return HostSurroundings.nothing(error.message)
