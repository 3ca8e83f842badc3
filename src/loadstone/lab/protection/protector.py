"""Watches the effects of a load on servers and their neighbours; decides when it must end or wait.

docs/protection.md says what is counted and how. Everything is judged here, whatever drives the
load; `lab.step.runner` acts on the decisions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from loadstone.families import connect, family_of
from loadstone.lab.protection.conditions import Judge
from loadstone.lab.protection.watch import THE_LOAD, Ground, Place, Replica, Watch
from loadstone.lab.protection.whereabouts import is_throwaway
from loadstone.model.message import Message, plain, say
from loadstone.model.observed import SourceName
from loadstone.model.protection import (
    OF_REPLICAS,
    OF_THE_LOAD,
    OF_THE_OTHERS,
    Condition,
    ConditionError,
    Protection,
    condition,
    unknown_row,
)
from loadstone.model.target import PORTS, Endpoint, Target
from loadstone.model.target_url import SCHEMES
from loadstone.observe.latest import DATA_FREE, DATA_SIZE
from loadstone.observe.others import Others, OthersAsked
from loadstone.observe.sampler import Sampling, Watched
from loadstone.observe.samplers import Counters, counters_of, needed_counters
from loadstone.observe.source import Source
from loadstone.sandbox import SandboxError, find_sandbox, sandbox_at
from loadstone.servers.connection import Connection
from loadstone.servers.errors import TargetError
from loadstone.servers.family import Words

Reach = Callable[[Target], Endpoint]
"""Returns how to reach a target, with its password."""

_BESIDE_USERS = 4
"""Connections of our account apart from the users': samplers, and checks of tables."""

_RETRY_S = 1.0
"""Seconds between attempts to reconnect: the watch must be back soon after the load, because a run
ends when a watched server is silent."""

_FEW_RUNNING = 20
_MORE_RUNNING = 5
_GIGABYTE = 1024.0**3
_SOME_SPACE = 200 * _GIGABYTE
"""On file systems of at least this size, 10 GB are less than 5 %."""

SLOWED_DOWN = "others_slowdown>5 for 10s"
FALLS_BEHIND = "replica_lag_growth>30s for 10s"
NEARLY_FULL = ("disk_free<5%", "disk_free<10GB")


class Protector:
    """Protects one run: knows the requested conditions, and the state before the load."""

    def __init__(self, asked: Protection, reach: Reach, *, by_user: bool = False) -> None:
        """Create it; `by_user`: several machines drive the load, so the user identifies it."""
        self._asked = asked
        self._reach = reach
        self._by_user = by_user
        self._grounds: dict[str, Ground] = {}
        self._replicas: dict[str, Replica] = {}
        self._told: set[str] = set()
        self.notes: list[Message] = []
        """What is not watched, and why, for readers of the run. Removed once reported."""

    def look(self, endpoints: Sequence[Endpoint]) -> None:
        """Find out what can be judged at these targets; each target is examined once.

        Raises:
            ConditionError: a requested figure is one that no server there can report.
            TargetError: a server cannot be asked for a requested figure.
        """
        for endpoint in endpoints:
            if endpoint.target.url not in self._grounds:
                self._look_at(endpoint)
        for target in self._asked.replicas:
            self._look_at_replica(target)
        wanted = next((one for one in self._asked.asked if one.figure in OF_REPLICAS), None)
        if wanted and not self._replicas:
            places = ", ".join(endpoint.target.place for endpoint in endpoints)
            raise ConditionError(
                say(
                    "'{condition}': {places} is no replica, and a source does not know how far its "
                    "replicas are behind",
                    condition=wanted.text,
                    places=places,
                ),
                say("name them: --replica {url}", url=_example(endpoints[0].target.family)),
            )

    def _look_at(self, endpoint: Endpoint) -> None:
        target = endpoint.target
        ours = is_throwaway(endpoint)
        asked = [one for one in self._asked.asked if _is_asked_of_a_server(one)]
        if not asked and (ours or not self._asked.defaults):
            return
        counters = needed_counters(target) if asked else counters_of(target)
        if counters is None:
            self._note(say("{place} is not watched for harm", place=target.place))
            return
        self._look_with(counters, endpoint, asked)

    def _look_with(
        self, counters: Counters, endpoint: Endpoint, asked: Sequence[Condition]
    ) -> None:
        target = endpoint.target
        family = family_of(target)
        ours = is_throwaway(endpoint)
        try:
            with connect(endpoint, database=None) as connection:
                found = counters.look_at_others(connection)
                server = family.server_of(connection, target)
                self._check(target, found, counters.status_rows(connection))
                follows = _follows(connection, target)
                if follows is not None:
                    self._add_replica(endpoint, follows)
        except (TargetError, family.Error, LookupError, ValueError) as error:
            said = counters.reason(error)
            if asked:
                raise TargetError(
                    "statement_failed",
                    say("{place} cannot be watched: {why}", place=target.place, why=said),
                ) from error
            self._note(say("{place} is not watched for harm: {why}", place=target.place, why=said))
            return
        if not (found.shows_work or ours) and self._asked.defaults:
            self._note(
                say(
                    "{place}: threads_running is not watched: other users' sessions are not shown"
                    " ({right})",
                    place=target.place,
                    right=family.words.see_lag,
                )
            )
        self._grounds[target.url] = Ground(endpoint, ours, found, server)
        throwaway = sandbox_at(target)
        if throwaway is not None and throwaway.state.role == "primary" and throwaway.state.partner:
            self._add_partner(throwaway.state.partner)

    def _check(self, target: Target, found: Others, rows: dict[str, float]) -> None:
        """Refuse conditions that cannot be evaluated there.

        Raises:
            ConditionError: which condition, and why.
        """
        place, words = target.place, family_of(target).words
        for one in self._asked.asked:
            if one.is_status and one.figure not in rows:
                raise unknown_row(one, place, rows, words.counters)
            if one.figure in OF_THE_OTHERS and not found.has_statements:
                raise _no_sums(one, place, words)
            if one.figure == "threads_running" and not found.shows_work:
                raise ConditionError(
                    say(
                        "'{condition}': {place} does not show this user what other users' sessions"
                        " do",
                        condition=one.text,
                        place=place,
                    ),
                    say("{right} shows it", right=words.see_lag),
                )

    def _add_partner(self, name: str) -> None:
        try:
            self._add_replica(find_sandbox(name).local, True)
        except SandboxError:
            self._note(say("the replica {name} is not watched: it does not run", name=name))

    def _look_at_replica(self, target: Target) -> None:
        """Examine a replica that was named explicitly.

        Raises:
            TargetError: it cannot be reached, or is not a replica.
        """
        counters = needed_counters(target)
        endpoint = self._reach(target)
        if endpoint.target.url in self._replicas:
            return
        with connect(endpoint, database=None) as connection:
            try:
                told = counters.behind(connection)
            except family_of(target).Error as error:
                hint = say(
                    "{right} lets the user read its lag", right=family_of(target).words.see_lag
                )
                said = say(
                    "--replica {place}: {why}",
                    place=endpoint.target.place,
                    why=str(error.args[-1]),
                )
                raise TargetError("statement_failed", said, hint) from error
        if told is None:
            raise TargetError(
                "statement_failed",
                say("--replica {place}: it is no replica", place=endpoint.target.place),
            )
        self._add_replica(endpoint, told.seconds is not None)

    def _add_replica(self, endpoint: Endpoint, follows: bool) -> None:
        self._replicas.setdefault(endpoint.target.url, Replica(endpoint, follows))
        if not follows:
            self._note(
                say(
                    "the replica {place} does not replicate: it falls behind",
                    place=endpoint.target.place,
                )
            )

    def _note(self, text: Message) -> None:
        if text not in self._told:
            self._told.add(text)
            self.notes.append(text)

    def begin(
        self,
        endpoints: Sequence[Endpoint],
        connections: int,
        sampling: Sampling | None,
        began: float,
        ended: Callable[[], bool],
    ) -> Watch | None:
        """Look at the state without a load, and watch from here on.

        Args:
            endpoints: the targets of the load.
            connections: how many it holds, of all targets together.
            sampling: what else is read of servers and hosts.
            began: the run's start on the monotonic clock.
            ended: whether somebody wants no load any more.

        Returns:
            `None` where nothing is watched.

        Raises:
            ConditionError, TargetError: as `look`; or a disk is to be judged whose host nobody
                reads.
        """
        self.look(endpoints)
        disks = self._disks(endpoints, sampling)
        places = dict(disks)
        load = Place(self._judges(lambda one: one.figure in OF_THE_LOAD), THE_LOAD)
        sources: list[Watched] = []
        grounds: dict[SourceName, Ground] = {}
        replicas: dict[SourceName, Replica] = {}
        for number, endpoint in enumerate(endpoints):
            ground = self._grounds.get(endpoint.target.url)
            judges = self._judges(_is_of_a_server)
            if ground is None or not (judges or self._watches_unasked(ground)):
                continue
            name = SourceName(role="server", target=number)
            grounds[name] = ground
            source = self._source(name, ground, self._driven_there(ground, endpoints))
            sources.append(Watched(source, retry_s=_RETRY_S))
            places[name] = Place(judges, plain(endpoint.target.place))
        for number, replica in enumerate(self._replicas.values()):
            name = SourceName(role="replica", target=number)
            replicas[name] = replica
            source_of_it, places[name] = self._watched_replica(name, replica)
            sources.append(source_of_it)
        if not sources and not load.judges and not any(one.judges for one in places.values()):
            return None
        own = Sampling(sources, began)
        compared = frozenset(
            name for name, ground in grounds.items() if self._compares_statements(ground)
        )
        share = math.ceil(connections / len(endpoints)) + _BESIDE_USERS
        held = {
            name: share * len(self._driven_there(ground, endpoints))
            for name, ground in grounds.items()
        }
        watch = Watch(load, places, own, grounds, replicas, compared, held, self._asked.max_load)
        try:
            watch.look_before(ended)
            self._add_defaults(watch)
            for name in disks:
                # A full disk is a reason to stop before anything is done on it.
                watch.take_reading(name, _space(name, sampling), time.monotonic() - began)
        except BaseException:
            own.close()
            raise
        return watch

    def _watched_replica(self, name: SourceName, replica: Replica) -> tuple[Watched, Place]:
        target = replica.endpoint.target
        source = needed_counters(target).replica_source(name, replica.endpoint)
        judges = self._judges(lambda one: one.figure in OF_REPLICAS)
        called = say("the replica {server}", server=target.place)
        return Watched(source, retry_s=_RETRY_S), Place(judges, called)

    def _driven_there(self, ground: Ground, endpoints: Sequence[Endpoint]) -> list[Target]:
        """The targets that are one and the same server: each of them has a share of the load."""
        known = [(one.target, self._grounds.get(one.target.url)) for one in endpoints]
        return [target for target, there in known if there and there.server == ground.server]

    def _source(self, name: SourceName, ground: Ground, driven: list[Target]) -> Source:
        asked = self._asked.asked
        wanted = OthersAsked(
            name=name,
            endpoint=ground.endpoint,
            others=ground.others,
            before=ground.before,
            rows=frozenset(one.figure for one in asked if one.is_status),
            wants_statements=self._compares_statements(ground),
            by_user=self._by_user,
            schemas=tuple(sorted({target.database or "" for target in driven})),
        )
        return needed_counters(ground.endpoint.target).others_source(wanted)

    def _compares_statements(self, ground: Ground) -> bool:
        if not ground.others.has_statements:
            return False
        asked = any(one.figure in OF_THE_OTHERS for one in self._asked.asked)
        return asked or self._watches_unasked(ground)

    def _watches_unasked(self, ground: Ground) -> bool:
        return self._asked.defaults and not ground.is_throwaway

    def _judges(self, fits: Callable[[Condition], bool]) -> list[tuple[Judge, bool]]:
        return [(Judge(one), False) for one in self._asked.asked if fits(one)]

    def _disks(
        self, endpoints: Sequence[Endpoint], sampling: Sampling | None
    ) -> dict[SourceName, Place]:
        """The hosts whose disks are judged.

        Raises:
            ConditionError: a condition names a disk that nobody reads.
        """
        found: dict[SourceName, Place] = {}
        for number, endpoint in enumerate(endpoints):
            name = SourceName(role="server-host", target=number)
            size = sampling.gauge(name, DATA_SIZE) if sampling else None
            judges = self._judges(lambda one: one.figure == "disk_free")
            if judges and size is None:
                raise ConditionError(
                    say(
                        "'{condition}': the disk of {place} is not observed",
                        condition=judges[0][0].condition.text,
                        place=endpoint.target.place,
                    ),
                    say(
                        "read it with --host-ssh, --node-exporter or --prometheus; --no-observe "
                        "reads nothing"
                    ),
                )
            ground = self._grounds.get(endpoint.target.url)
            if size is not None and ground and self._watches_unasked(ground):
                text = NEARLY_FULL[size >= _SOME_SPACE]
                judges.append((Judge(condition(text)), True))
            if judges:
                called = say("the data's disk of {server}", server=endpoint.target.place)
                found[name] = Place(judges, called)
        return found

    def _add_defaults(self, watch: Watch) -> None:
        """Add the default conditions that follow from the state before the load."""
        for name, ground in watch.grounds.items():
            if not self._watches_unasked(ground):
                continue
            most = max(_FEW_RUNNING, _MORE_RUNNING * round(ground.before.running))
            texts = [f"threads_running>{most} for 10s"] if ground.others.shows_work else []
            if ground.others.has_statements:
                texts.append(SLOWED_DOWN)
            watch.places[name].judges.extend((Judge(condition(text)), True) for text in texts)
        unasked = any(self._watches_unasked(ground) for ground in self._grounds.values())
        for name, replica in watch.replicas.items():
            if unasked and replica.follows:
                watch.places[name].judges.append((Judge(condition(FALLS_BEHIND)), True))


def _example(family: str) -> str:
    """A URL of the family's, as a user would write it."""
    scheme = next(scheme for scheme, of in SCHEMES.items() if of == family)
    return f"{scheme}://user@host:{PORTS[family]}"


def _no_sums(asked: Condition, place: str | Message, words: Words) -> ConditionError:
    """The error for a figure of the other clients' statements."""
    if words.statement_sums is None:
        said = say(
            "'{condition}': of {server}, the times of other clients' statements are not read",
            condition=asked.text,
            server=words.server,
        )
        return ConditionError(said, say("threads_running does not need them"))
    said = say(
        "'{condition}': {sums} is off at {place}, or may not be read",
        condition=asked.text,
        sums=words.statement_sums,
        place=place,
    )
    hint = say("it is set when the server starts; threads_running does not need it")
    return ConditionError(said, hint)


def _space(name: SourceName, sampling: Sampling | None) -> dict[str, float]:
    """The latest figures of a host for the disk that holds the data."""
    if sampling is None:
        return {}
    told = {each: sampling.gauge(name, each) for each in (DATA_FREE, DATA_SIZE)}
    return {each: value for each, value in told.items() if value is not None}


def _follows(connection: Connection, target: Target) -> bool | None:
    """Whether a replica is replicating; `None`: the server is not a replica, or may not say."""
    try:
        told = needed_counters(target).behind(connection)
    except family_of(target).Error:
        return None
    return None if told is None else told.seconds is not None


def _is_asked_of_a_server(one: Condition) -> bool:
    """Whether a connection to the server gives this figure, or shows that it is not available."""
    return one.figure not in OF_THE_LOAD and one.figure != "disk_free"


def _is_of_a_server(one: Condition) -> bool:
    return one.is_status or one.figure in ("threads_running", "threads_connected", *OF_THE_OTHERS)
