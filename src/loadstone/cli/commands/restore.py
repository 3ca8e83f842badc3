"""`loadstone restore`: put back the variables of targets that a killed run left changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.options.connection import Connection, connection_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadstone.lab.variables.journal import Staged
    from loadstone.lab.variables.stage import Due
    from loadstone.model.target import Endpoint


@click.command()
@connection_options
@click.option("--dry-run", is_flag=True, help="Show what would be restored; change nothing.")
@click.option(
    "--yes",
    is_flag=True,
    help="Restore even if another server answers than the one whose variables were set.",
)
def restore(connection: Connection, dry_run: bool, yes: bool) -> int:
    """Restore the server variables that a killed run left changed.

    Without a target, on all that there are. With one, on the server that answers there, wherever it
    was when they were set. Passwords come from where they always do.
    """
    from loadstone.cli.errors import tell
    from loadstone.lab.variables.journal import left_behind, settings_folder
    from loadstone.model.errors import LoadstoneError

    only = connection.endpoint() if connection.given else None
    behind = left_behind(settings_folder())
    staged = _at(only, behind.staged)
    unreadable = [each for each in behind.unreadable if not only or each.is_of(only.target)]
    if not (staged or unreadable):
        click.echo("nothing to put back", err=True)
    code = 0
    said = _Said()
    for unread in unreadable:
        tell(unread.message, unread.hint)
        code = code or int(unread.exit_code)
    for staging in staged:
        endpoint = only or connection.at(staging.target)
        try:
            act = _foretell if dry_run else _restore
            code = act(staging, endpoint, said, yes=yes) or code
        except LoadstoneError as error:
            gone = f"if that server is gone for good, remove {staging.path}"
            tell(error.message, f"{error.hint}; {gone}" if error.hint else gone)
            code = code or int(error.exit_code)
    said.out()
    return code


class _Said:
    """What is said on stdout: where that is closed, the rest is put back all the same."""

    def __init__(self) -> None:
        self._fault: OSError | None = None

    def line(self, text: str) -> None:
        """A line, as soon as it is true."""
        try:
            if not self._fault:
                click.echo(text)
        except OSError as error:
            self._fault = error

    def out(self) -> None:
        """The end: what could not be said is an error like that of any command."""
        if self._fault:
            raise self._fault


def _at(only: Endpoint | None, staged: Sequence[Staged]) -> Sequence[Staged]:
    """Those of the server that answers at the target, and those of its address."""
    if only is None or not staged:
        return staged
    from loadstone.lab.variables.stage import identity_at
    from loadstone.servers.identity import compared

    server = identity_at(only)
    return [
        each
        for each in staged
        if each.place == only.target.place or compared(each.server, server, each.names) != "other"
    ]


def _restore(staging: Staged, endpoint: Endpoint, said: _Said, *, yes: bool) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.lab.variables.stage import put_back, take_over

    journal = take_over(staging)
    if journal is None:
        return _is_at_work(staging)
    done = put_back(journal, endpoint, anyway=yes)
    place = endpoint.target.place
    names = ", ".join(done.restored) or _nothing(restarted=done.restarted)
    said.line(f"{place}: put back: {names}")
    return tell_left([f"{place}: {each}" for each in done.told()])


def _foretell(staging: Staged, endpoint: Endpoint, said: _Said, *, yes: bool) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.lab.variables.journal import is_at_work
    from loadstone.lab.variables.stage import due_of

    if is_at_work(staging.path):
        return _is_at_work(staging)
    due = due_of(staging, endpoint, anyway=yes)
    place = endpoint.target.place
    said.line(f"{place}: would put back: {_changes(due) or _nothing(restarted=due.restarted)}")
    return tell_left([f"{place}: {each}" for each in due.told()])


def _changes(due: Due) -> str:
    return ", ".join(
        f"{each.variable} = {each.old} (now {due.now[each.variable]})" for each in due.changes
    )


def _nothing(*, restarted: bool) -> str:
    if restarted:
        return "nothing, as the server was restarted since, which forgets what was set"
    return "nothing had been set"


def _is_at_work(staging: Staged) -> int:
    click.echo(f"{staging.place}: its run is still at work, and puts back itself", err=True)
    return 0
