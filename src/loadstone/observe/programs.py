"""Which programs are database servers, by name."""

from __future__ import annotations

import re

from loadstone.observe.samplers import SAMPLERS

# Whole names: what starts a server and what watches one begin alike and are something else.
_SERVERS = frozenset(name for family in SAMPLERS.values() for name in family.programs)
BEGINNINGS = tuple(
    name
    for name in sorted(_SERVERS)
    if not any(name != other and name.startswith(other) for other in _SERVERS)
)
"""How the names of servers' programs begin, of which the kernel keeps the first 15 letters."""
# Up to glibc 2.33 the file had glibc's version in its name, and `ld-linux-x86-64.so.2` was a link.
_LOADER = re.compile(r"ld-(?:linux|musl|[0-9]+\.[0-9]+\.so$)")


def is_server(name: str) -> bool:
    """Whether a program of this file name is a server."""
    return name in _SERVERS


def is_loader(name: str) -> bool:
    """Whether this is the system's loader, which then runs the program that it is told."""
    return _LOADER.match(name) is not None
