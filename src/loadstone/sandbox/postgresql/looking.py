"""Looks at a server with the programs that came with it: whether it is up, and what it has."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.accounts import literal
from loadstone.sandbox.postgresql.binaries import sibling
from loadstone.sandbox.postgresql.clients import conninfo
from loadstone.sandbox.postgresql.running import run_program

_NOT_YET = (1, 2)
"""pg_isready(1): the server rejects connections, as while it starts; or does not answer."""


def answers(place: Place, command: Sequence[str], login: Endpoint) -> bool:
    """Whether the server accepts connections over its socket.

    Raises:
        SandboxError: the program that asks cannot be used.
    """
    return is_listening(place, command)


def is_listening(place: Place, command: Sequence[str]) -> bool:
    """Whether the server, or a pooler in front of it, accepts connections over its socket.

    Raises:
        SandboxError: the program that asks cannot be used.
    """
    asks = sibling(command, "pg_isready")
    where = ("-h", str(place.socket.parent), "-p", str(place.port), "-t", "5")
    done = run_program([str(asks), *where])
    if done.returncode == 0:
        return True
    if done.returncode in _NOT_YET:
        return False
    raise SandboxError(
        say("{command}: {reason}", command=str(asks), reason=done.stderr.strip() or done.returncode)
    )


def look_inside(
    place: Place, command: Sequence[str], login: Endpoint, asked: Mapping[str, str]
) -> tuple[set[str], dict[str, str]]:
    """All users that the server has, and its values of the parameters that were set.

    Raises:
        SandboxError: it refuses the main user's login, or the question.
    """
    names = ", ".join(map(literal, asked))
    sql = (
        "SELECT 'user', rolname, '' FROM pg_roles UNION ALL"
        f" SELECT 'value', name, current_setting(name) FROM unnest(ARRAY[{names}]::text[]) AS name;"
    )
    psql = sibling(command, "psql")
    database = login.target.database or ""
    words = (str(psql), "--no-psqlrc", "--no-password", "--csv", "--tuples-only")
    stops = ("--set=ON_ERROR_STOP=1", f"--dbname={conninfo(place, database)}")
    done = run_program([*words, *stops], sql)
    if done.returncode != 0:
        reason = done.stderr.strip() or str(done.returncode)
        raise SandboxError(say("the server is up, but {reason}", reason=reason))
    rows = list(csv.reader(done.stdout.splitlines(keepends=True)))
    users = {name for kind, name, _ in rows if kind == "user"}
    values = {name: value for kind, name, value in rows if kind == "value"}
    return users, values
