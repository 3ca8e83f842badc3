"""The usual clients of MySQL's and MariaDB's servers, and how they log in."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.sandbox.account import Account
from loadstone.sandbox.place import Place

client_file = "client.cnf"

_CLIENTS = {"mariadb": ("mariadb", "mysql"), "mysql": ("mysql", "mariadb")}


def write_client_file(place: Place, main: Account) -> None:
    """An option file for other clients."""
    password = main.password.get_secret_value().replace("\\", "\\\\").replace('"', '\\"')
    file = place.folder / client_file
    file.touch(mode=0o600)
    file.write_text(
        f'[client]\nuser={main.user}\npassword="{password}"\n'
        f"host=localhost\nsocket={place.socket}\n"
    )


def login_words(place: Place, database: str) -> str:
    """What a person types after a client's name to log in."""
    return f"--defaults-file={place.folder / client_file}"


def clients_of(flavour: str, command: Sequence[str]) -> Sequence[str]:
    """The names of the clients, best match first."""
    return _CLIENTS["mariadb" if flavour == "mariadb" else "mysql"]


def client_command(client: str, place: Place, database: str, statement: str | None) -> list[str]:
    """The command that opens a prompt, or runs one statement."""
    more = ["-e", statement] if statement is not None else []
    return [client, login_words(place, database), *more, database]
