"""Which server's data a folder of this machine has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from loadstone.postgresql.facts import SYSTEM_IDENTIFIER
from loadstone.runs.safe_open import opened

_IDENTIFIER_BYTES = 8
"""The first ones of pg_control, in the machine's own order, as in the server's ControlFileData."""


def is_data_of(folder: Path, variables: Mapping[str, str]) -> bool:
    """Whether the folder's files have the identifier that a server says it has.

    A standby and a copy have the same one: another sign must tell them apart.
    """
    said = variables.get(SYSTEM_IDENTIFIER, "")
    try:
        with opened(folder / "global/pg_control") as file:
            raw = file.read(_IDENTIFIER_BYTES)
    except OSError:
        return False
    return said == str(int.from_bytes(raw, sys.byteorder, signed=True))
