"""PgBouncer in front of a throwaway server: its program and its configuration."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.account import MAIN_USER, Account
from loadstone.sandbox.certificates import Certificates
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.accounts import login_rules
from loadstone.sandbox.postgresql.options import DEFAULT_CONNECTIONS
from loadstone.sandbox.trusted import caches, is_ours

NAME = "pgbouncer"

_OF_THE_SANDBOX = frozenset(
    {
        "auth_file",
        "auth_hba_file",
        "auth_type",
        "listen_addr",
        "listen_port",
        "logfile",
        "unix_socket_dir",
        "user",
    }
)
"""Settings that say where the pooler is and who may log in."""


def check_pooler(name: str | None, settings: Mapping[str, str]) -> None:
    """Refuse a pooler that cannot be started here.

    Raises:
        SandboxError: names the problem and what to do.
    """
    if name is None:
        if settings:
            raise SandboxError(say("--pooler-set needs --pooler"), say("--pooler pgbouncer"))
        return
    if name != NAME:
        raise SandboxError(
            say("there is no pooler {name}", name=repr(name)), say("--pooler pgbouncer")
        )
    for setting, value in settings.items():
        if setting in _OF_THE_SANDBOX:
            raise SandboxError(
                say("--pooler-set {name}: a sandbox chooses that itself", name=setting),
                say("leave it out"),
            )
        if "\n" in value:
            raise SandboxError(
                say("--pooler-set {name}: the value has more than one line", name=setting)
            )
    _program()


def prepare_pooler(
    name: str,
    server: Place,
    place: Place,
    accounts: Sequence[Account],
    settings: Mapping[str, str],
) -> tuple[str, ...]:
    """Write the pooler's files; returns its command line.

    Raises:
        SandboxError: its program is not on this machine.
    """
    configuration, users, rules = (
        place.folder / each for each in ("pgbouncer.ini", "users.txt", "hba.conf")
    )
    for file in (configuration, users, rules):
        file.touch(mode=0o600)
    users.write_text("".join(map(_login, accounts)))
    rules.write_text(login_rules(accounts, ("all",)))
    own = {
        "listen_addr": place.address,
        "listen_port": str(place.port),
        "unix_socket_dir": str(place.socket.parent),
        "auth_type": "hba",
        "auth_hba_file": str(rules),
        "auth_file": str(users),
        "admin_users": MAIN_USER,
        "max_client_conn": str(DEFAULT_CONNECTIONS),
        **_tls_settings(Certificates(server.folder / "tls")),
        **settings,
    }
    lines = [
        "[databases]",
        f"* = host={_quoted(str(server.socket.parent))} port={server.port}",
        "[pgbouncer]",
        *(f"{setting} = {value}" for setting, value in own.items()),
    ]
    configuration.write_text("\n".join([*lines, ""]))
    return (str(_program()), str(configuration))


def _program() -> Path:
    found = next(_candidates(), None)
    if found is None:
        raise SandboxError(
            say("no {wanted} on this machine", wanted=NAME),
            say("apt-get install pgbouncer, or tools/get-postgres pgbouncer"),
        )
    return found


def _candidates() -> Iterator[Path]:
    on_path = shutil.which(NAME)
    if on_path is not None:
        yield Path(on_path)
    # Debian's folder of services is not on everybody's PATH.
    yield from (each for each in (Path("/usr/sbin", NAME),) if each.is_file())
    fetched = (cache / NAME / "usr/sbin" / NAME for cache in caches())
    yield from (each for each in fetched if is_ours(each))


def _login(account: Account) -> str:
    password = account.password.get_secret_value().replace('"', '""')
    return f'"{account.user}" "{password}"\n'


def _tls_settings(files: Certificates) -> dict[str, str]:
    if not files.ca.exists():
        return {}
    return {
        "client_tls_sslmode": "allow",
        "client_tls_ca_file": str(files.ca),
        "client_tls_cert_file": str(files.cert("server")),
        "client_tls_key_file": str(files.key("server")),
    }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
