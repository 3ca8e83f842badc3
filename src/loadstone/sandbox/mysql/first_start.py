"""The first start of a server: the statements before any login, and their results."""

from __future__ import annotations

from pathlib import Path

from loadstone.sandbox.account import Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.mysql.accounts import first_statements
from loadstone.sandbox.place import Place
from loadstone.sandbox.spec import UNKNOWN_TO_SERVER, SandboxSpec
from loadstone.servers.connection import Connection

client_file = "client.cnf"


def prepare_first_start(
    binary: ServerBinary, place: Place, spec: SandboxSpec, accounts: tuple[Account, ...]
) -> tuple[str, ...]:
    """Write the statements of the first start; returns the options that only this start has."""
    init_file = _init_file(place)
    init_file.touch(mode=0o600)
    init_file.write_text(first_statements(binary, spec, accounts))
    return (f"--init-file={init_file}",)


def end_first_start(place: Place) -> None:
    """Remove the file of the first start, which has the passwords."""
    _init_file(place).unlink()


def _init_file(place: Place) -> Path:
    """The file of statements that the server runs before anybody can log in."""
    return place.folder / "init.sql"


def users_of(connection: Connection) -> set[str]:
    """All users that the server has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT user FROM mysql.user")
        return {str(row[0]) for row in cursor.fetchall()}


def values_of(connection: Connection, asked: dict[str, str]) -> dict[str, str]:
    """The server's values of the variables that were set."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        values = {str(row[0]): str(row[1]) for row in cursor.fetchall()}
    return {name: _value_of(name, values, asked[name]) for name in asked}


def _value_of(name: str, values: dict[str, str], asked: str) -> str:
    plain = name.removeprefix("loose_")
    if plain in values:
        return values[plain]
    return UNKNOWN_TO_SERVER if name != plain else asked


def write_client_file(place: Place, main: Account) -> None:
    """An option file for other clients."""
    password = main.password.get_secret_value().replace("\\", "\\\\").replace('"', '\\"')
    file = place.folder / client_file
    file.touch(mode=0o600)
    file.write_text(
        f'[client]\nuser={main.user}\npassword="{password}"\n'
        f"host=localhost\nsocket={place.socket}\n"
    )
