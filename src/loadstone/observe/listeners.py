"""Which sockets listen on a port, from /proc/net/tcp and tcp6."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

_LISTEN = "0A"


def listening_inodes(
    texts: Iterable[str], port: int, address: IPv4Address | IPv6Address | None = None
) -> set[str]:
    """The inodes of the sockets that accept connections on this port; see `listening_owners`."""
    return set(listening_owners(texts, port, address))


def listening_owners(
    texts: Iterable[str], port: int, address: IPv4Address | IPv6Address | None = None
) -> dict[str, str]:
    """The owners (user ids) of the sockets that accept connections on this port, by inode.

    Args:
        texts: contents of /proc/net/tcp and tcp6.
        port: the port.
        address: only sockets that accept connections to this address; `None`: to any.
    """
    found = {}
    for line in texts:
        for words in (row.split() for row in line.splitlines()):
            if len(words) < 10 or words[3] != _LISTEN:
                continue
            host, _, number = words[1].partition(":")
            if _hex(number) == port and (address is None or _takes(host, address)):
                found[words[9]] = words[7]
    return found


def _takes(host: str, address: IPv4Address | IPv6Address) -> bool:
    if _hex(host) == 0:  # any address; by default an IPv6 socket accepts IPv4 as well
        return len(host) == 32 or isinstance(address, IPv4Address)
    own = _address(host)
    if isinstance(own, IPv6Address) and own.ipv4_mapped is not None:
        return own.ipv4_mapped == address
    return own == address


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Parse an address of 32-bit words in the machine's byte order, nearly always little-endian."""
    try:
        raw = bytes.fromhex(host)
    except ValueError:
        return None
    turned = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    if len(turned) == 4:
        return IPv4Address(turned)
    return IPv6Address(turned) if len(turned) == 16 else None


def _hex(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None
