"""`loadstone restore`: restore the variables of targets that a killed run left changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.model.message import Joined, Message, say, say_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadstone.lab.variables.journal import Staged
    from loadstone.lab.variables.put_back import Due
    from loadstone.model.target import Endpoint


@command(
    help=say(
        "Restore the server variables that a killed run left changed.\n\n"
        "Without a target: on all servers with leftovers. With a target: on the server that answers"
        " there, wherever it was when its variables were set. Passwords are found as in all other"
        " commands."
    )
)
@connection_options
@option("--dry-run", is_flag=True, help=say("Show what would be restored; change nothing."))
@option(
    "--yes",
    is_flag=True,
    help=say("Restore even if another server answers than the one whose variables were set."),
)
def restore(connection: Connection, dry_run: bool, yes: bool) -> int:
    """Restore variables."""
    from loadstone.cli.errors import tell
    from loadstone.lab.variables.journal import left_behind, settings_folder
    from loadstone.model.errors import LoadstoneError

    only = connection.endpoint() if connection.given else None
    behind = left_behind(settings_folder())
    staged = _at(only, behind.staged)
    unreadable = [each for each in behind.unreadable if not only or each.is_of(only.target)]
    if not (staged or unreadable):
        click.echo(in_words(say("nothing to restore")), err=True)
    code = 0
    said = _Said()
    for unread in unreadable:
        tell(unread.message, unread.hint)
        code = code or int(unread.exit_code)
    for staging in staged:
        endpoint = only or connection.at(staging.target)
        try:
            act = _preview if dry_run else _restore
            code = act(staging, endpoint, said, yes=yes) or code
        except LoadstoneError as error:
            gone = say("if that server is gone for good, remove {file}", file=str(staging.path))
            if error.hint:
                gone = say_in("joined", "{first}; {second}", first=error.hint, second=gone)
            tell(error.message, gone)
            code = code or int(error.exit_code)
    said.out()
    return code


class _Said:
    """Lines on stdout; if that is closed, restoring continues all the same."""

    def __init__(self) -> None:
        self._fault: OSError | None = None

    def line(self, text: Message) -> None:
        """Print a line as soon as it is true."""
        try:
            if not self._fault:
                click.echo(in_words(text))
        except OSError as error:
            self._fault = error

    def out(self) -> None:
        """Report a line that could not be written as an error, as any command does."""
        if self._fault:
            raise self._fault


def _at(only: Endpoint | None, staged: Sequence[Staged]) -> Sequence[Staged]:
    """The entries of the server that answers at the target, and those with its address."""
    if only is None or not staged:
        return staged
    from loadstone.lab.variables.readings import identity_at
    from loadstone.servers.identity import compared

    server = identity_at(only)
    return [
        each
        for each in staged
        if each.place == only.target.place or compared(each.server, server, each.names) != "other"
    ]


def _restore(staging: Staged, endpoint: Endpoint, said: _Said, *, yes: bool) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.lab.variables.put_back import put_back, take_over

    journal = take_over(staging)
    if journal is None:
        return _is_at_work(staging)
    done = put_back(journal, endpoint, anyway=yes)
    place = endpoint.target.place
    said.line(
        say("{server}: restored: {variables}", server=place, variables=Joined(done.restored))
        if done.restored
        else _nothing(place, restarted=done.restarted)
    )
    return tell_left([_at_server(place, each) for each in done.told()])


def _preview(staging: Staged, endpoint: Endpoint, said: _Said, *, yes: bool) -> int:
    from loadstone.cli.errors import tell_left
    from loadstone.lab.variables.journal import is_at_work
    from loadstone.lab.variables.put_back import due_of

    if is_at_work(staging.path):
        return _is_at_work(staging)
    due = due_of(staging, endpoint, anyway=yes)
    place = endpoint.target.place
    said.line(
        say("{server}: would restore: {changes}", server=place, changes=Joined(_changes(due)))
        if due.changes
        else _nothing(place, restarted=due.restarted)
    )
    return tell_left([_at_server(place, each) for each in due.told()])


def _at_server(place: str, what: str) -> Message:
    return say_in("joined", "{first}: {second}", first=place, second=what)


def _changes(due: Due) -> list[Message]:
    return [
        say(
            "{variable} = {old} (now {now})",
            variable=each.variable,
            old=each.old,
            now=due.now[each.variable],
        )
        for each in due.changes
    ]


def _nothing(place: str, *, restarted: bool) -> Message:
    if restarted:
        return say(
            "{server}: nothing to restore: a restart since then has already reset the variables",
            server=place,
        )
    return say("{server}: nothing to restore: no variable had been set", server=place)


def _is_at_work(staging: Staged) -> int:
    said = say(
        "{server}: its run is still active and will restore them itself", server=staging.place
    )
    click.echo(in_words(said), err=True)
    return 0
