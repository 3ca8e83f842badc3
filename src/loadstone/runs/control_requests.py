"""Wishes for a run, as files in its folder: whoever may write there may ask, and nobody else.

A file a wish, put there whole (`atomic`) and named so that they sort as they came. The run's
process takes them away; those that lie there when it begins were meant for nobody.
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
"""Bytes; a wish has some fifty."""
_NUMBERS = count()


def ask(run: Path, wish: AnyWish) -> None:
    """Put a wish into the run's folder.

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
    """Take away all wishes, in the order in which they came.

    What is no wish is taken away too: nobody could carry it out. A folder that cannot be read has
    none: no run ends for that. Nor has a link to one: what lies there is somebody else's.
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
