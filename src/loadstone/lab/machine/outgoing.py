"""The addresses and ports that connections of this machine can leave from."""

from __future__ import annotations

import ipaddress
import math
import socket
from collections.abc import Sequence
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.figure import Count
from loadstone.model.message import say
from loadstone.model.target import Target

_PROC = Path("/proc")


class OutgoingError(LoadstoneError):
    """Connections cannot leave as asked: no such address here, or too few ports."""

    exit_code = ExitCode.PLAN


def outgoing_ports(proc: Path = _PROC) -> int | None:
    """Ports that connections from one address to one server may have; `None`: unknown.

    They are the range that connect(2) chooses from, `net.ipv4.ip_local_port_range` (ip(7)).
    """
    try:
        low, high = (proc / "sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return None
    return int(high) - int(low) + 1


def check_address(text: str) -> None:
    """Check that connections can leave from this address.

    Raises:
        OutgoingError: it is not an IP address, or none of this machine.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise OutgoingError(say("'{text}' is not an IP address", text=text)) from None
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family) as probe:
        try:
            probe.bind((text, 0))
        except OSError as error:
            said = say("{text} is no address of this machine: {reason}", text=text, reason=error)
            raise OutgoingError(said) from None


def check_ports(
    connections: int, targets: Sequence[Target], sources: Sequence[str], proc: Path = _PROC
) -> None:
    """Check that as many connections can be open at once, before any is opened.

    Args:
        connections: all of them, which are spread over the targets.
        targets: those over a unix socket need no port.
        sources: the addresses that they leave from in turn; empty: one.
        proc: where the kernel states its range of ports.

    Raises:
        OutgoingError: the ports do not suffice.
    """
    ports = outgoing_ports(proc)
    if ports is None or not any(one.socket is None for one in targets):
        return
    most = ports * max(len(sources), 1)
    wanted = math.ceil(connections / len(targets))
    if wanted <= most:
        return
    raise OutgoingError(
        say(
            "{wanted} connections to {place}, and there are ports for {most}",
            wanted=Count(wanted),
            place=next(one.place for one in targets if one.socket is None),
            most=Count(most),
        ),
        say(
            "name {number} addresses of this machine with --source-address, or widen"
            " net.ipv4.ip_local_port_range",
            number=math.ceil(wanted / ports),
        ),
    )
