"""The servers of an experiment: throwaway ones that are restarted for blocks, and targets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from loadstone.experiments.scripts import ScriptTables
from loadstone.experiments.tables import Empty, Fill, Restoring, Tables
from loadstone.experiments.variants import Place
from loadstone.families import connect, family_of
from loadstone.lab.protection.whereabouts import elsewhere, is_throwaway, with_listener
from loadstone.lab.variables.journal import settings_folder
from loadstone.model.experiment import NetworkLimit, Way
from loadstone.model.message import Message, say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.target import PORTS, Endpoint, Target, Tls
from loadstone.sandbox import Sandbox, SandboxError
from loadstone.sandbox.instance import Instance, make_instance
from loadstone.sandbox.kept_data import keep_data, put_data_back
from loadstone.sandbox.kept_tables import Contents, start_loaded
from loadstone.sandbox.network import Namespace, limit_line, make_namespace, remove_namespace
from loadstone.servers.errors import TargetError

Connect = Way | None


@dataclass(frozen=True)
class Loads:
    """What is loaded into a server, and how."""

    tables: Tables
    fill: Fill
    empty: Empty
    scripts: ScriptTables
    contents: Contents | None
    """What is loaded; `None` if that cannot be identified, since scripts load it."""
    tell: Callable[[Message], None]

    def load(self, endpoint: Endpoint) -> None:
        """Make and fill all tables."""
        for at, group in enumerate(self.tables.groups):
            for layout in group:
                self.fill(layout, self._in_schema(endpoint, at))
        for script in self.tables.scripts:
            self._prepare(script, endpoint)

    def reload(self, endpoint: Endpoint) -> None:
        """Drop all tables, and load them again."""
        for at in range(len(self.tables.groups)):
            self.renew(endpoint, at)
        for script in self.tables.scripts:
            place = self._in_schema(endpoint, self.tables.of[script.name])
            self.scripts.cleanup(script, place)
            self._prepare(script, endpoint)

    def without_scripts(self) -> Loads:
        """The loads for a server where a script could drop tables of others."""
        return replace(self, tables=replace(self.tables, scripts=()))

    def _prepare(self, script: WorkloadSpec, endpoint: Endpoint) -> None:
        """Have a script prepare its tables in an empty schema."""
        place = self._in_schema(endpoint, self.tables.of[script.name])
        _drop_schema(place)
        _make_schema(place)
        self.scripts.prepare(script, place)

    def renew(self, endpoint: Endpoint, at: int) -> None:
        """Drop and load the tables of one group again."""
        group, place = self.tables.groups[at], self._in_schema(endpoint, at)
        for layout in group:
            self.empty(layout, place)
        for layout in group:
            self.fill(layout, place)

    def _in_schema(self, endpoint: Endpoint, at: int) -> Endpoint:
        name = self.tables.schema_at(at, endpoint.target.database or "")
        target = endpoint.target.model_copy(update={"database": name})
        return endpoint.model_copy(update={"target": target})


class Host(Protocol):
    """A server that variants are measured on."""

    def prepare(self) -> None:
        """Bring it up with its data, for the first time."""

    def settle(self) -> None:
        """Everything was checked: get ready for the first block."""

    def begin(self) -> None:
        """A block or a round starts: the server runs, with its data in the original state."""

    def renew(self, at: int) -> None:
        """Make the tables of one group again."""

    def limit_line(self, limit: NetworkLimit | None) -> None:
        """Apply this limit to the line between load and server from now on."""

    def rest(self) -> None:
        """Other servers are measured now."""

    def close(self) -> None:
        """Leave nothing behind."""

    def endpoint(self, how: Connect) -> Endpoint:
        """The endpoint for this way of connecting."""

    @property
    def settings_folder(self) -> Path:
        """The folder with the old values of its variables while others are set."""


class OwnServer:
    """A throwaway server."""

    def __init__(self, place: Place, loads: Loads, restoring: Restoring, *, restarts: bool) -> None:
        self._place = place
        # The whole server is ours, and a table of a copied folder looks younger than its entry in
        # our list.
        self._loads = replace(loads, empty=lambda layout, place: _drop_schema(place))
        self._restoring = restoring
        self._restarts = restarts
        self._sandbox: Sandbox | None = None
        self._instance: Instance | None = None
        self._namespace: Namespace | None = None
        self._line: NetworkLimit | None = None
        self._is_new = False

    @property
    def sandbox(self) -> Sandbox:
        """The server, once it is prepared."""
        assert self._sandbox is not None, "prepare comes first"
        return self._sandbox

    @property
    def settings_folder(self) -> Path:
        """The sandbox's own folder: when the server is gone, there is nothing to restore."""
        folder = self.sandbox.folder / "settings"
        folder.mkdir(exist_ok=True, mode=0o700)
        return folder

    def prepare(self) -> None:
        """Start it, without limits, and load its tables."""
        spec = self._place.sandbox
        assert spec is not None, "a target has no sandbox"
        if self._place.apart:
            self._namespace = make_namespace()
            spec = spec.model_copy(update={"namespace": self._namespace})
        loads = self._loads
        self._sandbox = start_loaded(
            spec, loads.contents, lambda sandbox: loads.load(sandbox.tcp), loads.tell
        )
        self._is_new = True

    def settle(self) -> None:
        """Shut the server down cleanly if blocks or a copy of the data are needed."""
        if self._restoring == "copy" or self._restarts:
            self.sandbox.halt()
        if self._restoring == "copy":
            keep_data(self.sandbox)

    def begin(self) -> None:
        """Start it again if blocks need that; otherwise it has been running all the time."""
        self.limit_line(None)  # tables are loaded at full speed
        if self._restoring == "copy":
            self._end()
            put_data_back(self.sandbox)
        elif self._restarts:
            self._end()
        if not self.sandbox.is_running():
            self._start()
        if self._restoring == "prepare" and not self._is_new:
            self._loads.reload(self.sandbox.tcp)
        self._is_new = False

    def renew(self, at: int) -> None:
        """Make the tables of one group again."""
        self.limit_line(None)
        self._loads.renew(self.sandbox.tcp, at)

    def limit_line(self, limit: NetworkLimit | None) -> None:
        """Limit the pair of interfaces in both directions, unless the limit is unchanged."""
        if self._namespace and limit != self._line:
            limit_line(self._namespace, limit)
            self._line = limit

    def rest(self) -> None:
        """Stop a server that is restarted anyway: it takes no memory or time while others run."""
        if self._restoring == "copy" or self._restarts:
            self._end()

    def close(self) -> None:
        """End the server, and remove it, its control groups and its namespace."""
        with contextlib.ExitStack() as stack:
            if self._namespace is not None:
                stack.callback(remove_namespace, self._namespace)
                self._namespace = None
            stack.callback(self._remove_instance)
            if self._sandbox is not None:
                stack.callback(self._sandbox.stop)

    def endpoint(self, how: Connect) -> Endpoint:
        """The endpoint, over TCP unless another way is requested."""
        if how == "pooler":
            pooled = self.sandbox.pooled
            assert pooled is not None, "checked when the file was read"
            return pooled
        return self.sandbox.local if how == "socket" else self.sandbox.tcp

    def _start(self) -> None:
        limit = self._place.cgroup
        if limit:
            self._instance = make_instance(self.sandbox.name, limit, self.sandbox.folder)
        groups = self._instance.groups if self._instance else ()
        self.sandbox.start_again(within=groups)

    def _end(self) -> None:
        if self.sandbox.is_running():
            if self._restoring == "copy":
                self.sandbox.kill()  # its data is thrown away
            else:
                self.sandbox.halt()
        elif self.sandbox.state.server is not None:
            raise SandboxError(
                say("sandbox {name} has ended by itself", name=self.sandbox.name),
                say("see its log"),
            )
        self._remove_instance()

    def _remove_instance(self) -> None:
        if self._instance:
            self._instance.remove()
            self._instance = None


class GivenServer:
    """A target, which the experiment neither starts nor stops."""

    def __init__(
        self,
        target: Target,
        reach: Callable[[Target], Endpoint],
        loads: Loads,
        restoring: Restoring,
    ) -> None:
        self._target = target
        self._reach = reach
        self._loads = loads.without_scripts()
        self._restoring = restoring
        self._endpoint: Endpoint | None = None
        self._is_new = False

    @property
    def settings_folder(self) -> Path:
        """The folder that `loadstone restore` reads."""
        return settings_folder()

    def prepare(self) -> None:
        """Find out how to log in; load the data, if it is loaded again each time."""
        self._endpoint = self._reach(self._target)
        if self._restoring == "prepare":
            self._loads.reload(self._endpoint)
            self._is_new = True

    def settle(self) -> None:
        """Nothing to do."""

    def begin(self) -> None:
        """Load its data again, if requested."""
        if self._restoring == "prepare" and not self._is_new:
            self._loads.reload(self.endpoint(None))
        self._is_new = False

    def renew(self, at: int) -> None:
        """Make the tables of one group again."""
        self._loads.renew(self.endpoint(None), at)

    def limit_line(self, limit: NetworkLimit | None) -> None:
        """Do nothing: the line is not ours to limit, and a plan that needs a limit was refused."""

    def rest(self) -> None:
        """Do nothing: the server stays as it is."""

    def close(self) -> None:
        """Do nothing: the server stays as it is."""

    def endpoint(self, how: Connect) -> Endpoint:
        """The endpoint of the URL, or the socket or port that the server reports."""
        assert self._endpoint is not None, "prepare comes first"
        target = self._endpoint.target
        if how is None or (how == "socket") == (target.socket is not None):
            return self._endpoint
        with connect(self._endpoint, database=None) as connection:
            # A sandbox is on this machine even if it has a network of its own.
            ours = is_throwaway(self._endpoint)
            if not ours and (why := elsewhere(connection, target)) is not None:
                raise TargetError(
                    "unreachable",
                    say(
                        "connect = {how}: the server is not on this machine: {place}, {why}",
                        how=repr(how),
                        place=target.place,
                        why=why,
                    ),
                    say("name it by a URL of its own: [factor.…] target = { url = … }"),
                )
            said = family_of(target).describe_server(connection, target).variables
        socket = family_of(target).socket_of(said)
        if how == "socket" and socket is None:
            raise TargetError(
                "unreachable",
                say("connect = {how}: {place} has no socket", how=repr(how), place=target.place),
            )
        update: dict[str, object] = {"socket": socket}
        if not family_of(target).encrypts_sockets:
            update["tls"] = Tls(mode="disabled")
        if how == "tcp":
            update = {
                "socket": None,
                "host": "127.0.0.1",
                "port": int(said.get("port", PORTS[target.family])),
            }
        other = self._endpoint.model_copy(update={"target": target.model_copy(update=update)})
        return with_listener(other)


def _drop_schema(endpoint: Endpoint) -> None:
    """Drop a schema of a throwaway server with everything in it."""
    target = endpoint.target
    with connect(endpoint, database=None) as connection:
        family_of(target).drop_schema(connection, target, target.database or "")


def _make_schema(endpoint: Endpoint) -> None:
    target = endpoint.target
    with connect(endpoint, database=None) as connection:
        family_of(target).create_schema(connection, target, target.database or "")
