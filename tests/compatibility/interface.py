"""The interface that scripts rely on: commands, options, exit codes, Python, result.json.

/opt/loadstone/bin/python tests/compatibility/interface.py RUN >interface.json
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import Any

import click

import loadstone
from loadstone.cli.app import app
from loadstone.model.exit_codes import ExitCode

FRAMES = ("steps", "load", "findings")


def interface_of(run: str) -> dict[str, Any]:
    """The whole interface; `run` is a folder whose frames are examined."""
    opened = loadstone.open_run(run)
    return {
        "exit_codes": {code.name: code.value for code in ExitCode},
        "commands": dict(sorted(_commands(app, ()).items())),
        "python": {
            "open_run": sorted(name for name in dir(type(opened)) if not name.startswith("_")),
            "figures": sorted(name for name in dir(opened.figures) if not name.startswith("_")),
        },
        "frames": {
            name: {column: str(kind) for column, kind in getattr(opened, name).schema.items()}
            for name in FRAMES
        },
        "result.json": dict(sorted(paths_of(_schema()).items())),
    }


def _commands(command: click.Command, path: tuple[str, ...]) -> dict[str, str]:
    """Each command that does something, with all spellings of its options."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        found: dict[str, str] = {}
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= _commands(inner, (*path, name))
        return found
    options = [each for each in command.params if isinstance(each, click.Option)]
    spelled = {way for each in options for way in (*each.opts, *each.secondary_opts)}
    return {" ".join(path): " ".join(sorted(spelled))}


def _schema() -> dict[str, Any]:
    for package in ("loadstone.runs", "loadstone.store"):  # the second one until 0.1
        try:
            text = resources.files(package).joinpath("result.schema.json").read_text()
        except ModuleNotFoundError:
            continue
        return dict(json.loads(text))
    raise SystemExit("error: this loadstone has no schema of result.json")


def paths_of(schema: dict[str, Any]) -> dict[str, str]:
    """Each place of a document, as `steps[].latency.response.p99`, and its types there."""
    found: dict[str, set[str]] = {}
    _walk(schema, "", schema.get("$defs", {}), found)
    return {path: "|".join(sorted(types)) for path, types in found.items()}


def _walk(
    schema: dict[str, Any], path: str, definitions: dict[str, Any], found: dict[str, set[str]]
) -> None:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    for choice in schema.get("anyOf", []) + schema.get("oneOf", []):
        _walk(choice, path, definitions, found)
    if "type" in schema:
        found.setdefault(path, set()).add(schema["type"])
    for name, inner in schema.get("properties", {}).items():
        _walk(inner, f"{path}.{name}" if path else name, definitions, found)
    if isinstance(inner := schema.get("additionalProperties"), dict):
        _walk(inner, f"{path}.*", definitions, found)
    if isinstance(inner := schema.get("items"), dict):
        _walk(inner, f"{path}[]", definitions, found)
    for inner in schema.get("prefixItems", []):
        _walk(inner, f"{path}[]", definitions, found)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(interface_of(sys.argv[1]), indent=1) + "\n")
