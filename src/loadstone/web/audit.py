"""A line for each act that somebody did, or was refused, on the page."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.runs import safe_open
from loadstone.runs.errors import StoreError

FILE = ".audit.jsonl"
"""In the folder of runs: who did what, when, and with which outcome."""


class Audit:
    """Appends lines to the file of one folder of runs."""

    def __init__(self, runs: Path) -> None:
        self._path = runs / FILE

    def note(self, who: str, act: str, outcome: str, **more: Any) -> None:
        """Append a line; it is on the disk when this returns.

        Raises:
            StoreError: it cannot be written, so the act must not be done.
        """
        line = {
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "who": who,
            "act": act,
            "outcome": outcome,
            **more,
        }
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            with safe_open.opened(self._path, flags=flags) as file:
                # One write of a line: lines of two pages of the same folder do not mix.
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError.from_os("write", self._path, error) from error
