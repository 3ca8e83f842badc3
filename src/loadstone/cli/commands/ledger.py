"""`loadstone ledger check`: whether the writes that a run saw acknowledged are on a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import group, option
from loadstone.cli.language import current
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.types import json_option, out_option
from loadstone.model.message import Joined, say

if TYPE_CHECKING:
    from loadstone.model.failover import LedgerVerdict
    from loadstone.runs.ledger import Book


@group(help=say("Check the entries that `loadstone run ledger` wrote."))
def ledger() -> None:
    """The ledger of a run."""


@ledger.command(
    help=say(
        "Compare the writes that were acknowledged to RUN with what a server has; exit code 10 if"
        " they differ.\n\n"
        "The server may be another one than was loaded: for example the replica that was promoted."
        " Changes nothing. RUN is a run folder, the start of its name, or last; it may have been"
        " killed."
    ),
    examples=(
        (
            say("after a failover, on the new primary"),
            "loadstone ledger check last --target mysql://user@db2/schema",
        ),
    ),
)
@click.argument("run", default="last")
@connection_options
@option(
    "--step",
    type=click.IntRange(min=1),
    help=say("Check only the step with this number. [default: all]"),
)
@json_option
@out_option
def check(run: str, connection: Connection, step: int | None, as_json: bool, out: Path) -> int:
    """Compare a run's ledger with a server."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    from loadstone.cli.ending import tell_ledgers
    from loadstone.cli.screen import show_lines
    from loadstone.lab.tables.ledger_check import check_book
    from loadstone.report.failover import verdict_lines
    from loadstone.runs import run_folder
    from loadstone.runs.ledger import read_books

    path = run_folder.find(out, run)
    endpoint = connection.endpoint()
    found: list[tuple[int, LedgerVerdict]] = []
    for book in _chosen(read_books(path), step, path):
        verdict = check_book(book, endpoint)
        found.append((book.step, verdict))
        if not as_json:
            show_lines([say("step {number}", number=book.step)])
            show_lines(verdict_lines(verdict, current()))
    if as_json:
        steps = [{"step": number} | verdict.model_dump(mode="json") for number, verdict in found]
        click.echo(json.dumps({"version": 1, "run": str(path), "steps": steps}, indent=2))
    return tell_ledgers([verdict for _, verdict in found])


def _chosen(books: dict[int, Book], step: int | None, path: Path) -> list[Book]:
    if step is None:
        return list(books.values())
    if step not in books:
        from loadstone.runs.errors import StoreError

        raise StoreError(
            say("step {number} of {run} wrote no entries", number=step, run=str(path)),
            say("these steps did: {steps}", steps=Joined(books))
            if books
            else say("no step of this run did"),
        )
    return [books[step]]
