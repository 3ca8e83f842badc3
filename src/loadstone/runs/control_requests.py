"""Control requests for a run, as files in its folder: who may write there may ask, nobody else.

There is one file per request, written atomically (`atomic`) and named so that they sort by time.
The run's process removes them; requests found at its start are discarded.
"""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from loadstone.model.control import WISH, AnyWish
from loadstone.model.message import say
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError

FOLDER = "wishes"
_LARGEST = 10_000
"""Bytes; a request has about fifty."""
_NUMBERS = count()


def ask(run: Path, wish: AnyWish) -> None:
    """Put a request into the run's folder.

    Raises:
        StoreError: it cannot be written.
    """
    place = run / FOLDER
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if place.is_symlink():
            raise StoreError(say("cannot write into {path}: it is a link", path=place))
    except OSError as error:
        raise StoreError.from_os("make the folder", place, error) from error
    name = f"{time.time_ns():020}-{os.getpid()}-{next(_NUMBERS):06}.json"
    atomic.write_bytes(place / name, WISH.dump_json(wish) + b"\n")


def take(run: Path) -> list[AnyWish]:
    """Remove and return all requests, in the order in which they arrived.

    Files that are not valid requests are removed, too. A folder that cannot be read counts as
    empty, as no run should end for that. So does a link to a folder, whose content belongs to
    somebody else.
    """
    found: list[AnyWish] = []
    try:
        if (run / FOLDER).is_symlink():
            return found
        names = sorted(entry.name for entry in os.scandir(run / FOLDER))
    except OSError:
        return found
    for name in names:
        path = run / FOLDER / name
        # Names that begin with a dot are still being written.
        if name.startswith(".") or not name.endswith(".json"):
            continue
        try:
            text = _taken(path)
            found.append(WISH.validate_json(text))
        except (OSError, ValidationError):
            continue
    return found


def _taken(path: Path) -> bytes:
    try:
        return safe_open.contents(path, _LARGEST)
    finally:
        path.unlink()
