"""`loadstone schema FILE`: what makes an editor check and complete the files that people write."""

from __future__ import annotations

from typing import Any

import click

from loadstone.cli.help.command import command
from loadstone.model.message import say

FILES = ("experiment", "template")


@command(
    help=say(
        "Print the JSON schema of experiment or template files (KIND) for editors.\n\n"
        "Name it in the first line of a TOML file: #:schema ./experiment.schema.json (Taplo, Even"
        " Better TOML; docs/experiments.md)."
    ),
    examples=(
        (say("next to your files"), "loadstone schema experiment > experiment.schema.json"),
        (say("for templates"), "loadstone schema template > template.schema.json"),
    ),
)
@click.argument("kind", type=click.Choice(FILES), metavar="KIND")
def schema(kind: str) -> None:
    """Print a schema."""
    import json

    click.echo(json.dumps(schema_of_kind(kind), indent=2))


def schema_of_kind(kind: str) -> dict[str, Any]:
    """The schema of one of `FILES`."""
    from loadstone.experiments.file import experiment_schema
    from loadstone.workloads.templates.file import template_schema

    return experiment_schema() if kind == "experiment" else template_schema()
