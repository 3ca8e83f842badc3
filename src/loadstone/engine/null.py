"""Null servers in this process."""

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
    """A null server cannot be started, or is no longer running."""

    exit_code = ExitCode.SANDBOX


class NullServer:
    """A null server on a thread of the engine; it ends when stopped or garbage-collected."""

    def __init__(self, native: _engine.NullServer) -> None:
        self._native = native

    @property
    def port(self) -> int:
        """The TCP port."""
        return self._native.port

    @property
    def socket(self) -> str | None:
        """The path of the unix socket; `None` if none was requested."""
        return self._native.socket

    def stats(self) -> NullServerStats:
        """The current counters.

        Raises:
            NullServerError: it is no longer running.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stats())

    def set_script(self, script: str) -> None:
        """Switch to another script; its time starts again.

        Raises:
            PlanRefused: the script is wrong.
            NullServerError: it is no longer running.
        """
        with _null_server_errors():
            self._native.set_script(script)

    def flush(self) -> None:
        """Reset the counters, the log and the script's time.

        Raises:
            NullServerError: it is no longer running.
        """
        with _null_server_errors():
            self._native.flush()

    def stop(self) -> NullServerStats:
        """Close all connections, write the log if it has a file, and return the counters.

        Raises:
            NullServerError: it is no longer running, or the log could not be written.
        """
        with _null_server_errors():
            return NullServerStats.model_validate_json(self._native.stop())


def null_server(settings: NullServerSettings) -> NullServer:
    """Start a null server; clients can connect when this returns.

    Raises:
        PlanRefused: the settings or the files for TLS are wrong.
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
