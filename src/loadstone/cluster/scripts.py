"""Sends a script to generators: its text, and that of the Lua files in its folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from loadstone.cluster.errors import ClusterError
from loadstone.model.figure import Count
from loadstone.model.message import say

_FILES = "files"
"""Key of the file contents by name; the engine does not know this key."""

MOST_BYTES = 16 << 20
"""Limit for all files together, in bytes, because they are sent to each generator before each
step."""


def with_files(document: str) -> str:
    """The document of a step, with the files of its script if it has one.

    Files that a script loads by `require` or `dofile` may be in its folder as well.

    Raises:
        ClusterError: they cannot be read, or are too large to be sent.
    """
    whole = json.loads(document)
    if "script" not in whole:
        return document
    script = Path(whole["script"]["path"])
    try:
        files = {script, *script.parent.glob("*.lua")}
        size = sum(file.stat().st_size for file in files)
        if size > MOST_BYTES:
            said = say(
                "{folder} has {size} MB of Lua, which all generators would get",
                folder=script.parent,
                size=Count(round(size / 1e6)),
            )
            write = say(
                "put {script} and what it needs into a folder of its own", script=script.name
            )
            raise ClusterError(said, write)
        # Scripts may not be UTF-8, and latin-1 keeps each byte.
        texts = {file.name: file.read_bytes().decode("latin-1") for file in sorted(files)}
    except OSError as error:
        raise ClusterError(
            say("{path} cannot be read: {why}", path=error.filename, why=error.strerror)
        ) from error
    whole["script"][_FILES] = texts
    return json.dumps(whole)


def unpacked(document: str, new_folder: Callable[[], Path]) -> str:
    """The document that `with_files` was given, with its files in a new folder on this machine."""
    whole = json.loads(document)
    files = whole.get("script", {}).pop(_FILES, None)
    if files is None:
        return document
    folder = new_folder()
    for name, text in files.items():
        (folder / Path(name).name).write_bytes(text.encode("latin-1"))
    whole["script"]["path"] = str(folder / Path(whole["script"]["path"]).name)
    return json.dumps(whole)
