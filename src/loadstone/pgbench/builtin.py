"""pgbench's built-in scripts.

They are what its manual says that they are: https://www.postgresql.org/docs/15/pgbench.html, under
"What Is the “Transaction” Actually Performed in pgbench?".
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.pgbench.errors import Failed

_ROWS = {"branches": 1, "tellers": 10, "accounts": 100_000}
"""Rows of each table at scale 1."""

_DRAWN = "\\set {name} random(1, {rows} * :scale)"
_AID = _DRAWN.format(name="aid", rows=_ROWS["accounts"])
_BID = _DRAWN.format(name="bid", rows=_ROWS["branches"])
_TID = _DRAWN.format(name="tid", rows=_ROWS["tellers"])
_DELTA = "\\set delta random(-5000, 5000)"

_ADD = "UPDATE pgbench_{table} SET {column} = {column} + :delta WHERE {key} = :{key};"
_TO_ACCOUNT = _ADD.format(table="accounts", column="abalance", key="aid")
_TO_TELLER = _ADD.format(table="tellers", column="tbalance", key="tid")
_TO_BRANCH = _ADD.format(table="branches", column="bbalance", key="bid")
_BALANCE = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
_REMEMBER = (
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
    " VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);"
)


@dataclass(frozen=True)
class Builtin:
    """A built-in script."""

    name: str
    about: str
    """What reports call it."""
    commands: tuple[str, ...]

    @property
    def text(self) -> str:
        """The script, one line for each command."""
        return "".join(f"{command}\n" for command in self.commands)


BUILTIN = (
    Builtin(
        "tpcb-like",
        "<builtin: TPC-B (sort of)>",
        (
            *(_AID, _BID, _TID, _DELTA),
            *("BEGIN;", _TO_ACCOUNT, _BALANCE, _TO_TELLER, _TO_BRANCH, _REMEMBER, "END;"),
        ),
    ),
    Builtin(
        "simple-update",
        "<builtin: simple update>",
        (*(_AID, _BID, _TID, _DELTA), *("BEGIN;", _TO_ACCOUNT, _BALANCE, _REMEMBER, "END;")),
    ),
    Builtin("select-only", "<builtin: select only>", (_AID, _BALANCE)),
)


def find(prefix: str) -> Builtin:
    """The script whose name begins so.

    Raises:
        Failed: there is none, or more than one.
    """
    found = [script for script in BUILTIN if script.name.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        many = f'{len(found)} builtin scripts found for prefix "{prefix}"'
        raise Unknown(f"ambiguous builtin name: {many}")
    raise Unknown(f'no builtin script found for name "{prefix}"')


class Unknown(Failed):
    """No built-in script, or not a single one, has that name: the list of them follows."""


def listing() -> str:
    """The lines of `-b list`."""
    lines = (f"  {script.name:>13}: {script.about}\n" for script in BUILTIN)
    return f"Available builtin scripts:\n{''.join(lines)}"


def shown(script: Builtin) -> str:
    """The lines of `--show-script`."""
    return f"-- {script.name}: {script.about}\n{script.text}"
