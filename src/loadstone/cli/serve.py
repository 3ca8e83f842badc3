"""`loadstone serve`: the live page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.beside import AddressValue
from loadstone.cli.values import WORD

if TYPE_CHECKING:
    from loadstone.web.access import Keys
    from loadstone.web.address import Address

_PORT = 8321


@click.command()
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are kept.",
)
@click.option(
    "--address",
    type=AddressValue("127.0.0.1", _PORT),
    default=f"127.0.0.1:{_PORT}",
    show_default=True,
    help="To listen on; another than loopback needs a token.",
)
@click.option(
    "--token",
    type=WORD,
    envvar="LOADSTONE_TOKEN",
    show_envvar=True,
    help="Asked of everybody; at least 16 characters.",
)
def serve(runs: Path, address: Address, token: str | None) -> int:
    """Show runs in a browser while they go on: rates, connections, CPU, disk, network, findings.

    A run can be stopped there, and its rate and users be changed. Ends with Ctrl-C; no run notices.
    """
    keys = _keys(address, token)
    if not runs.is_dir():
        from loadstone.store.errors import StoreError

        raise StoreError(f"there is no folder {runs}", "say where runs are kept with --runs")
    from loadstone.web.address import found, listen
    from loadstone.web.serving import serve_page

    listening = listen(address)
    other = found(runs)
    if other:
        click.echo(f"note  {other} shows these runs too", err=True)
    url = listening[1].url
    try:
        click.echo(f"live  {url}?token=…" if token else f"live  {url}")
        click.echo("Ctrl-C ends the page; runs go on", err=True)
        serve_page(runs, listening, keys)
    except KeyboardInterrupt:
        pass  # the way to end it
    return 0


def _keys(address: Address, token: str | None) -> Keys:
    from loadstone.web.access import Keys, TokenTooShort, is_loopback

    if token is None and not is_loopback(address.host):
        raise click.UsageError(
            f"whoever reaches {address.host} could stop runs: say a secret with --token"
        )
    try:
        return Keys(token)
    except TokenTooShort as error:
        raise click.UsageError(f"--token: {error}") from error
