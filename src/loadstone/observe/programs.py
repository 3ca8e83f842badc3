"""Which programs are database servers, by name."""

from __future__ import annotations

import re

# Whole names: mysqld_safe and mysqld_exporter begin alike and are something else.
_SERVERS = {"mariadbd", "mariadbd-debug", "mysqld", "mysqld-debug"}
# Up to glibc 2.33 the file had glibc's version in its name, and `ld-linux-x86-64.so.2` was a link.
_LOADER = re.compile(r"ld-(?:linux|musl|[0-9]+\.[0-9]+\.so$)")


def is_server(name: str) -> bool:
    """Whether a program of this file name is a server of MySQL's family."""
    return name in _SERVERS


def is_loader(name: str) -> bool:
    """Whether this is the system's loader, which then runs the program that it is told."""
    return _LOADER.match(name) is not None
