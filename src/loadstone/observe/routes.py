"""Finds the interface that carries the traffic to a peer, from the kernel's tables as text.

Rules that choose between several routing tables are ignored: the result is that of the main table,
the only one on most hosts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

FILES = ("net/route", "net/ipv6_route", "net/fib_trie", "net/if_inet6")
"""The files needed from /proc/PID (or /proc)."""

_LOCAL = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\s+/32 host LOCAL")
_UP, _REJECT = 0x1, 0x200


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address; an IPv4-mapped IPv6 address becomes the IPv4 one. `None` if it is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def local_addresses(fib_trie: str, if_inet6: str) -> set[IPv4Address | IPv6Address]:
    """The addresses of a network namespace."""
    found: set[IPv4Address | IPv6Address] = set()
    for text in _LOCAL.findall(fib_trie):
        address = address_of(text)
        if address is not None:
            found.add(address)
    for line in if_inet6.splitlines():
        number = _hex(line.partition(" ")[0], 32)
        if number is not None:
            found.add(IPv6Address(number))
    return found


def interface_towards(
    peer: str, texts: Mapping[str, str], *, from_outside: bool = False
) -> str | None:
    """The interface through which packets to that address leave; `lo` for an address of the host.

    Args:
        peer: an address; names are not resolved.
        texts: contents of `FILES` by those names; missing ones mean that nothing is known.
        from_outside: the traffic does not start on this host, so one of its own addresses is where
            the traffic arrives: then the result is the interface of that address's network.
    """
    address = address_of(peer)
    if address is None:
        return None
    own = local_addresses(texts.get("net/fib_trie", ""), texts.get("net/if_inet6", ""))
    if address.is_loopback or (address in own and not from_outside):
        return "lo"
    route = _route_to(address, texts)
    return route.interface if route else None


def gateway_towards(peer: str, texts: Mapping[str, str]) -> str | None:
    """The next hop to that address; `None` if there is none, or no route is known.

    Args:
        peer: an address; names are not resolved.
        texts: contents of `FILES` by those names; missing ones mean that nothing is known.
    """
    address = address_of(peer)
    if address is None or interface_towards(peer, texts) == "lo":
        return None
    route = _route_to(address, texts)
    return str(type(address)(route.gateway)) if route and route.gateway else None


class _Route(NamedTuple):
    """A route; the smallest one is used: the longest prefix, then the lowest metric."""

    minus_length: int
    metric: int
    interface: str
    gateway: int
    """0 if there is none."""


def _route_to(address: IPv4Address | IPv6Address, texts: Mapping[str, str]) -> _Route | None:
    if isinstance(address, IPv4Address):
        matches = _matches_4(int(address), texts.get("net/route", ""))
    else:
        matches = _matches_6(int(address), texts.get("net/ipv6_route", ""))
    return min(matches, default=None)


def _matches_4(address: int, text: str) -> list[_Route]:
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 8:
            continue
        to, mask, flags = _little(words[1]), _little(words[7]), _hex(words[3])
        if to is None or mask is None or flags is None or not words[6].isdigit():
            continue
        if address & mask == to and flags & _UP and not flags & _REJECT:
            gateway = _little(words[2]) or 0
            found.append(_Route(-mask.bit_count(), int(words[6]), words[0], gateway))
    return found


def _matches_6(address: int, text: str) -> list[_Route]:
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) != 10:
            continue
        to, length, metric, flags = (
            _hex(words[0], 32),
            _hex(words[1], 2),
            _hex(words[5]),
            _hex(words[8]),
        )
        if to is None or length is None or metric is None or flags is None or length > 128:
            continue
        # The table ends with a `lo` route that rejects everything.
        if (address ^ to) >> (128 - length) == 0 and not flags & _REJECT and words[9] != "lo":
            found.append(_Route(-length, metric, words[9], _hex(words[4], 32) or 0))
    return found


def _hex(word: str, digits: int | None = None) -> int | None:
    if not re.fullmatch("[0-9A-Fa-f]{1,32}", word) or (digits and len(word) != digits):
        return None
    return int(word, 16)


def _little(word: str) -> int | None:
    """Parse an address that a little-endian machine wrote in hexadecimal."""
    number = _hex(word, 8)
    return None if number is None else int.from_bytes(number.to_bytes(4, "little"), "big")
