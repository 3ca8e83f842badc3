"""Starts a throwaway server: a name, a copied data folder, a free port, the first statements."""

from __future__ import annotations

import datetime
import shutil
import tempfile
from pathlib import Path

from loadstone.model.hints import write
from loadstone.model.message import say
from loadstone.sandbox import server
from loadstone.sandbox.account import Account
from loadstone.sandbox.binaries import find_server
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.certificates import make_certificates
from loadstone.sandbox.copying import copy_folder
from loadstone.sandbox.disk import check_room, disk_error
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.processes import mark_of_this
from loadstone.sandbox.programs import PROGRAMS, ServerPrograms, canonical_methods
from loadstone.sandbox.sandbox import Sandbox, answers, endpoint_of, place_of
from loadstone.sandbox.spec import SandboxSpec
from loadstone.sandbox.state import (
    SandboxState,
    clear_stale,
    free_name,
    locked,
    read_state,
    remove,
    sandboxes_folder,
    write_state,
)
from loadstone.sandbox.template import copy_template
from loadstone.sandbox.unprivileged import give

_SOCKET_PATH_MOST = 103  # the kernel takes 107 bytes; MySQL's lock file adds ".lock"
_PORT_TRIES = 5
_HIGHEST_PORT = 65_535
_WHATEVER_IS_THERE = SandboxSpec()


def start_sandbox(spec: SandboxSpec = _WHATEVER_IS_THERE) -> Sandbox:
    """Start a throwaway server, and a replica of it if requested.

    Raises:
        SandboxError: says what is in the way, and quotes the end of the server's error log.
    """
    spec = spec.model_copy(update={"auth": canonical_methods(spec.auth)})
    if spec.semi_sync and not spec.replica:
        raise SandboxError(say("semi-sync needs a replica"), write("--replica --semi-sync"))
    binary = find_server(spec.server, spec.root)
    programs = PROGRAMS[binary.family]
    programs.check(binary, spec)
    users = programs.make_accounts(binary, spec)
    primary = _start_one(spec, binary, users, None)
    try:
        if spec.pooler is not None:
            primary.start_pooler(spec.pooler, spec.pooler_settings)
        if not spec.replica:
            return primary
        primary.replica = _start_one(spec, binary, users, primary)
        programs.connect_replica(primary.local, primary.replica.local, binary, primary.port)
    except BaseException:
        primary.stop()
        raise
    return primary


def _start_one(
    spec: SandboxSpec, binary: ServerBinary, users: tuple[Account, ...], primary: Sandbox | None
) -> Sandbox:
    folder, state = _reserve(spec, binary, users, primary)
    try:
        check_room(folder)
        _make_data(spec, binary, folder / "data", primary)
        (folder / "tmp").mkdir(mode=0o700)
        if spec.tls:
            make_certificates(folder / "tls", PROGRAMS[binary.family].keys_of(binary))
        return _start_on_a_free_port(spec, binary, folder, state)
    except OSError as error:
        remove(folder, state)
        raise disk_error(error, folder) from error
    except BaseException:  # also Ctrl-C
        remove(folder, read_state(folder) or state)
        raise


def _make_data(
    spec: SandboxSpec, binary: ServerBinary, datadir: Path, primary: Sandbox | None
) -> None:
    programs = PROGRAMS[binary.family]
    if primary is not None and programs.copy_primary is not None:
        programs.copy_primary(place_of(primary.folder, primary.state), binary, datadir)
    elif spec.data is None:
        copy_template(binary, datadir)
    else:
        copy_folder(spec.data, datadir)
    if programs.refuses_root:
        give(datadir)


def _reserve(
    spec: SandboxSpec, binary: ServerBinary, users: tuple[Account, ...], primary: Sandbox | None
) -> tuple[Path, SandboxState]:
    root = sandboxes_folder()
    us = mark_of_this()
    with locked(root / ".lock"):
        clear_stale(root)
        wanted = spec.name if primary is None else f"{primary.name}-replica"
        name = free_name(root, wanted, binary.flavour)
        folder = root / name
        state = SandboxState(
            name=name,
            phase="making",
            role="primary" if primary is None else "replica",
            partner=primary.name if primary is not None else _partner(spec, name),
            family=binary.family,
            flavour=binary.flavour,
            version=binary.version,
            database=spec.database,
            open_files=PROGRAMS[binary.family].files_of(spec),
            namespace=spec.namespace,
            maker=us,
            owner=us if spec.owned else None,
            accounts=users,
            created_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        try:
            folder.mkdir(mode=0o700)
            write_state(folder, state)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise disk_error(error, folder) from error
    return folder, state


def _partner(spec: SandboxSpec, name: str) -> str | None:
    return f"{name}-replica" if spec.replica else None


def _start_on_a_free_port(
    spec: SandboxSpec, binary: ServerBinary, folder: Path, state: SandboxState
) -> Sandbox:
    programs = PROGRAMS[binary.family]
    sockets = _socket_folder(folder, programs)
    for _ in range(_PORT_TRIES):
        port = server.free_port()
        socket = sockets / Path(programs.socket_file(port)).name
        state = state.model_copy(update={"port": port, "socket": socket})
        try:
            return _start_server(spec, binary, folder, state)
        except server.PortTaken:
            (folder / "error.log").unlink(missing_ok=True)
    raise SandboxError(
        say("no free port on 127.0.0.1"), say("{number} of them were tried", number=_PORT_TRIES)
    )


def _start_server(
    spec: SandboxSpec, binary: ServerBinary, folder: Path, state: SandboxState
) -> Sandbox:
    place, programs = place_of(folder, state), PROGRAMS[binary.family]
    command = programs.command_line(binary, place, spec, state.role)
    first_options = programs.prepare_first_start(binary, place, spec, state.accounts)
    state = state.model_copy(update={"command": command})
    write_state(folder, state)  # so that the socket's folder is found if we are killed now
    launch = server.Launch(
        (*command, *first_options),
        state.open_files,
        spec.owned,
        launcher=state.namespace.launcher if state.namespace else (),
        refuses_root=programs.refuses_root,
    )
    process = server.start(launch, place)
    try:
        mark = server.wait_until_ready(
            process, place, lambda: answers(folder, state), spec.timeout_s
        )
        programs.write_client_file(place, state.accounts[0])
        asked = programs.settings_of(spec, binary, state.role)
        settings = _look_inside(asked, place, state)
        state = state.model_copy(update={"phase": "running", "server": mark, "settings": settings})
        programs.end_first_start(place)
        write_state(folder, state)
    except BaseException:
        server.end(process)
        raise
    return Sandbox(folder, state)


def _socket_folder(folder: Path, programs: ServerPrograms) -> Path:
    longest = folder / programs.socket_file(_HIGHEST_PORT)
    sockets = longest.parent
    if len(str(longest).encode()) > _SOCKET_PATH_MOST:
        sockets = Path(tempfile.mkdtemp(prefix="loadstone-", dir="/tmp"))
    sockets.mkdir(mode=0o700, exist_ok=True)
    if programs.refuses_root:
        give(sockets)
    return sockets


def _look_inside(asked: dict[str, str], place: Place, state: SandboxState) -> dict[str, str]:
    """The server's values of the variables that were set, once all users exist.

    A server continues after a first statement that it refuses, so the users are checked.
    """
    login = endpoint_of(state, state.accounts[0])
    users, values = PROGRAMS[state.family].look_inside(place, state.command, login, asked)
    if missing := [account.user for account in state.accounts if account.user not in users]:
        raise server.not_as_asked(place, f"it refused to make the user {missing[0]}")
    return values
