"""What a bench returns: tables for people, and every single reading for programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.place import Asked, Place


@dataclass(frozen=True)
class Report:
    """A bench's outcome."""

    title: str
    tables: tuple[str, ...]
    readings: list[dict[str, Any]]
    """One for each run of a program, none omitted."""
    notes: tuple[str, ...] = field(default=())
    broken: tuple[str, ...] = ()
    """Broken promises, for benches that make some."""

    def text(self) -> str:
        """For the terminal, in Markdown."""
        return "\n\n".join([f"## {self.title}", *self.tables, *self.notes])


Bench = Callable[[Place], Report]

BenchApart = Callable[[Asked, Path], Report]
"""A bench that needs no shared server, only a folder for temporary files."""
