"""`loadstone restore`: put back the variables of targets that a killed run left changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.connection import Connection, connection_options

if TYPE_CHECKING:
    from loadstone.lab.settings_journal import Staged
    from loadstone.model.target import Endpoint


@click.command()
@connection_options
def restore(connection: Connection) -> int:
    """Put back the server variables that a run set and could not put back: it was killed.

    Without a target, on all that there are. Passwords come from where they always do.
    """
    from loadstone.cli.errors import tell
    from loadstone.lab.settings_journal import left_behind, settings_folder
    from loadstone.model.errors import LoadstoneError

    only = connection.endpoint() if connection.given else None
    found = [
        staging
        for staging in left_behind(settings_folder())
        if only is None or only.target.place == staging.place
    ]
    if not found:
        click.echo("nothing to put back", err=True)
    code = 0
    for staging in found:
        try:
            _restore(staging, only or connection.at(staging.target))
        except LoadstoneError as error:
            gone = f"if that server is gone for good, remove {staging.path}"
            tell(error.message, f"{error.hint}; {gone}" if error.hint else gone)
            code = int(error.exit_code)
    return code


def _restore(staging: Staged, endpoint: Endpoint) -> None:
    from loadstone.lab.settings import put_back, take_over

    journal = take_over(staging)
    if journal is None:
        click.echo(f"{staging.place}: its run is still at work, and puts back itself", err=True)
        return
    done = put_back(journal, endpoint)
    names = ", ".join(done.restored) or "nothing had been set"
    click.echo(f"{staging.place}: put back: {names}")
    if done.left:
        left = ", ".join(done.left)
        click.echo(f"{staging.place}: set by somebody else since, and left: {left}", err=True)
