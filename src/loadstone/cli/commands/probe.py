"""`loadstone probe`: what a disk can do."""

from __future__ import annotations

from pathlib import Path

import click

from loadstone.cli.options.types import DURATION, json_option


@click.command()
@click.argument(
    "folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path(".")
)
@click.option(
    "--duration", type=DURATION, default="3s", show_default=True, help="Time per measurement."
)
@json_option
def probe(folder: Path, duration: float, as_json: bool) -> int:
    """Measure the disk under FOLDER (syncs, reads and writes per second), for the ceilings.

    Needs room for 256 MiB there, and leaves nothing behind.
    """
    from loadstone.cli.errors import announce
    from loadstone.lab.machine.probe import probe_disk
    from loadstone.lab.step.interrupts import Interrupts
    from loadstone.runs.probe import keep

    with Interrupts() as interrupts:
        found = probe_disk(folder, duration, interrupts, lambda line: announce(line, quiet=as_json))
    path = keep(found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return 0
    from loadstone.model.numbers import digits

    by_sync = (
        "" if found.flushes_per_sync is None else f", {found.flushes_per_sync:.2f} flushes each"
    )
    click.echo(f"syncs of one log        {digits(found.syncs_per_s)}/s{by_sync}")
    click.echo(f"syncs of four logs      {digits(found.syncs_per_s_parallel)}/s")
    click.echo(f"16 KiB writes, random   {digits(found.write_iops)}/s")
    click.echo(f"16 KiB reads, random    {digits(found.read_iops)}/s")
    click.echo(f"writes, one by another  {digits(found.write_bytes_per_s / 1e6)} MB/s")
    click.echo(f"kept  {path}")
    return 0
