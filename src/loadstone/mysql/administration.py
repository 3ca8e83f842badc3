"""PyMySQL's connection, hardened against servers that are not trusted.

PyMySQL trusts the server in several ways. Here

- the password itself only goes to a server that has proved its identity (TLS with a verified
  certificate, a unix socket), or where the user allowed it by name. Encrypted with a key that the
  server itself has sent, and to the same servers within TLS, it only goes where nobody can be in
  between (a server on this machine that listens on loopback), or where encryption was declined:
  these are the engine's rules;
- an answer has a limit in bytes and in time, even if it arrives one byte at a time;
- requests for local files are refused: none is ever offered;
- bytes that are not packets of the protocol are reported as a protocol error, not as a bug.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pymysql
from pymysql import _auth
from pymysql.constants import CLIENT, COMMAND, CR

from loadstone.engine import ed25519_answer, parsec_answer
from loadstone.model.figure import Bytes
from loadstone.model.message import Message, say
from loadstone.mysql.own_statements import MARK

if TYPE_CHECKING:
    from pymysql.protocol import MysqlPacket

    _Base = pymysql.connections.Connection[pymysql.cursors.Cursor]
else:
    _Base = pymysql.connections.Connection

MOST_BYTES = 256 * 1024 * 1024
"""Limit for one answer, with an overhead per packet; the largest schema takes a tenth of it."""

_PACKET_COST = 64
_READ_AT_ONCE = 64 * 1024
_SHOWN = 100
_NONCE = 32
"""The bytes of the server that client_ed25519 and parsec sign."""
_LONGEST_ANSWER = 5
"""A whole answer may take this many times a statement's time limit.

Between two of the answer's bytes no more than that limit itself may pass.
"""

_LOCAL_FILE = say("the server asked for a file of this machine, which nobody had offered: refused")
_METHODS_TO_BEGIN_WITH = ("mysql_native_password", "caching_sha2_password")
_KEY_NEEDED = say("the server asks for the password under its own key, which anybody could send")


@dataclass(frozen=True)
class Trust:
    """What may be given to a server that asks for the password itself."""

    proven: bool
    """The connection is a unix socket, or its TLS verifies that the server is the intended one."""
    believed: bool
    """Any server that answers may send the key that encrypts the password."""
    in_clear: bool
    """The user allowed by name that the password goes to any server that asks within TLS."""


class PasswordWithheld(pymysql.err.OperationalError):
    """The login needs the password itself, and somebody else could get it."""


class Administration(_Base):
    """A connection for a few statements."""

    _read_timeout: float | None
    _auth_plugin_name: str
    asked: tuple[float, str] | None = None
    """The time on the monotonic clock and the text of a statement that is not answered yet."""
    greeting_s = 0.0
    """Seconds from the end of connecting to the end of the greeting."""
    reach: Callable[[], Administration] | None = None
    """Logs in once more, in the same way."""
    shares_sessions: bool | None = None
    """Whether a proxy gives its session to others; `None`: not tried yet."""
    is_passed_on: bool | None = None
    """Whether a proxy answers it; `None`: not looked up yet."""
    session_settings: tuple[str, ...] = ()
    """The statements that set something for this session, and were accepted."""
    _sets: str | None = None
    """Such a statement, which is not answered yet."""
    _is_marked = True

    def __init__(
        self,
        *,
        longest_login_s: float,
        longest_statement_s: float,
        tls: ssl.SSLContext | None,
        tls_required: bool,
        trust: Trust,
        **more: Any,
    ) -> None:
        self.trust = trust
        self._longest_login_s = longest_login_s
        self._longest_answer_s = _LONGEST_ANSWER * longest_statement_s
        self._expect_answer(longest_login_s)
        super().__init__(
            read_timeout=longest_statement_s,
            write_timeout=longest_statement_s,
            auth_plugin_map=dict(_METHODS),
            local_infile=False,
            ssl=tls,
            ssl_disabled=tls is None,
            **more,
        )
        if not tls_required:  # PyMySQL requires TLS whenever it is given a context
            self._ssl_required = False
            self.client_flag &= ~CLIENT.SSL

    def connect(self, sock: Any = None) -> None:
        """Log in, within the time limit for a login."""
        statement_s, self._read_timeout = self._read_timeout, self._longest_login_s
        self._expect_answer(self._longest_login_s)
        try:
            with _as_protocol_errors(self):
                super().connect(sock)
        finally:
            self._read_timeout = statement_s

    def begin(self) -> None:
        """Start a transaction, in words that MariaDB takes with sql_mode=ORACLE, too."""
        with self.cursor() as cursor:
            cursor.execute("START TRANSACTION")

    def _get_server_information(self) -> None:
        began = time.monotonic()
        super()._get_server_information()  # type: ignore[misc]
        self.greeting_s = time.monotonic() - began

    def asked_exactly(self, statement: str) -> tuple[tuple[Any, ...], ...]:
        """The rows of a statement that is sent to the letter, without a mark that it is ours."""
        self._is_marked = False
        try:
            with self.cursor() as cursor:
                cursor.execute(statement)
                return tuple(cursor.fetchall())
        finally:
            self._is_marked = True

    def _request_authentication(self) -> None:
        # PyMySQL would send the password at once if the greeting named sha256_password. Only start
        # with methods that reveal nothing; for others the server must ask by name.
        if self._auth_plugin_name not in _METHODS_TO_BEGIN_WITH:
            self._auth_plugin_name = _METHODS_TO_BEGIN_WITH[0]
        super()._request_authentication()  # type: ignore[misc]

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        self._expect_answer(self._longest_answer_s)
        text = sql if isinstance(sql, str) else sql.decode(errors="replace")
        self.asked = (time.monotonic(), text[:_SHOWN])
        self._sets = text if text.startswith("SET SESSION ") else None
        if command == COMMAND.COM_QUERY and self._is_marked:
            # Who reads the server's log later can tell our statements from the load.
            sql = f"{MARK} {sql}" if isinstance(sql, str) else f"{MARK} ".encode() + sql
        with _as_protocol_errors(self):
            super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_query_result(self, unbuffered: bool = False) -> int:
        with _as_protocol_errors(self), self._until_answered():
            rows: int = super()._read_query_result(unbuffered)  # type: ignore[misc]
        if self._sets is not None:
            self.session_settings += (self._sets,)
            self._sets = None
        return rows

    def _read_ok_packet(self) -> Any:
        with self._until_answered():
            return super()._read_ok_packet()  # type: ignore[misc]

    @contextlib.contextmanager
    def _until_answered(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.asked = None

    def _expect_answer(self, longest_s: float) -> None:
        self._bytes_left = MOST_BYTES
        self._until = time.monotonic() + longest_s

    def _read_bytes(self, num_bytes: int) -> bytes:
        """Read like PyMySQL, but within the answer's limits."""
        self._bytes_left -= num_bytes + _PACKET_COST
        data = bytearray()
        while len(data) < num_bytes:
            if self._bytes_left < 0:
                raise self._lost(
                    say("the server's answer is longer than {size}", size=Bytes(MOST_BYTES))
                )
            if time.monotonic() > self._until:
                raise self._lost(say("the server's answer timed out"))
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
    """Convert everything that PyMySQL trips over into a protocol error: the server caused it."""
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
        why = say(
            "the server's answer does not follow the protocol ({error})",
            error=type(error).__name__,
        )
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
    """A login method that reveals nothing if others could read it."""

    name: ClassVar[str]

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.trust: Trust = connection.trust
        # Look now: during the login the connection also gets a key, on the server's word alone.
        self.has_key = bool(connection.server_public_key) or self.trust.believed

    def check_full_login(self) -> None:
        """Check that nobody else can read the password, or has sent the key that encrypts it.

        Raises:
            pymysql.err.OperationalError: somebody else could.
        """
        if not self.connection.password:
            return
        if not self.connection._secure:
            if not self.has_key:
                raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_ERR, _KEY_NEEDED)
        elif not (self.trust.proven or self.trust.believed or self.trust.in_clear):
            raise self.withheld(_unproven(self.name))

    def withheld(self, why: Message) -> PasswordWithheld:
        return PasswordWithheld(CR.CR_AUTH_PLUGIN_ERR, why)


def _unproven(method: str) -> Message:
    return say(
        "the server asks for the password itself ({method}), and nothing proves whose certificate"
        " this is: refused",
        method=method,
    )


def _open(method: str) -> Message:
    return say(
        "the server asks for the password itself ({method}), and others could read it on this"
        " connection: refused",
        method=method,
    )


class _CachingSha2(_Method):
    name = "caching_sha2_password"

    def authenticate(self, packet: MysqlPacket) -> Any:
        connection = self.connection
        if packet.is_auth_switch_request() and connection.password:
            connection.salt = _rest(packet).removesuffix(b"\0")
            answer = _auth.scramble_caching_sha2(connection.password, connection.salt)
            packet = _roundtrip(connection, answer)
        if packet.get_all_data()[:2] == b"\x01\x04":  # type: ignore[no-untyped-call]
            self.check_full_login()
        return _auth.caching_sha2_password_auth(connection, packet)


class _Sha256(_Method):
    name = "sha256_password"

    def authenticate(self, packet: MysqlPacket) -> Any:
        self.check_full_login()
        return _auth.sha256_password_auth(self.connection, packet)  # type: ignore[no-untyped-call]


class _Clear(_Method):
    name = "mysql_clear_password"

    def authenticate(self, packet: MysqlPacket) -> Any:
        if not self.connection._secure:
            raise self.withheld(_open(self.name))
        if not (self.trust.proven or self.trust.in_clear):
            raise self.withheld(_unproven(self.name))
        return _roundtrip(self.connection, self.connection.password + b"\0")


class _Ed25519(_Method):
    """A signature of the nonce; PyMySQL needs another package for it, the engine has it."""

    name = "client_ed25519"

    def authenticate(self, packet: MysqlPacket) -> Any:
        if not self.connection.password:
            return _roundtrip(self.connection, b"")
        answer = ed25519_answer(self.connection.password, _nonce(packet))
        return _roundtrip(self.connection, answer)


class _Parsec(_Method):
    """The nonces of both sides, signed with the salted password; the server sends the salt."""

    name = "parsec"

    def authenticate(self, packet: MysqlPacket) -> Any:
        salt = _rest(_roundtrip(self.connection, b"")).removeprefix(b"\x01")
        answer = parsec_answer(self.connection.password, _nonce(packet), salt)
        return _roundtrip(self.connection, answer)


def _nonce(packet: MysqlPacket) -> bytes:
    sent = _rest(packet)
    return sent[:-1] if len(sent) == _NONCE + 1 else sent  # a NUL may follow it


class _NotSpoken(_Method):
    """Methods that the engine lacks, too: one needs the password in clear, the other nearly so."""

    def authenticate(self, packet: MysqlPacket) -> Any:
        why = say("the login method {method} is not supported", method=self.name)
        raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, why)


class _Dialog(_NotSpoken):
    name = "dialog"


class _Old(_NotSpoken):
    name = "mysql_old_password"


_METHODS: dict[str, Callable[[Any], Any]] = {
    "caching_sha2_password": _CachingSha2,
    "sha256_password": _Sha256,
    "mysql_clear_password": _Clear,
    "client_ed25519": _Ed25519,
    "parsec": _Parsec,
    "dialog": _Dialog,
    "mysql_old_password": _Old,
}
