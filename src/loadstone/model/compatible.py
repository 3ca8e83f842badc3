"""Servers that speak a family's protocol without being one of its servers, and how they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from loadstone.model.error_codes import MYSQL, RESTART_ON

Flavour = Literal[
    "mariadb",
    "mysql",
    "percona",
    "aurora",
    "tidb",
    "oceanbase",
    "polardbx",
    "vitess",
    "dolt",
    "postgresql",
    "other",
]
"""Which server it is, of those that a family's protocol is spoken by."""


@dataclass(frozen=True)
class Compatible:
    """A server that speaks a family's protocol."""

    name: str
    has_counters: bool = False
    """Whether it has the counters and variables of the family's own servers, and means the same."""

    restart_on: tuple[str, ...] = ()
    """The errors after which its documents have clients repeat a transaction, besides the family's.
    """


COMPATIBLE: Mapping[str, Compatible] = {
    "aurora": Compatible("Aurora", has_counters=True),
    # Write conflict of SELECT FOR UPDATE, failed commit, changed table, write conflict.
    "tidb": Compatible("TiDB", restart_on=("8002", "8022", "8028", "9007")),
    # The transaction was rolled back: the leader of a part moved, or it lasted too long.
    "oceanbase": Compatible("OceanBase", restart_on=("6002",)),
    # A deadlock across its nodes; within a node it is the family's.
    "polardbx": Compatible("PolarDB-X", restart_on=("5009",)),
    # Its own errors have one number for all, so only those of the servers behind it are known.
    "vitess": Compatible("Vitess"),
    # A conflict at the commit is reported as the family's deadlock.
    "dolt": Compatible("Dolt"),
}
"""By flavour; the family's own servers are not in it."""


def name_of(flavour: str | None) -> str | None:
    """The name of a compatible server; `None` for the family's own servers, and unknown ones."""
    known = COMPATIBLE.get(flavour or "")
    return known.name if known else None


def is_another(flavour: str | None) -> bool:
    """Whether it is a server of its own, whose settings and counters are not the family's."""
    known = COMPATIBLE.get(flavour or "")
    return known is not None and not known.has_counters


def restart_on(family: str, flavours: Iterable[str] = ()) -> tuple[str, ...]:
    """The errors after which an event is restarted by default on servers of these flavours."""
    if family != MYSQL:
        return RESTART_ON[family]
    found = [COMPATIBLE[one].restart_on for one in sorted(set(flavours)) if one in COMPATIBLE]
    return (*RESTART_ON[family], *(code for codes in found for code in codes))
