"""The connection service file of PostgreSQL's clients, read as libpq reads it.

Source: https://www.postgresql.org/docs/current/libpq-pgservice.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loadstone.model import libpq
from loadstone.model.message import Joined, say
from loadstone.model.target_url import unmet_demand
from loadstone.servers.errors import TargetError

_READ = frozenset(
    ("host", "hostaddr", "port", "user", "dbname", "password", "passfile")
    + ("target_session_attrs", "load_balance_hosts", "connect_timeout", libpq.STARTUP_OPTIONS)
    + ("sslmode", "sslnegotiation", "sslrootcert", "sslcert", "sslkey")
    + (libpq.CHANNEL_BINDING, libpq.LOWEST_TLS, libpq.HIGHEST_TLS, libpq.APPLICATION_NAME)
)


def service_of(name: str, files: Sequence[Path]) -> dict[str, str]:
    """The parameters of a service, from the first of these files that has it.

    Raises:
        TargetError: no file has it, one cannot be read, or it has a parameter that is not taken.
        TargetUrlError: it asks for a check that is not made.
    """
    for path in files:
        found = _in_file(name, path)
        if found is not None:
            _refuse_unknown(name, found, path)
            return found
    raise TargetError(
        "options",
        say(
            "there is no service '{name}' (looked in {paths})",
            name=name,
            paths=Joined(map(str, files)),
        ),
        say("PGSERVICEFILE names the file with its section [{name}]", name=name),
    )


def _refuse_unknown(name: str, found: Mapping[str, str], path: Path) -> None:
    for key, value in found.items():
        if libpq.is_unmet_demand(key, value):
            raise unmet_demand(key)
    unknown = [
        key for key in found if key not in _READ and not libpq.has_no_effect(key, found[key])
    ]
    if unknown:
        said = say(
            "{path}: the service '{name}' has {parameters}, not taken here",
            path=str(path),
            name=name,
            parameters=Joined(unknown),
        )
        raise TargetError("options", said, say("take another service, or write a URL"))


def _in_file(name: str, path: Path) -> dict[str, str] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        said = say("cannot read the service file {path}: {reason}", path=str(path), reason=reason)
        raise TargetError("options", said, say("PGSERVICEFILE names another file")) from error
    return section_of(name, text, path)


def section_of(name: str, text: str, path: Path) -> dict[str, str] | None:
    """The parameters in the first section of that name; `None`: there is no such section.

    Raises:
        TargetError: a line of the section is not `name=value`.
    """
    found: dict[str, str] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            if found is not None:
                break
            found = {} if line == f"[{name}]" else None
        elif found is not None:
            key, equals, value = line.partition("=")
            if not equals:
                said = say(
                    "{path}, line {number}: {line} is not name=value",
                    path=str(path),
                    number=number,
                    line=repr(line),
                )
                raise TargetError(
                    "options", said, say("see the PostgreSQL manual: pg_service.conf")
                )
            found.setdefault(key.strip(), value.strip())
    return found
