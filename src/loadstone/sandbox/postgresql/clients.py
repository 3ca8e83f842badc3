"""The server's own client, and how it logs in."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.sandbox.account import MAIN_USER, Account
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.binaries import sibling

client_file = "pgpass"


def write_client_file(place: Place, main: Account) -> None:
    """A password file for other clients (libpq's `passfile`)."""
    password = main.password.get_secret_value().replace("\\", "\\\\").replace(":", "\\:")
    file = place.folder / client_file
    file.touch(mode=0o600)
    file.write_text(f"*:{place.port}:*:{main.user}:{password}\n")


def conninfo(place: Place, database: str) -> str:
    """The main user's login over the unix socket, as one word of libpq."""
    parts = {
        "host": str(place.socket.parent),
        "port": str(place.port),
        "user": MAIN_USER,
        "dbname": database,
        "passfile": str(place.folder / client_file),
    }
    return " ".join(f"{name}={_value(text)}" for name, text in parts.items())


def login_words(place: Place, database: str) -> str:
    """What a person types after the client's name to log in."""
    return f'"{conninfo(place, database)}"'


def clients_of(flavour: str, command: Sequence[str]) -> Sequence[str]:
    """The clients, the server's own first."""
    return (str(sibling(command, "psql")), "psql")


def client_command(client: str, place: Place, database: str, statement: str | None) -> list[str]:
    """The command that opens a prompt, or runs statements."""
    more = [f"--command={statement}"] if statement is not None else []
    return [client, *more, conninfo(place, database)]


def _value(text: str) -> str:
    if text and not set(text) & set(" '\\"):
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
