"""Starts and ends the connection pooler in front of a throwaway server."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox import server
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.pooler import FOLDER, Pooler
from loadstone.sandbox.processes import ProcessMark
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.state import SandboxState

_PORT_TRIES = 5
_START_S = 60.0
_END_S = 10.0
_FILES = 16_384
"""The limit on open files: one for each client, and for each connection to the server."""


def start_pooler(
    name: str, settings: Mapping[str, str], folder: Path, state: SandboxState
) -> Pooler:
    """Start a pooler in front of a sandbox's running server.

    Raises:
        SandboxError: it does not start; quotes its log.
    """
    programs = PROGRAMS[state.family]
    home = folder / FOLDER
    home.mkdir(mode=0o700, exist_ok=True)
    in_front_of = Place(folder, state.socket, state.port, state.address, state.family)
    for _ in range(_PORT_TRIES):
        port = server.free_port()
        # Next to the server's own socket: its folder has a short enough path.
        socket = state.socket.with_name(Path(programs.socket_file(port)).name)
        place = Place(home, socket, port, state.address, state.family)
        command = programs.prepare_pooler(name, in_front_of, place, state.accounts, settings)
        try:
            process = _run(name, command, place, state)
        except server.PortTaken:
            place.error_log.unlink(missing_ok=True)
        else:
            return Pooler(
                name=name,
                settings=dict(settings),
                command=command,
                port=port,
                socket=socket,
                process=process,
            )
    raise SandboxError(
        say("no free port on 127.0.0.1"), say("{number} of them were tried", number=_PORT_TRIES)
    )


def start_pooler_again(pooler: Pooler, folder: Path, state: SandboxState) -> Pooler:
    """Start a pooler that has ended, on its port.

    Raises:
        SandboxError: it does not start; quotes its log.
    """
    server.reap(pooler.process.pid)
    place = Place(folder / FOLDER, pooler.socket, pooler.port, state.address, state.family)
    try:
        process = _run(pooler.name, pooler.command, place, state)
    except server.PortTaken:
        raise SandboxError(say("port {port} was taken in the meantime", port=pooler.port)) from None
    return pooler.model_copy(update={"process": process})


def end_pooler(pooler: Pooler) -> None:
    """End a pooler; it has nothing to save."""
    pooler.process.signal(signal.SIGKILL)
    pooler.process.wait_until_gone(_END_S)
    server.reap(pooler.process.pid)


def _run(name: str, command: tuple[str, ...], place: Place, state: SandboxState) -> ProcessMark:
    programs = PROGRAMS[state.family]
    place.socket.unlink(missing_ok=True)  # left by one that was killed
    launch = server.Launch(
        command,
        _FILES,
        dies_with_us=state.owner is not None,
        launcher=state.namespace.launcher if state.namespace else (),
        refuses_root=programs.refuses_root,
    )
    process = server.start(launch, place)
    try:
        return server.wait_until_ready(
            process, place, lambda: programs.is_listening(place, state.command), _START_S
        )
    except SandboxError as error:
        server.end(process)
        reason = programs.error_of(error.log_tail) or error.message
        said = say("{name} does not start: {reason}", name=name, reason=reason)
        raise SandboxError(said, error.hint, error.log_tail) from error
