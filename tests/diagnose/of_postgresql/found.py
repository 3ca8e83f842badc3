"""The examples of the rules of PostgreSQL: each file `example_CAUSE.py` of this folder has some."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from diagnose.examples import Example

EXAMPLES: tuple[Example, ...] = tuple(
    example
    for file in sorted(Path(__file__).parent.glob("example_*.py"))
    for example in import_module(f"diagnose.of_postgresql.{file.stem}").EXAMPLES
)
