"""Which programs are database servers, by name."""

from __future__ import annotations

import re

from loadstone.observe.samplers import SAMPLERS

# Whole names: programs that start or watch a server begin with the same letters.
_SERVERS = frozenset(name for family in SAMPLERS.values() for name in family.programs)
_WITH_MANY_PROCESSES = frozenset(
    name
    for family in SAMPLERS.values()
    for name in family.programs
    if family.has_process_per_session
)
BEGINNINGS = tuple(
    name
    for name in sorted(_SERVERS)
    if not any(name != other and name.startswith(other) for other in _SERVERS)
)
"""The first letters of server programs' names, of which the kernel keeps 15."""
# Up to glibc 2.33 the file name had glibc's version, and `ld-linux-x86-64.so.2` was a link to it.
_LOADER = re.compile(r"ld-(?:linux|musl|[0-9]+\.[0-9]+\.so$)")


def is_server(name: str) -> bool:
    """Whether a program with this file name is a server."""
    return name in _SERVERS


def works_alone(name: str) -> bool:
    """Whether one process of this program does all of a server's work; a loader's may not."""
    return name not in _WITH_MANY_PROCESSES and not is_loader(name)


def is_loader(name: str) -> bool:
    """Whether this is the system's loader, which runs the program named in its arguments."""
    return _LOADER.match(name) is not None
