"""`loadstone serve`: the live page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.live import AddressValue
from loadstone.cli.options.types import WORD, former, out_option
from loadstone.model.message import say, say_in
from loadstone.servers.redact import TOKEN_VARIABLE, taken_environment

if TYPE_CHECKING:
    from loadstone.web.access import Keys
    from loadstone.web.address import Address

_PORT = 8321


def _taken_token() -> str | None:
    """The token that the program took from the environment at its start."""
    return {**taken_environment(), **os.environ}.get(TOKEN_VARIABLE)


@command(
    help=say(
        "Watch runs live in a browser: rates, connections, CPU, disk, network, findings.\n\n"
        "A running run can be stopped there, and its rate and users can be changed. Open the link"
        " that is printed: it contains the token that the page requires. Ctrl-C ends the page; runs"
        " are not affected."
    )
)
@out_option
@former("--runs", "out", click.Path(path_type=Path))
@option(
    "--address",
    type=AddressValue("127.0.0.1", _PORT),
    default=f"127.0.0.1:{_PORT}",
    show_default=True,
    help=say("Address to listen on."),
)
@option(
    "--token",
    type=WORD,
    default=_taken_token,
    help=say(
        "Token that the page requires, at least 16 characters; also read from LOADSTONE_TOKEN."
        " [default: a new one]"
    ),
)
def serve(out: Path, address: Address, token: str | None) -> int:
    """Serve the live page."""
    keys = _keys(token)
    if not out.is_dir():
        from loadstone.runs.errors import StoreError

        raise StoreError(
            say("there is no folder {folder}", folder=str(out)),
            say("name the folder that holds the runs with --out"),
        )
    from loadstone.web.address import found, listen
    from loadstone.web.serving import serve_page

    listening = listen(address)
    other = found(out)
    if other:
        click.echo(in_words(say("note  {url} shows these runs too", url=str(other))), err=True)
    try:
        click.echo(in_words(say("live  {url}", url=listening[1].link(keys.shown))))
        click.echo(in_words(say("Ctrl-C ends the page; runs continue")), err=True)
        serve_page(out, listening, keys)
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to end it
    return 0


def _keys(token: str | None) -> Keys:
    from loadstone.web.access import Keys, TokenTooShort

    try:
        return Keys() if token is None else Keys(token, is_chosen=True)
    except TokenTooShort as error:
        why = error.args[0]
        raise click.UsageError(
            say_in("joined", "{first}: {second}", first="--token", second=why)
        ) from error
