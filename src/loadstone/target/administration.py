"""PyMySQL's connection, for servers that are not to be trusted.

PyMySQL believes the server in more than one way. Here

- a password goes in clear only where nobody can read along (TLS, a unix socket), and under a key
  that the server itself has sent only where nobody can stand in between (loopback), or where
  encryption was declined: the engine's rules;
- an answer has a limit in bytes and in time, also where it comes one byte at a time;
- a request for a local file is refused: none is ever offered;
- bytes that are no packets of the protocol are an error of the protocol, not a bug.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import pymysql
from pymysql import _auth
from pymysql.constants import CR

if TYPE_CHECKING:
    from pymysql.protocol import MysqlPacket

    _Base = pymysql.connections.Connection[pymysql.cursors.Cursor]
else:
    _Base = pymysql.connections.Connection

MOST_BYTES = 256 * 1024 * 1024
"""Of one answer, with what each of its packets costs; that of the largest schema is a tenth."""

_PACKET_COST = 64
_READ_AT_ONCE = 64 * 1024
_LONGEST_ANSWER = 5
"""How many times a statement's time limit its whole answer may take; between two of its bytes
there may be no more than that limit."""

_LOCAL_FILE = "the server asked for a file of this machine, which nobody had offered: refused"
_IN_CLEAR = "the server asks for the password over a line that others could read: refused"
_KEY_NEEDED = "the server wants the password under a key of its own, which anybody could send"


class Administration(_Base):
    """A connection for a few statements."""

    _read_timeout: float | None

    def __init__(
        self,
        *,
        longest_login_s: float,
        longest_statement_s: float,
        may_ask_for_key: bool,
        **more: Any,
    ) -> None:
        self.may_ask_for_key = may_ask_for_key
        self._longest_login_s = longest_login_s
        self._longest_answer_s = _LONGEST_ANSWER * longest_statement_s
        self._expect_answer(longest_login_s)
        super().__init__(
            read_timeout=longest_statement_s,
            write_timeout=longest_statement_s,
            auth_plugin_map=dict(_METHODS),
            local_infile=False,
            **more,
        )

    def connect(self, sock: Any = None) -> None:
        """Log in, within the time that a login may take."""
        statement_s, self._read_timeout = self._read_timeout, self._longest_login_s
        self._expect_answer(self._longest_login_s)
        try:
            with _as_protocol_errors(self):
                super().connect(sock)
        finally:
            self._read_timeout = statement_s

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        self._expect_answer(self._longest_answer_s)
        with _as_protocol_errors(self):
            super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_query_result(self, unbuffered: bool = False) -> int:
        with _as_protocol_errors(self):
            rows: int = super()._read_query_result(unbuffered)  # type: ignore[misc]
            return rows

    def _expect_answer(self, longest_s: float) -> None:
        self._bytes_left = MOST_BYTES
        self._until = time.monotonic() + longest_s

    def _read_bytes(self, num_bytes: int) -> bytes:
        """As PyMySQL's own, within the answer's limits."""
        self._bytes_left -= num_bytes + _PACKET_COST
        data = bytearray()
        while len(data) < num_bytes:
            if self._bytes_left < 0:
                raise self._lost(f"the server's answer is longer than {MOST_BYTES} bytes")
            if time.monotonic() > self._until:
                raise self._lost("the server's answer timed out")
            try:
                piece = self._rfile.read1(min(num_bytes - len(data), _READ_AT_ONCE))  # type: ignore[attr-defined]
            except OSError as error:
                raise self._lost(f"Lost connection to MySQL server ({error})") from error
            if not piece:
                raise self._lost("Lost connection to MySQL server during query")
            data += piece
        return bytes(data)

    def _lost(self, why: str) -> pymysql.err.OperationalError:
        self._force_close()  # type: ignore[attr-defined]
        return pymysql.err.OperationalError(CR.CR_SERVER_LOST, why)


@contextlib.contextmanager
def _as_protocol_errors(connection: Administration) -> Iterator[None]:
    """Whatever PyMySQL stumbles over is the server's doing."""
    try:
        yield
    except (pymysql.MySQLError, OSError):
        raise
    except Exception as error:
        connection._force_close()  # type: ignore[attr-defined]
        if isinstance(error, RuntimeError) and "LOAD_LOCAL" in str(error):
            raise pymysql.err.OperationalError(CR.CR_MALFORMED_PACKET, _LOCAL_FILE) from error
        if isinstance(error, RuntimeError):  # a login method whose package is missing
            raise
        why = f"what the server sent is not the protocol ({type(error).__name__})"
        raise pymysql.err.OperationalError(CR.CR_MALFORMED_PACKET, why) from error


def _roundtrip(connection: Any, answer: bytes) -> MysqlPacket:
    connection.write_packet(answer)
    packet: MysqlPacket = connection._read_packet()
    packet.check_error()
    return packet


def _rest(packet: MysqlPacket) -> bytes:
    data: bytes = packet.read_all()  # type: ignore[no-untyped-call]
    return data


class _Method:
    """A login method that gives nothing away where others could read it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # Afterwards the connection has the server's word for its key, too.
        self.has_key = bool(connection.server_public_key) or connection.may_ask_for_key

    @property
    def gives_away(self) -> bool:
        """Whether the password would go under a key that anybody could have sent."""
        open_line = not (self.connection._secure or self.has_key)
        return open_line and bool(self.connection.password)

    def refuse_key(self) -> pymysql.err.OperationalError:
        return pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_ERR, _KEY_NEEDED)


class _CachingSha2(_Method):
    def authenticate(self, packet: MysqlPacket) -> Any:
        connection = self.connection
        if packet.is_auth_switch_request() and connection.password:
            connection.salt = _rest(packet).removesuffix(b"\0")
            answer = _auth.scramble_caching_sha2(connection.password, connection.salt)
            packet = _roundtrip(connection, answer)
        if packet.get_all_data()[:2] == b"\x01\x04" and self.gives_away:  # type: ignore[no-untyped-call]
            raise self.refuse_key()
        return _auth.caching_sha2_password_auth(connection, packet)


class _Sha256(_Method):
    def authenticate(self, packet: MysqlPacket) -> Any:
        if self.gives_away:
            raise self.refuse_key()
        return _auth.sha256_password_auth(self.connection, packet)  # type: ignore[no-untyped-call]


class _Clear(_Method):
    def authenticate(self, packet: MysqlPacket) -> Any:
        if not self.connection._secure:
            raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, _IN_CLEAR)
        return _roundtrip(self.connection, self.connection.password + b"\0")


class _NotSpoken(_Method):
    """The engine has neither of these: one asks for the password in clear, the other nearly so."""

    name: ClassVar[str]

    def authenticate(self, packet: MysqlPacket) -> Any:
        why = f"the login method {self.name} is not supported"
        raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, why)


class _Dialog(_NotSpoken):
    name = "dialog"


class _Old(_NotSpoken):
    name = "mysql_old_password"


_METHODS: dict[str, Callable[[Any], Any]] = {
    "caching_sha2_password": _CachingSha2,
    "sha256_password": _Sha256,
    "mysql_clear_password": _Clear,
    "dialog": _Dialog,
    "mysql_old_password": _Old,
}
