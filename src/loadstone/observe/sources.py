"""Chooses the sources of a run, from the user's options and from what is found."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from loadstone.engine import connections_to
from loadstone.families import family_of
from loadstone.model.limits import Limits
from loadstone.model.message import Message, counted, say
from loadstone.model.observe_request import Observing
from loadstone.model.observed import SHARED_HOST, Reading, SourceName
from loadstone.model.target import Endpoint, Target
from loadstone.observe.answers import Answers
from loadstone.observe.exporters import NodeExporter
from loadstone.observe.local import LocalHost, data_device
from loadstone.observe.locate import accepting_process, data_folder, find_server_process
from loadstone.observe.looking import LookingSource
from loadstone.observe.prometheus import PrometheusHost
from loadstone.observe.sampler import Watched
from loadstone.observe.samplers import EXPORTERS, Counters, Exporter, counters_of
from loadstone.observe.source_spec import PlaceError
from loadstone.observe.ssh import SshHost


@dataclass(frozen=True)
class Observable:
    """One target, with what its server reports about itself."""

    endpoint: Endpoint
    variables: Mapping[str, str]
    started_s: float | None = None
    """As in `ServerFacts`."""


@dataclass(frozen=True)
class Sources:
    """The sources, and messages about what is not observed."""

    watched: tuple[Watched, ...]
    notes: tuple[Message, ...] = ()
    data_device: str | None = None
    """`MAJOR:MINOR` of the device that holds the first server's data, if it is on this machine."""
    limits: Limits = Limits()
    """The limits of the hosts that the user states."""


def check_places(asked: Observing, targets: int) -> None:
    """Refuse invalid or surplus places before anything is started.

    Raises:
        SourceError: names the word that is no exporter's URL or no ssh destination, or of which
            there are more than targets.
    """
    if sum(map(bool, (asked.host_ssh, asked.node_exporter, asked.prometheus))) > 1:
        raise PlaceError(
            say("a host is read in one way: over ssh, from an exporter or from Prometheus"),
            say("give --host-ssh, --node-exporter or --prometheus"),
        )
    for option, places in (
        ("--host-ssh", asked.host_ssh),
        ("--node-exporter", asked.node_exporter),
        ("--prometheus", asked.prometheus),
        (_exporter_options(), asked.server_exporter),
    ):
        if len(places) > targets:
            said = say(
                "{option} is given {times} times for {targets}",
                option=option,
                times=len(places),
                targets=counted("1 target", "{number} targets", targets),
            )
            raise PlaceError(said, say("give one for each target, in their order"))
    host, server = SourceName(role="server-host"), SourceName(role="server")
    for destination in asked.host_ssh:
        SshHost(host, destination)
    for url in asked.node_exporter:
        NodeExporter(host, url)
    for url in asked.prometheus:
        PrometheusHost(host, url)
    for url in asked.server_exporter:
        for exporter in EXPORTERS.values():
            exporter.exporter_source(server, url)


def _exporter_options() -> str:
    names = (exporter.exporter.replace("_", "-") for exporter in EXPORTERS.values())
    return " or ".join(f"--{name}" for name in names)


def sources_for(targets: Sequence[Observable], asked: Observing, *, drives: bool = True) -> Sources:
    """The sources of a run: a server and a host for each target, and this machine.

    `drives`: there are users of ours, at whose sessions to look.
    """
    if not asked.on:
        return Sources((), limits=asked.limits)
    watched: list[Watched] = []
    notes: list[Message] = []
    here: set[int] = set()
    for number, target in enumerate(targets):
        counters = counters_of(target.endpoint.target)
        if counters is None:
            notes.append(_not_counted(target))
        else:
            watched.append(_server(number, target, asked, counters))
            if drives:
                watched.append(_sessions(number, target, counters))
        host = _host(number, target, asked)
        if host:
            if host.translate is _shared:
                here.add(number)
            watched.append(host)
        else:
            notes.append(
                say(
                    "the host of {place} is not evaluated: the server's process was not found on "
                    "this machine; --host-ssh, --node-exporter or --prometheus reads another",
                    place=target.endpoint.target.place,
                )
            )
    if 0 not in here:
        # The route to the first target tells which interface carries the load.
        first = targets[0].endpoint.target
        peer = None if first.socket else first.host
        watched.append(Watched(LocalHost(SourceName(role="generator-host"), peer=peer)))
    device = _data_device(targets[0]) if 0 in here else None
    return Sources(tuple(watched), tuple(notes), device, asked.limits)


def _not_counted(target: Observable) -> Message:
    return say(
        "the counters and sessions of {place} are not observed: of {server}, only hosts are",
        place=target.endpoint.target.place,
        server=family_of(target.endpoint.target).words.server,
    )


def _server(number: int, target: Observable, asked: Observing, counters: Counters) -> Watched:
    name = SourceName(role="server", target=number)
    if number < len(asked.server_exporter):
        source = _exporter(target).exporter_source(name, asked.server_exporter[number])
        return Watched(source, counters.canonical)
    return Watched(counters.server_source(name, target.endpoint), counters.canonical)


def _exporter(target: Observable) -> Exporter:
    at = target.endpoint.target
    if at.family not in EXPORTERS:
        raise PlaceError(
            say(
                "{option} does not read a {server} server: {place}",
                option=_exporter_options(),
                server=family_of(at).words.server,
                place=at.place,
            ),
            say("leave it out: a connection to the server reads its counters"),
        )
    return EXPORTERS[at.family]


def _host(number: int, target: Observable, asked: Observing) -> Watched | None:
    name = SourceName(role="server-host", target=number)
    peer = _own_address(target.endpoint.target)
    datadir = family_of(target.endpoint.target).data_folder(target.variables)
    if number < len(asked.host_ssh):
        found_by = {**target.variables, "datadir": datadir or ""}
        return Watched(SshHost(name, asked.host_ssh[number], found_by, peer))
    if number < len(asked.node_exporter):
        return Watched(NodeExporter(name, asked.node_exporter[number], datadir=datadir))
    if number < len(asked.prometheus):
        return Watched(PrometheusHost(name, asked.prometheus[number], datadir))
    found = find_server_process(target.endpoint.target, target.variables, target.started_s)
    if found is None:
        return None
    datadir = data_folder(target.endpoint.target, target.variables, found.pid)
    host = LocalHost(name, found.pid, datadir, peer, _found_again(target))
    host.between = _between(target.endpoint.target, found.pid)
    return Watched(host, _shared)


def _between(target: Target, server: int) -> int | None:
    """The process of a pooler or proxy on this machine that leads to that server."""
    pid = accepting_process(target)
    return None if pid in (server, os.getpid()) else pid


def _sessions(number: int, target: Observable, counters: Counters) -> Watched:
    name = SourceName(role="sessions", target=number)
    found = find_server_process(target.endpoint.target, target.variables, target.started_s)
    at = target.endpoint.target
    sessions = counters.session_list(target.endpoint, partial(connections_to, at))
    answers = Answers(at)
    pid = found.pid if found else None
    return Watched(LookingSource(name, sessions, answers, pid, _found_again(target)))


def _found_again(target: Observable) -> Callable[[], int | None]:
    """Finds the server's process after a restart."""

    def find() -> int | None:
        again = find_server_process(target.endpoint.target, target.variables, None)
        return again.pid if again else None

    return find


def _own_address(target: Target) -> str | None:
    """This machine's address as the server sees it; `None` for a unix socket."""
    if target.socket is not None:
        return None
    try:
        # No packet is sent: a datagram socket just chooses its route.
        family, kind, *_, place = socket.getaddrinfo(
            target.host, target.tcp_port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.connect(place)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _data_device(target: Observable) -> str | None:
    found = find_server_process(target.endpoint.target, target.variables, target.started_s)
    pid = found.pid if found else None
    datadir = data_folder(target.endpoint.target, target.variables, pid)
    return data_device(datadir, pid)


def _shared(reading: Reading) -> Reading:
    """Mark a reading of a host that also drives the load."""
    return replace(reading, facts={**reading.facts, SHARED_HOST: "yes"})
