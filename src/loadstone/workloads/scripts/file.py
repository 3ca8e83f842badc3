"""Reads a script's file: its events and options, and a digest that shows changes."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from loadstone import engine
from loadstone.engine import ScriptContents
from loadstone.model.engine_plan import script_document
from loadstone.model.experiment import Manner, ScriptFile
from loadstone.model.plan import ScriptSpec

ENDING = ".lua"
"""The ending of a script file's name."""


def read_script(spec: ScriptSpec) -> ScriptFile:
    """Load a script, and check that it has events to drive and takes its options.

    Raises:
        OSError: the file cannot be read.
        ScriptRefused: it cannot be loaded, has no events, or does not take an option.
    """
    digest = digest_of(spec)
    script = engine.script(json.dumps(script_document(spec, ())))
    contents = script.contents()
    script.check()
    return ScriptFile(
        sha256=digest,
        prepare=_manner(contents, "prepare"),
        cleanup=_manner(contents, "cleanup"),
    )


def digest_of(spec: ScriptSpec) -> str:
    """A digest of the file's text; modules that it requires are not included.

    Raises:
        OSError: the file cannot be read.
    """
    return sha256(Path(spec.path).read_bytes()).hexdigest()


def _manner(contents: ScriptContents, command: str) -> Manner | None:
    declared = contents.commands.get(command)
    return declared or ("single" if command in contents.functions else None)
