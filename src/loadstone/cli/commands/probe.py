"""`loadstone probe`: what a disk can do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.types import DURATION, json_option
from loadstone.model.figure import Rate
from loadstone.model.message import Message, say

if TYPE_CHECKING:
    from loadstone.model.probe import DiskProbe


@command(
    help=say(
        "Measure the disk under FOLDER (syncs, reads and writes per second), for the ceilings.\n\n"
        "Needs 256 MiB of free space there, and leaves nothing behind. [default: the current"
        " folder]"
    )
)
@click.argument(
    "folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path(".")
)
@option(
    "--duration",
    type=DURATION,
    own=True,
    default="3s",
    show_default=True,
    help=say("Time per measurement."),
)
@json_option
def probe(folder: Path, duration: float, as_json: bool) -> int:
    """Measure a disk."""
    from loadstone.cli.errors import announce
    from loadstone.cli.screen import show_lines
    from loadstone.lab.machine.probe import probe_disk
    from loadstone.lab.step.interrupts import Interrupts
    from loadstone.runs.probe import keep

    with Interrupts() as interrupts:
        found = probe_disk(folder, duration, interrupts, lambda line: announce(line, quiet=as_json))
    path = keep(found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return 0
    show_lines(_lines(found))
    click.echo(in_words(say("saved  {path}", path=str(path))))
    return 0


def _lines(found: DiskProbe) -> Iterator[Message]:
    yield _syncs(found)
    yield say("syncs of four logs      {rate}/s", rate=Rate(found.syncs_per_s_parallel))
    yield say("16 KiB writes, random   {rate}/s", rate=Rate(found.write_iops))
    yield say("16 KiB reads, random    {rate}/s", rate=Rate(found.read_iops))
    yield say("writes, sequential      {rate} MB/s", rate=Rate(found.write_bytes_per_s / 1e6))


def _syncs(found: DiskProbe) -> Message:
    rate = Rate(found.syncs_per_s)
    if found.flushes_per_sync is None:
        return say("syncs of one log        {rate}/s", rate=rate)
    flushes = f"{found.flushes_per_sync:.2f}"
    return say(
        "syncs of one log        {rate}/s, {flushes} flushes each", rate=rate, flushes=flushes
    )
