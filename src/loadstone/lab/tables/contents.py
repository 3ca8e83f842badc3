"""Identifies what a throwaway server is loaded with, so that its data can be kept for the next."""

from __future__ import annotations

import json
from collections.abc import Sequence

from loadstone import engine
from loadstone.lab.tables.load import names_of
from loadstone.model.engine_plan import Layout
from loadstone.sandbox.kept_tables import Contents

_SHOWN = 3


def contents_of(groups: Sequence[Sequence[Layout]], seed: int) -> Contents:
    """The contents of layouts by schema, of rows that are made from a seed."""
    layouts = [[layout.model_dump(mode="json") for layout in group] for group in groups]
    names = [name for group in groups for layout in group for name in names_of(layout)]
    key = json.dumps([engine.build_info(), seed, layouts], sort_keys=True)
    return Contents(key, _shown(names))


def _shown(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"
