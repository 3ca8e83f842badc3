"""Names for what a log does not name: transactions and parameters."""

from __future__ import annotations

import re
from collections.abc import Container

from loadstone.traffic.group_transactions import Group
from loadstone.traffic.shapes import Hole

_LONGEST = 48
_NOT_PLAIN = re.compile(r"[^a-z0-9_]+")


def transaction_name(group: Group, taken: Container[str]) -> str:
    """Verbs and tables of its first statements: `select_product`, `update_product_and_3`."""
    first = group.runs[0].shape
    verb = first.key.partition(" ")[0].strip("(")
    parts = [verb, *first.tables[:1]]
    if len(group.runs) > 1:
        parts += ["and", str(len(group.runs) - 1)]
    return _free(_plain("_".join(parts), "statement"), taken)


def parameter_name(hole: Hole, taken: Container[str]) -> str:
    """That of the column."""
    name = hole.column or {"LIMIT": "limit_rows", "OFFSET": "offset_rows"}.get(hole.function, "")
    return _free(_plain(name.rpartition(".")[2], "value"), taken)


def _plain(text: str, otherwise: str) -> str:
    found = _NOT_PLAIN.sub("_", text.lower()).strip("_")[:_LONGEST]
    if not found or found[0].isdigit():
        found = f"{otherwise}_{found}".rstrip("_")
    return found


def _free(name: str, taken: Container[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
