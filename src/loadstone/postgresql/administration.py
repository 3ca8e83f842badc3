"""pg8000's connection, hardened against servers that are not trusted.

pg8000 trusts the server in several ways. Here

- the password itself only goes to a server that has proved its identity (TLS with a verified
  certificate, a unix socket), or within TLS where the user allowed it by name: the engine's rules;
- an answer has a limit in bytes and in time (`line`);
- bytes that are not messages of the protocol are reported as an error of the protocol, not a bug.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import pg8000
from pg8000.core import Context, CoreConnection
from pg8000.dbapi import convert_paramstyle

from loadstone.model.message import Message, say
from loadstone.model.target import ChannelBinding
from loadstone.postgresql.line import Line, LineError
from loadstone.servers.sanitize import plain

APPLICATION = "loadstone administration"
"""By this name sessions of ours are known in the server's lists. The engine's have another one
(`loadstone`): also those of another load than the one that is looked at, which is no work of ours.
"""

_LONGEST_ANSWER = 5
"""A whole answer may take this many times a statement's time limit."""

_LONGEST_LOGIN = 3
"""The limit for the whole login, in multiples of a connection's time limit."""

_SHOWN = 100
_MOST_TEXT = 1000
_OK = 0
_CLEARTEXT = 3
_MD5 = 5
_SASL = 10
_SASL_FINAL = 12
"""Requests of the server: https://www.postgresql.org/docs/current/protocol-message-formats.html"""


_BOUND = b"SCRAM-SHA-256-PLUS"


@dataclass(frozen=True)
class Trust:
    """What may be given to a server that asks for the password itself."""

    proven: bool
    """The connection is a unix socket, or its TLS verifies that the server is the intended one."""
    encrypted: bool
    """Others cannot read the connection."""
    in_clear: bool
    """The user allowed by name that the password goes to any server that asks within TLS."""


@dataclass(frozen=True)
class Login:
    """Who logs in, and to which database."""

    user: str
    password: str
    database: str
    trust: Trust
    options: str | None = None
    """Settings of the session, as on the server's own command line."""
    binding: ChannelBinding = "prefer"
    """Whether the login is bound to the TLS session."""


class PasswordWithheld(pg8000.InterfaceError):  # type: ignore[misc]
    """The login needs the password itself, and somebody else could get it."""

    def __init__(self, said: Message) -> None:
        super().__init__(str(said))
        self.said = said


class NotBound(pg8000.InterfaceError):  # type: ignore[misc]
    """The login must be bound to its TLS session, and is not."""

    def __init__(self, why: Message) -> None:
        self.said = say("the login is not bound to TLS (channel_binding=require): {why}", why=why)
        super().__init__(str(self.said))


class NotTheProtocol(LineError):
    """The server's bytes are no messages of the protocol."""


class Administration(CoreConnection):  # type: ignore[misc]
    """A connection for a few statements, each of which commits by itself outside of `BEGIN`."""

    asked: tuple[float, str] | None = None
    """The time on the monotonic clock and the text of a statement that is not answered yet."""

    def __init__(self, line: Line, login: Login, connect_s: float, statement_s: float) -> None:
        self.line = line
        self.statement_s = statement_s
        self._trust = login.trust
        self._binding = login.binding
        self._is_bound = False
        line.expect(connect_s, _LONGEST_LOGIN * connect_s)
        with self._as_protocol_errors():
            super().__init__(
                user=login.user,
                password=login.password,
                database=login.database,
                application_name=APPLICATION,
                startup_params={"options": login.options} if login.options else None,
                ssl_context=False,
                sock=line,
            )

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:
        """Answer the server's request to prove who we are, unless that gives the password away."""
        kind = int.from_bytes(data[:4], "big")
        if self._binding == "require":
            self._check_binding(kind, data)
        if kind == _CLEARTEXT:
            self._check_trust()
        if kind != _SASL or self._binding == "disable":
            super().handle_AUTHENTICATION_REQUEST(data, context)
            # The server has proved that it knows the account's keys, and sees the same certificate.
            self._is_bound = kind == _SASL_FINAL and self.auth.mechanism_name == _BOUND.decode()
            return
        # For SCRAM-SHA-256-PLUS pg8000 asks its socket for the certificate.
        self._usock: Any = self.line.socket
        try:
            super().handle_AUTHENTICATION_REQUEST(data, context)
        finally:
            self._usock = self.line

    def _check_binding(self, kind: int, data: bytes) -> None:
        """Refuse a login that goes on without being bound to TLS, before anything is given away."""
        if not isinstance(self.line.socket, ssl.SSLSocket):
            raise NotBound(say("the connection is not encrypted"))
        if kind == _SASL and _BOUND not in data[4:].split(b"\0"):
            raise NotBound(say("the server does not offer it"))
        if kind in (_OK, _CLEARTEXT, _MD5) and not self._is_bound:
            raise NotBound(say("the server does not ask for SCRAM"))

    def _check_trust(self) -> None:
        trust = self._trust
        if trust.proven or (trust.encrypted and trust.in_clear):
            return
        if trust.encrypted:
            raise PasswordWithheld(
                say(
                    "the server asks for the password itself ({method}), and nothing proves whose"
                    " certificate this is: refused",
                    method="password",
                )
            )
        raise PasswordWithheld(
            say(
                "the server asks for the password itself ({method}), and others could read it on"
                " this connection: refused",
                method="password",
            )
        )

    def run(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Execute a statement whose `%s` are these values; returns pg8000's context with rows."""
        self.line.expect(self.statement_s, _LONGEST_ANSWER * self.statement_s)
        self.asked = (time.monotonic(), statement[:_SHOWN])
        try:
            with self._as_protocol_errors():
                if not values:
                    return self.execute_simple(statement)
                text, arguments = convert_paramstyle("format", statement, values)
                return self.execute_unnamed(text, vals=arguments)
        finally:
            self.asked = None

    def copy(self, statement: str, pieces: Iterable[bytes]) -> None:
        """Execute a `COPY … FROM STDIN` with these pieces of its input, one after the other."""
        self.line.expect(self.statement_s, _LONGEST_ANSWER * self.statement_s)
        self.asked = (time.monotonic(), statement[:_SHOWN])
        try:
            with self._as_protocol_errors(), self._last_words():
                self.execute_unnamed(statement, stream=pieces)
        finally:
            self.asked = None

    @contextlib.contextmanager
    def _last_words(self) -> Iterator[None]:
        """Report why the server closed the connection, where it said so while we were sending."""
        try:
            yield
        except LineError:
            said = Context(None)
            with contextlib.suppress(LineError):
                self.handle_messages(said)
            if said.error is not None:
                raise said.error from None
            raise

    def taken_notices(self) -> list[str]:
        """The server's notices since the last call, as PostgreSQL's own clients print them."""
        taken = [
            plain(f"{_text(notice, b'S')}:  {_text(notice, b'M')}", _MOST_TEXT)
            for notice in self.notices
        ]
        self.notices.clear()
        return taken

    def parse(self, statement: str) -> None:
        """Have the server parse a statement, without executing it."""
        self.line.expect(self.statement_s, _LONGEST_ANSWER * self.statement_s)
        with self._as_protocol_errors():
            name, *_ = self.prepare_statement(statement, ())
            self.close_prepared_statement(name)

    def set_own(self, settings: Mapping[str, str]) -> None:
        """Set parameters for the session, if that is this connection's own, and no pooler's.

        Those that a server does not have are left out.
        """
        each = ", ".join(f"('{name}', '{value}')" for name, value in settings.items())
        self.run(
            f"SELECT set_config(name, value, false) FROM (VALUES {each}) AS own (name, value)"
            f" WHERE pg_backend_pid() = {self.number} AND current_setting(name, true) IS NOT NULL"
        )

    @property
    def number(self) -> int:
        """The number of the server's process for it, as the login said it; 0: it said none."""
        return int.from_bytes((self._backend_key_data or b"")[:4], "big")

    def cursor(self) -> Rows:
        """Create a cursor."""
        return Rows(self)

    def close(self) -> None:
        """Close the connection, if it is open."""
        if self._usock is not None:
            with contextlib.suppress(LineError):
                super().close()
            self.line.close()

    @contextlib.contextmanager
    def _as_protocol_errors(self) -> Iterator[None]:
        """Convert everything that pg8000 trips over into one error: the server caused it."""
        try:
            yield
        except LineError:
            self.line.close()
            raise
        except (pg8000.Error, OSError):
            raise
        except Exception as error:
            self.line.close()
            raise NotTheProtocol(
                say(
                    "the server's answer does not follow the protocol ({error})",
                    error=type(error).__name__,
                )
            ) from error
        except BaseException:
            # Interrupted within an answer, whose rest would pass for that of the next statement.
            self.line.close()
            raise


def _text(notice: Mapping[bytes, bytes], field: bytes) -> str:
    """A field of a notice: https://www.postgresql.org/docs/current/protocol-error-fields.html."""
    return notice.get(field, b"").decode(errors="replace")


class Rows:
    """A cursor: executes statements and returns their rows."""

    def __init__(self, connection: Administration) -> None:
        self._connection = connection
        self._columns: list[dict[str, Any]] | None = None
        self._rows: Iterator[Any] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self._rows = iter(())

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """An entry per column, its name first; `None` if the statement returns no rows."""
        return [(column["name"],) for column in self._columns] if self._columns else None

    def execute(self, statement: str, values: Any = None, /) -> int:
        """Execute a statement; returns the number of its rows, or of those that it changed."""
        context = self._connection.run(statement, values or ())
        self._columns, self._rows = context.columns, iter(map(tuple, context.rows or ()))
        return max(int(context.row_count), 0)

    def executemany(self, statement: str, values: Any, /) -> int | None:
        """Execute a statement with each of these values; returns the number of rows of all."""
        return sum([self.execute(statement, each) for each in values])

    def fetchone(self) -> Any:
        """The next row; `None` if there is none."""
        return next(self._rows, None)

    def fetchall(self) -> Sequence[Any]:
        """All remaining rows."""
        return list(self._rows)
