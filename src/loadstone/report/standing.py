"""What an account may do on a server, and who else is at work there, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.lab.protection.standing import Standing
from loadstone.model.managed import SERVICES, Managed
from loadstone.model.message import Joined, Message, say, say_in
from loadstone.servers.rights import Rights

Labelled = tuple[Message, Message]
"""The word before a line, and the line."""

_MAY, _LACKS = say_in("label", "may"), say_in("label", "lacks")
_OTHERS = say_in("label", "others")
_CLOUD = say_in("label", "cloud")


def service_lines(managed: Managed | None, standing: Standing) -> Iterator[Labelled]:
    """What is not possible on a managed service."""
    if managed is None:
        return
    service = SERVICES[managed]
    yield (
        _CLOUD,
        say(
            "{service}: no account is a superuser (SUPER), and nobody but the provider has the "
            "server's files and its host, so host figures come from its console or an exporter",
            service=service.name,
        ),
    )
    if not _may_set(standing):
        yield (
            _CLOUD,
            say(
                "not possible there: experiments and proofs that set variables for all sessions or "
                "start the server again; set them in {place}, reboot where that is needed, and "
                "compare two runs",
                place=service.place,
            ),
        )


def _may_set(standing: Standing) -> bool:
    """Whether the account is known to be allowed to set variables nevertheless."""
    rights = standing.rights
    return isinstance(rights, Rights) and any(
        one.needs_superuser and one.is_given for one in rights.rights
    )


def standing_lines(standing: Standing, place: str, managed: Managed | None) -> Iterator[Labelled]:
    """The rights of the account, then the server's other clients."""
    if isinstance(standing.rights, Message):
        yield _MAY, say("not known what this account may do: {why}", why=standing.rights)
    else:
        yield from _rights(standing.rights, managed)
    yield from _others(standing, place)


def _rights(rights: Rights, managed: Managed | None) -> Iterator[Labelled]:
    given = [one.what for one in rights.rights if one.is_given]
    yield (
        _MAY,
        say(
            "{account}, on {schema}: {what}",
            account=rights.account,
            schema=rights.schema,
            what=Joined(given, "clauses")
            if len(given) < len(rights.rights)
            else say("all that commands need"),
        ),
    )
    # What lacks the same is one line.
    lacking: dict[tuple[str, ...], list[Message]] = {}
    superusers = {one.missing for one in rights.rights if one.needs_superuser}
    for one in rights.rights:
        if one.missing:
            lacking.setdefault(one.missing, []).append(one.what)
    for missing, what in lacking.items():
        if managed is not None and missing in superusers:
            yield (
                _LACKS,
                say(
                    "{what}: {service} gives no account that right",
                    what=Joined(what, "clauses"),
                    service=SERVICES[managed].name,
                ),
            )
        else:
            yield (
                _LACKS,
                say(
                    "{what}: {statements}",
                    what=Joined(what, "clauses"),
                    statements="; ".join(missing),
                ),
            )


def _others(standing: Standing, place: str) -> Iterator[Labelled]:
    clients, rights = standing.clients, standing.rights
    for program in standing.programs:
        yield _OTHERS, say("{place} is used by {who}", place=place, who=program)
    if isinstance(clients, Message):
        yield _OTHERS, say("who else uses {place} is not known: {why}", place=place, why=clients)
        return
    if clients:
        yield _OTHERS, clients.at(place)
    right = clients.right.removeprefix("GRANT ")
    if right and isinstance(rights, Rights) and not rights.sees_sessions:
        yield _OTHERS, _unseen(right) if clients else _none_counted(right)
    elif not clients and not standing.programs:
        yield _OTHERS, say("nobody else has a session")


def _unseen(right: str) -> Message:
    return say("without {right} only own sessions are visible", right=right)


def _none_counted(right: str) -> Message:
    return say(
        "nobody else, by the server's count of sessions; without {right} only own ones are visible",
        right=right,
    )
