"""`loadstone serve`: the live page."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.live import AddressValue
from loadstone.cli.options.types import FILE, WORD, former, out_option
from loadstone.model.message import say, say_in
from loadstone.servers.redact import TOKEN_VARIABLE, taken_environment

if TYPE_CHECKING:
    from loadstone.web.access import Keys
    from loadstone.web.address import Address
    from loadstone.web.begin.offers import Offers

_PORT = 8321


def _taken_token() -> str | None:
    """The token that the program took from the environment at its start."""
    return {**taken_environment(), **os.environ}.get(TOKEN_VARIABLE)


@command(
    help=say(
        "Watch runs live in a browser: rates, connections, CPU, disk, network, findings.\n\n"
        "A running run can be stopped there, and its rate and users can be changed. Open the link"
        " that is printed: it contains the token that the page requires. Ctrl-C ends the page; runs"
        " are not affected. Needs loadstone[web]."
    ),
    examples=(
        (say("watch the runs in ./runs"), "loadstone serve"),
        (say("also start runs from the page"), "loadstone serve --may-run"),
    ),
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
    "--host-name",
    "names",
    type=WORD,
    multiple=True,
    metavar="HOST",
    help=say(
        "Name under which browsers reach the page through a proxy: bench.example.com. May be"
        " repeated. [default: this machine's names]"
    ),
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
@option(
    "--may-run",
    is_flag=True,
    help=say(
        "Let the page start runs, recipes and proofs: each is a process of its own, which goes on"
        " without the page."
    ),
)
@option(
    "--target",
    "targets",
    type=WORD,
    multiple=True,
    metavar="URL",
    help=say("With --may-run: server and schema that the page offers. May be repeated."),
)
@option(
    "--users",
    type=FILE,
    help=say(
        "File of the people who may open the page, each with a token of their own, what they may do"
        " and on which targets (docs/live.md)."
    ),
)
@option(
    "--tls-cert",
    type=FILE,
    help=say(
        "Serve HTTPS with the certificate in this file (PEM; those of its issuers follow it)."
        " [default: plain HTTP]"
    ),
)
@option("--tls-key", type=FILE, help=say("With --tls-cert: the file with its private key (PEM)."))
def serve(
    out: Path,
    address: Address,
    names: tuple[str, ...],
    token: str | None,
    may_run: bool,
    targets: tuple[str, ...],
    users: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> int:
    """Serve the live page."""
    from loadstone.web.extras import need_page

    need_page("loadstone serve")
    if users is not None and (token is not None or may_run or targets):
        given = "--token" if token is not None else "--may-run" if may_run else "--target"
        raise click.UsageError(
            say("{option}: the file of --users already defines it: leave one out", option=given)
        )
    if targets and not may_run:
        raise click.UsageError(say("{option} needs --may-run", option="--target"))
    keys = _keys(token, users, may_run=may_run)
    address = replace(_with_tls(address, tls_cert, tls_key), proxied=_host_names(names))
    if not out.is_dir():
        _make_or_refuse(out, may_run=may_run or users is not None)
    from loadstone.web.address import found, listen
    from loadstone.web.serving import serve_page

    offers = _offers(targets, keys)
    listening = listen(address)
    other = found(out)
    if other:
        click.echo(in_words(say("note  {url} shows these runs too", url=str(other))), err=True)
    try:
        click.echo(in_words(say("live  {url}", url=listening[1].link(keys.shown))))
        click.echo(in_words(say("Ctrl-C ends the page; runs continue")), err=True)
        serve_page(out, listening, keys, offers=offers)
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to end it
    return 0


def _host_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as they are.

    Raises:
        UsageError: one is no name of a host: it has a scheme, a port or a path.
    """
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?", name):
            raise click.UsageError(
                say("--host-name: {name} is not the name of a host: bench.example.com", name=name)
            )
    return names


def _with_tls(address: Address, certificate: Path | None, key: Path | None) -> Address:
    """The address, with the files of its TLS if there are any.

    Raises:
        TlsRefused: they cannot be used.
    """
    if certificate is None and key is None:
        return address
    if certificate is None or key is None:
        raise click.UsageError(
            say(
                "{option} needs {other}",
                option="--tls-cert" if key is None else "--tls-key",
                other="--tls-key" if key is None else "--tls-cert",
            )
        )
    from loadstone.web.tls import TlsFiles

    files = TlsFiles(certificate, key)
    files.context()
    return replace(address, tls=files)


def _make_or_refuse(out: Path, *, may_run: bool) -> None:
    """Make the folder of runs for a page that begins the first one.

    Raises:
        StoreError: there is none, and nobody may begin a run; or it cannot be made.
    """
    from loadstone.runs.errors import StoreError
    from loadstone.runs.run_folder import check_writable

    if may_run:
        check_writable(out)
        return
    raise StoreError(
        say("there is no folder {folder}", folder=str(out)),
        say("name the folder that holds the runs with --out"),
    )


def _offers(targets: tuple[str, ...], keys: Keys) -> Offers | None:
    """What the page offers to begin; `None` if nobody may begin anything."""
    if not keys.may_run and not any(user.may == "run" for user in keys.users.values()):
        return None
    from loadstone.recipes.offered import recipes_offered
    from loadstone.web.begin.forms import target_text
    from loadstone.web.begin.offers import Offers

    try:
        kept = [target_text(each) for each in targets]
    except ValueError as error:
        raise click.UsageError(
            say_in("joined", "{first}: {second}", first="--target", second=error.args[0])
        ) from error
    return Offers(recipes_offered(), kept)


def _keys(token: str | None, users: Path | None, *, may_run: bool) -> Keys:
    from loadstone.runs.signature import secret_for
    from loadstone.web.access import Keys, TokenTooShort

    if users is not None:
        from loadstone.web.people import users_in

        return Keys(is_chosen=True, users=users_in(users), secret=secret_for("the live page"))
    try:
        if token is None:
            return Keys(may_run=may_run)
        secret = secret_for("the live page")
        return Keys(token, is_chosen=True, may_run=may_run, secret=secret)
    except TokenTooShort as error:
        why = error.args[0]
        raise click.UsageError(
            say_in("joined", "{first}: {second}", first="--token", second=why)
        ) from error
