"""Null servers inside this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loadstone.engine.native import native, planning
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.null_server import NullServerSettings, NullServerStats

if TYPE_CHECKING:
    from loadstone import _engine


class NullServerError(LoadstoneError):
    """A null server cannot be started, or runs no more."""

    exit_code = ExitCode.SANDBOX


class NullServer:
    """A null server on a thread of the engine's; it ends when it is stopped or forgotten."""

    def __init__(self, native: _engine.NullServer) -> None:
        self._native = native

    @property
    def port(self) -> int:
        """The TCP port."""
        return self._native.port

    @property
    def socket(self) -> str | None:
        """The unix socket, where one was wanted."""
        return self._native.socket

    def stats(self) -> NullServerStats:
        """The counters as they are.

        Raises:
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stats())

    def set_script(self, script: str) -> None:
        """Another script from now on; its time starts again.

        Raises:
            PlanRefused: the script is wrong.
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            self._native.set_script(script)

    def flush(self) -> None:
        """Counters, log and the script's time start again.

        Raises:
            NullServerError: it runs no more.
        """
        with _null_server_errors():
            self._native.flush()

    def stop(self) -> NullServerStats:
        """Close all connections, write the log if it has a file, and say what was counted.

        Raises:
            NullServerError: it runs no more, or the log could not be written.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stop())


def null_server(settings: NullServerSettings) -> NullServer:
    """Start a null server; clients can connect when this returns.

    Raises:
        PlanRefused: the settings, or the files for TLS, are wrong.
        NullServerError: the system refused a port, a socket or the log.
    """
    with _null_server_errors():
        return NullServer(native().null_server(settings.model_dump_json()))


@contextmanager
def _null_server_errors() -> Iterator[None]:
    try:
        with planning():
            yield
    except (OSError, RuntimeError) as error:
        raise NullServerError(str(error)) from error
