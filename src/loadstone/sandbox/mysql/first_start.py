"""The first start of a server: the statements before any login."""

from __future__ import annotations

from pathlib import Path

from loadstone.sandbox.account import Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.mysql.accounts import first_statements
from loadstone.sandbox.place import Place
from loadstone.sandbox.spec import SandboxSpec


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
