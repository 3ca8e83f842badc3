"""What a server, or the client of it, calls an error."""

from __future__ import annotations

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """An error's code, and the family of servers whose code it is."""

    family: str
    code: str
