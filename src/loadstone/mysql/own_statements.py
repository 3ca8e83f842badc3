"""Tells Loadstone's own statements in a server's logs from those of its load and of others.

All statements of `Administration` begin with a comment, which logs and the process list keep and
digests drop. Statements of the load have none: they are as the workload has them.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from loadstone.servers.guard import LIST_TABLE

MARK = "/* loadstone */"
"""What each statement of `Administration` begins with."""

# The engine's loader has no such comment, and earlier versions had none either.
_NAMES = re.compile(
    rf"\b{LIST_TABLE}\b|\bloadstone_trial\b"
    r"|\b(?:GET|IS_USED|RELEASE)_LOCK\('loadstone\."
    r"|\bINFILE 'loadstone'"
    r"|\ASELECT 1 FROM `[^`]+` LIMIT 0\Z"
)
_WITHOUT_NAMES = frozenset(
    {
        "SELECT @@GLOBAL.local_infile",
        "SELECT @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@GLOBAL.innodb_flush_log_at_trx_commit",
        "SELECT @@hostname, @@datadir, @@server_id",
    }
)


# Statements of the engine's loader about a table, which no built-in workload sends.
_LOOKS = re.compile(
    r"SELECT\s+(?:\?\s+FROM\s+(?P<looked>\S+)\s+LIMIT\s+\?"
    r"|(?:COUNT\s*\(\s*\*\s*\)|MAX\s*\(\s*\S+\s*\))\s+FROM\s+(?P<counted>\S+))\s*"
)


def is_own(sql: str) -> bool:
    """Whether Loadstone sent the statement for itself, and not as load."""
    if sql.startswith(MARK) or sql in _WITHOUT_NAMES:
        return True
    return _NAMES.search(sql) is not None


def is_own_digest(text: str, made: Collection[str]) -> bool:
    """Whether the digest with this text is of statements that Loadstone sent for itself.

    Digests have no comments, and a server writes them with its own blanks. `made`: the tables that
    Loadstone made, whose rows its loader counts, which otherwise anyone might do.
    """
    if _packed(text) in _PACKED or _NAMES.search(text) is not None:
        return True
    found = _LOOKS.fullmatch(text)
    return found is not None and (found["looked"] or found["counted"]).strip("`") in made


def _packed(text: str) -> str:
    return re.sub(r"[\s`]+", "", text)


_PACKED = frozenset(map(_packed, _WITHOUT_NAMES))
