"""Users of a sandbox: one with all privileges, and one for each requested login method."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from pydantic import SecretStr

from loadstone.model.message import Joined, say
from loadstone.sandbox.account import MAIN_USER, Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.spec import SandboxSpec

SCRAM = "scram-sha-256"

_USERS = {SCRAM: "loadstone_scram", "md5": "loadstone_md5"}
methods = {**{name: name for name in _USERS}, "scram": SCRAM}
"""Authentication methods by all their names, with the name that the server uses."""


def check_methods(methods: Sequence[str]) -> None:
    """Refuse a method that this server does not have.

    Raises:
        SandboxError: names the method, and those that there are.
    """
    for method in methods:
        if method not in _USERS:
            raise SandboxError(
                say("{server} has no {method}", server="postgresql", method=method),
                say("--auth takes {known}", known=Joined(_USERS)),
            )


def make_accounts(binary: ServerBinary, spec: SandboxSpec) -> tuple[Account, ...]:
    """The main user first, then one for each method."""
    password = secrets.token_urlsafe(12) if spec.password is None else spec.password
    # An empty password never fits: who has none is let in without being asked.
    main = Account(
        user=MAIN_USER, password=SecretStr(password), method=SCRAM if password else "trust"
    )
    others = (
        Account(user=_USERS[method], password=SecretStr(secrets.token_urlsafe(12)), method=method)
        for method in spec.auth
    )
    return (main, *others)


def first_statements(database: str, accounts: Sequence[Account]) -> str:
    """Statements that set passwords, and make users and the database; one statement a line.

    The main user exists already: it is the one who made the data folder.
    """
    main, *others = accounts
    password = main.password.get_secret_value()
    lines = [
        f"SET password_encryption = '{SCRAM}';",
        f'ALTER ROLE "{main.user}" PASSWORD {literal(password) if password else "NULL"};',
    ]
    # A kept data folder has the users of the server that left it.
    lines += [f'DROP ROLE IF EXISTS "{user}";' for user in _USERS.values()]
    for account in others:
        lines.append(f"SET password_encryption = '{account.method}';")
        password = literal(account.password.get_secret_value())
        lines.append(f'CREATE ROLE "{account.user}" SUPERUSER LOGIN PASSWORD {password};')
    lines.append(f'CREATE DATABASE "{database}";')
    return "\n".join([*lines, ""])


def login_rules(
    accounts: Sequence[Account], databases: Sequence[str] = ("all", "replication")
) -> str:
    """The content of pg_hba.conf: each user logs in by its own method, from anywhere."""
    lines = []
    for each in accounts:
        for database in databases:
            lines.append(f"local {database} {each.user} {each.method}")
            lines.append(f"host {database} {each.user} all {each.method}")
    return "\n".join([*lines, ""])


def literal(text: str) -> str:
    """A text as an SQL literal on one line."""
    escaped = text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"E'{escaped}'"
