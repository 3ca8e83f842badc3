"""Passwords on their way to a generator: beside the document, and not in it.

What carries the calls may keep a large argument: Ray puts one above 100 kB into its object store,
which other processes of the node map and which may write it to disk. So a document goes without
its passwords, and each of them as an argument of its own.
"""

from __future__ import annotations

import json
from typing import Any


def without(document: str) -> tuple[str, ...]:
    """The document of a step or a load without its passwords, and behind it these, in order."""
    whole = json.loads(document)
    targets = _targets(whole)
    taken = [str(target.pop("password")) for target in targets]
    return (json.dumps(whole), *taken)


def put_back(document: str, *passwords: str) -> str:
    """What `without` was given."""
    whole = json.loads(document)
    for target, password in zip(_targets(whole), passwords, strict=True):
        target["password"] = password
    return json.dumps(whole)


def _targets(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of a step, or the one of a load."""
    return document["targets"] if "targets" in document else [document["target"]]
