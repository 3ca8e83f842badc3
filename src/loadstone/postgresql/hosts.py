"""The hosts that a URL, libpq's environment or a service names, and which of them is wanted.

libpq writes several as lists with commas: `host`, `hostaddr` and `port` have an element for each
host, or one port for all. A URL has `host1:port1,host2:port2` in the place of its host.

Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Literal, cast, get_args
from urllib.parse import parse_qsl, unquote, urlencode

from loadstone.model.frozen import Frozen
from loadstone.model.hints import write
from loadstone.model.message import Joined, Message, say
from loadstone.model.target_url import TargetUrlError, split_url

SessionAttributes = Literal[
    "any", "read-write", "read-only", "primary", "standby", "prefer-standby"
]
"""What `target_session_attrs` may ask of a server."""

_PLACES = ("host", "port")
_OWN = ("hostaddr", "target_session_attrs", "load_balance_hosts", "connect_timeout")
CHOICE = (*_PLACES, *_OWN)
"""Parameters that say which host is meant. Of a recorded target the URL alone says that."""

_OF_PASSWORDS = ("passfile",)
"""Parameters that say where the password is, and not which host is meant."""

_EXAMPLE = write("postgresql://user@host1:5432,host2:5432/database?target_session_attrs=read-write")
_PLACE = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?")


class Wish(Frozen):
    """How one of the hosts is chosen."""

    attributes: SessionAttributes = "any"
    at_random: bool = False
    """They are tried in random order, not in that of the list."""
    timeout_s: float | None = None
    """The time limit of each host; `None`: the usual one."""


def take_apart(url: str) -> tuple[str, dict[str, str]]:
    """A URL without what it says about several hosts and the password's file, and that by name.

    A single host and its port stay in the URL.

    Raises:
        TargetUrlError: the URL cannot be read, or says something twice.
    """
    parts = split_url(url)
    login, at, places = parts.netloc.rpartition("@")
    pairs = [
        (name.replace("-", "_"), value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    is_list = "," in places or any(
        name == "hostaddr" or (name in _PLACES and "," in value) for name, value in pairs
    )
    taken = _OWN + _OF_PASSWORDS + (_PLACES if is_list else ())
    found = _in_place_of_the_host(places) if is_list else {}
    for name, value in pairs:
        if name in taken and name in found:
            raise _wrong(say("{name} is given twice", name=name))
        if name in taken and not value:
            raise _wrong(say("{name} has no value", name=name))
        if name in taken:
            found[name] = value
    if not found:
        return url, {}
    rest = urlencode([pair for pair in pairs if pair[0] not in taken])
    place = login + at if is_list else parts.netloc
    return f"{parts.scheme}://{place}{parts.path}" + (f"?{rest}" if rest else ""), found


def each_host(parameters: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """The parameters of each host, none of which is a list; an empty element is left out.

    Raises:
        TargetUrlError: the lists have different lengths, or an address is none.
    """
    names = {name: parameters[name].split(",") for name in _PLACES if name in parameters}
    addresses = parameters["hostaddr"].split(",") if "hostaddr" in parameters else []
    hosts = names.get("host") or addresses or [""]
    ports = names.get("port") or [""]
    if len(ports) == 1:
        ports = ports * len(hosts)
    for name, values in (("port", ports), ("hostaddr", addresses)):
        if values and len(values) != len(hosts):
            raise TargetUrlError(
                say(
                    "the list of {name} has {number} elements, and that of hosts {hosts}",
                    name=name,
                    number=len(values),
                    hosts=len(hosts),
                ),
                _EXAMPLE,
            )
    common = {name: parameters[name] for name in parameters if name not in (*_PLACES, "hostaddr")}
    each = zip(hosts, ports, addresses or [""] * len(hosts), strict=True)
    return tuple(common | _of_host(*one) for one in each)


def wish_of(parameters: Mapping[str, str]) -> Wish:
    """How one of the hosts is to be chosen.

    Raises:
        TargetUrlError: a value is not one of libpq's.
    """
    attributes = _one_of("target_session_attrs", parameters, get_args(SessionAttributes))
    balance = _one_of("load_balance_hosts", parameters, ("disable", "random"))
    return Wish(
        attributes=cast("SessionAttributes", attributes),
        at_random=balance == "random",
        timeout_s=_seconds(parameters.get("connect_timeout", "0").strip()),
    )


def _in_place_of_the_host(places: str) -> dict[str, str]:
    each = [_PLACE.fullmatch(place) for place in places.split(",")]
    hosts, ports = [], []
    for found, text in zip(each, places.split(","), strict=True):
        if found is None:
            raise _wrong(say("{place} is not a host with a port", place=repr(text)))
        host = unquote(found[1].strip("[]"))
        hosts.append(host if host.startswith("/") else host.lower())
        ports.append(found[2] or "")
    said = {}
    if any(hosts):
        said["host"] = ",".join(hosts)
    # As for psql, whose list of ports then is one of default ports.
    if any(ports) or len(ports) > 1:
        said["port"] = ",".join(ports)
    return said


def _of_host(host: str, port: str, address: str) -> dict[str, str]:
    host, port, address = host.strip(), port.strip(), address.strip()
    if address:
        try:
            ip_address(address)
        except ValueError:
            raise TargetUrlError(
                say("hostaddr is {value}, which is no address", value=repr(address)),
                write("hostaddr=10.0.0.5"),
            ) from None
        # A folder would be a socket's, where there is no address.
        host = address if not host or host.startswith("/") else host
    given = {"host": host, "port": port, "hostaddr": address}
    return {name: value for name, value in given.items() if value}


def _one_of(name: str, parameters: Mapping[str, str], known: tuple[str, ...]) -> str:
    value = parameters.get(name, known[0])
    if value not in known:
        raise TargetUrlError(
            say(
                "{name} is {value}, not one of {known}",
                name=name,
                value=repr(value),
                known=Joined(known),
            )
        )
    return value


def _seconds(text: str) -> float | None:
    """The time that `connect_timeout` gives; `None`: zero or less, which sets none."""
    if re.fullmatch(r"[+-]?\d{1,9}", text) is None:
        raise TargetUrlError(
            say("connect_timeout is {value}, not a whole number of seconds", value=repr(text)),
            write("connect_timeout=10"),
        )
    return float(text) if int(text) > 0 else None


def _wrong(reason: Message) -> TargetUrlError:
    return TargetUrlError(say("not a target's URL: {reason}", reason=reason), _EXAMPLE)
