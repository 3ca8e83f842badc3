"""Users of a sandbox: one with all privileges, and one for each requested login method."""

from __future__ import annotations

import secrets

from pydantic import SecretStr

from loadstone.model.message import Joined, say
from loadstone.sandbox.account import MAIN_USER, Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.binaries import is_mariadb, mariadb_plugins
from loadstone.sandbox.spec import SandboxSpec

_USERS = {
    "mysql_native_password": "loadstone_native",
    "caching_sha2_password": "loadstone_sha2",
    "sha256_password": "loadstone_sha256",
    "ed25519": "loadstone_ed25519",
    "parsec": "loadstone_parsec",
}
_OTHER_NAMES = {
    "native": "mysql_native_password",
    "sha2": "caching_sha2_password",
    "client_ed25519": "ed25519",
}
_PLUGINS = {"ed25519": "auth_ed25519.so", "parsec": "auth_parsec.so"}
"""What MariaDB loads for a method; its core package has none of them."""

_FIRST_WITH_PARSEC = (11, 6, 1)
methods = {**{name: name for name in _USERS}, **_OTHER_NAMES}
"""Authentication methods by all their names, with the name that the servers use."""


def check_methods(binary: ServerBinary, methods: tuple[str, ...]) -> None:
    """Refuse a method that this server does not have.

    Raises:
        SandboxError: names the method, the server and, if there is one, the alternative.
    """
    for method in methods:
        if method not in _USERS:
            raise SandboxError(
                say("{server} has no {method}", server=binary.flavour, method=method),
                say("--auth takes {known}", known=Joined(_USERS)),
            )
        if (reason := _missing(binary, method)) is not None:
            what, hint = reason
            server = f"{binary.flavour} {binary.version}"
            raise SandboxError(f"{server} has no {method}: {what}", hint)


def make_accounts(binary: ServerBinary, spec: SandboxSpec) -> tuple[Account, ...]:
    """The main user first, then one for each method."""
    password = secrets.token_urlsafe(12) if spec.password is None else spec.password
    own = "mysql_native_password" if is_mariadb(binary) else "caching_sha2_password"
    if not is_mariadb(binary) and binary.release < (8, 0, 4):
        own = "mysql_native_password"
    main = Account(user=MAIN_USER, password=SecretStr(password), method=own)
    others = (
        Account(user=_USERS[method], password=SecretStr(secrets.token_urlsafe(12)), method=method)
        for method in spec.auth
    )
    return (main, *others)


def first_statements(binary: ServerBinary, spec: SandboxSpec, accounts: tuple[Account, ...]) -> str:
    """Statements that the server runs before anybody can log in; one statement a line.

    Root gets a random password that is not stored, so that only the accounts above can log in. None
    of the statements is in the binary log: a replica runs them itself.
    """
    lines = ["SET SESSION sql_log_bin = 0;", f"CREATE DATABASE IF NOT EXISTS `{spec.database}`;"]
    # A kept data folder has the users of the server that left it.
    lines += [f"DROP USER IF EXISTS '{user}'@'%';" for user in (MAIN_USER, *_USERS.values())]
    for account in accounts:
        name = f"'{account.user}'@'%'"
        lines.append(f"CREATE USER {name} {_identified(binary, account)};")
        grant = " WITH GRANT OPTION" if account.user == MAIN_USER else ""
        lines.append(f"GRANT ALL PRIVILEGES ON *.* TO {name}{grant};")
    lines.append(f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{secrets.token_urlsafe(24)}';")
    return "\n".join([*lines, ""])


def auth_options(binary: ServerBinary, methods: tuple[str, ...]) -> tuple[str, ...]:
    """Server options that some methods need."""
    options = []
    if is_mariadb(binary):
        options += [f"--plugin-load-add={plugin}" for plugin in plugins_of(methods)]
    if "mysql_native_password" in methods and (8, 4) <= binary.release[:2] < (9, 0):
        options.append("--mysql-native-password=ON")
    return tuple(options)


def plugins_of(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The files of the plugins that MariaDB needs for these methods."""
    return tuple(_PLUGINS[method] for method in methods if method in _PLUGINS)


def _identified(binary: ServerBinary, account: Account) -> str:
    password = account.password.get_secret_value().replace("\\", "\\\\").replace("'", "''")
    if is_mariadb(binary):
        return f"IDENTIFIED VIA {account.method} USING PASSWORD('{password}')"
    return f"IDENTIFIED WITH {account.method} BY '{password}'"


def _missing(binary: ServerBinary, method: str) -> tuple[str, str] | None:
    if is_mariadb(binary):
        return _missing_in_mariadb(binary, method)
    if method in _PLUGINS:
        return "only MariaDB has it", "--server mariadb"
    if method == "mysql_native_password" and binary.release >= (9, 0, 0):
        return "MySQL 9.0 removed it", "--auth caching_sha2_password, or --server mariadb"
    if method == "caching_sha2_password" and binary.release < (8, 0, 4):
        return "it came with MySQL 8.0.4", "--auth mysql_native_password"
    return None


def _missing_in_mariadb(binary: ServerBinary, method: str) -> tuple[str, str] | None:
    if method in ("caching_sha2_password", "sha256_password"):
        return "it is MySQL's", "--server mysql (tools/get-mysql fetches it)"
    if method == "parsec" and binary.release < _FIRST_WITH_PARSEC:
        return "it came with MariaDB 11.6.1", "--server mariadb-11.8 (tools/get-server fetches it)"
    if (plugin := _PLUGINS.get(method)) is not None and not _has_plugin(binary, plugin):
        hint = "tools/get-mariadb-plugins; for a fetched server tools/get-server --force"
        return "its plugin is not in MariaDB's core package", hint
    return None


def _has_plugin(binary: ServerBinary, plugin: str) -> bool:
    fetched = mariadb_plugins(binary.release)
    prefix = binary.program.resolve().parents[1]
    names = ("lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin", "lib/mariadb/plugin")
    places = [prefix / name for name in names]
    return any((place / plugin).exists() for place in [*places, *([fetched] if fetched else [])])
