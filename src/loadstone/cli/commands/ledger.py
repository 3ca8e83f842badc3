"""`loadstone ledger check`: whether the writes that a run saw acknowledged are on a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.types import json_option, out_option

if TYPE_CHECKING:
    from loadstone.model.failover import LedgerVerdict
    from loadstone.runs.ledger import Book


@click.group()
def ledger() -> None:
    """Check what became of the entries that `loadstone run ledger` wrote."""


@ledger.command()
@click.argument("run", default="last")
@connection_options
@click.option("--step", type=click.IntRange(min=1), help="Check only this step. [default: all]")
@json_option
@out_option
def check(run: str, connection: Connection, step: int | None, as_json: bool, out: Path) -> int:
    """Compare what RUN was told with what a server has; code 10 where they differ.

    The server need not be the one that was loaded: ask the replica that was promoted. Nothing is
    changed. RUN is a folder, the begin of its name, or the last, and may have been killed.
    """
    if not connection.given:
        raise click.UsageError("say which server to ask with --target")
    from loadstone.cli.ending import tell_ledgers
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
            click.echo(f"step {book.step}")
            click.echo("\n".join(verdict_lines(verdict)))
    if as_json:
        steps = [{"step": number} | verdict.model_dump(mode="json") for number, verdict in found]
        click.echo(json.dumps({"version": 1, "run": str(path), "steps": steps}, indent=2))
    return tell_ledgers([verdict for _, verdict in found])


def _chosen(books: dict[int, Book], step: int | None, path: Path) -> list[Book]:
    if step is None:
        return list(books.values())
    if step not in books:
        from loadstone.runs.errors import StoreError

        written = ", ".join(str(number) for number in books) or "none"
        raise StoreError(f"step {step} of {path} wrote no entries", f"those that did: {written}")
    return [books[step]]
