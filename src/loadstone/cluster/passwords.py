"""Sends passwords to a generator separately from the document.

The transport may keep a large argument: Ray puts one above 100 kB into its object store, which
other processes of the node map and which may write it to disk. So a document is sent without its
passwords, and each password as an argument of its own.
"""

from __future__ import annotations

import json
from typing import Any


def without(document: str) -> tuple[str, ...]:
    """The document of a step or a load without its passwords, followed by these in order."""
    whole = json.loads(document)
    taken = [str(holder.pop(key)) for holder, key in _places(whole)]
    return (json.dumps(whole), *taken)


def put_back(document: str, *passwords: str) -> str:
    """The document that `without` was given."""
    whole = json.loads(document)
    for (holder, key), password in zip(_places(whole), passwords, strict=True):
        holder[key] = password
    return json.dumps(whole)


def _places(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Where passwords are: in each target of a step or the one of a load, and in script options."""
    targets = document["targets"] if "targets" in document else [document["target"]]
    places = [(target, "password") for target in targets]
    if "script" in document:
        places.append((document["script"]["general"], "mysql_password"))
    return places
