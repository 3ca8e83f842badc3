"""`loadstone serve`: the live page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.live import AddressValue
from loadstone.cli.options.types import WORD
from loadstone.servers.redact import TOKEN_VARIABLE, taken_environment

if TYPE_CHECKING:
    from loadstone.web.access import Keys
    from loadstone.web.address import Address

_PORT = 8321


def _taken_token() -> str | None:
    """What stood in the environment, from which the program takes it as it begins."""
    return {**taken_environment(), **os.environ}.get(TOKEN_VARIABLE)


@click.command()
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder with run folders.",
)
@click.option(
    "--address",
    type=AddressValue("127.0.0.1", _PORT),
    default=f"127.0.0.1:{_PORT}",
    show_default=True,
    help="Address to listen on.",
)
@click.option(
    "--token",
    type=WORD,
    default=_taken_token,
    help=f"To ask for, at least 16 characters; also {TOKEN_VARIABLE}.  [default: a new one]",
)
def serve(runs: Path, address: Address, token: str | None) -> int:
    """Show runs in a browser while they go on: rates, connections, CPU, disk, network, findings.

    A run can be stopped there, and its rate and users be changed: open the link that is printed,
    which has the token that is asked of everybody. Ends with Ctrl-C; no run notices.
    """
    keys = _keys(token)
    if not runs.is_dir():
        from loadstone.runs.errors import StoreError

        raise StoreError(f"there is no folder {runs}", "say where runs are kept with --runs")
    from loadstone.web.address import found, listen
    from loadstone.web.serving import serve_page

    listening = listen(address)
    other = found(runs)
    if other:
        click.echo(f"note  {other} shows these runs too", err=True)
    try:
        click.echo(f"live  {listening[1].link(keys.shown)}")
        click.echo("Ctrl-C ends the page; runs go on", err=True)
        serve_page(runs, listening, keys)
    except KeyboardInterrupt:
        pass  # the way to end it
    return 0


def _keys(token: str | None) -> Keys:
    from loadstone.web.access import Keys, TokenTooShort

    try:
        return Keys() if token is None else Keys(token, is_chosen=True)
    except TokenTooShort as error:
        raise click.UsageError(f"--token: {error}") from error
