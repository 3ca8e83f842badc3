"""Orders of our statements and somebody else's, drawn by chance: nothing of theirs changes.

Theirs are definitions of tables during our loads, and variables in addition to those that we set.
"""

from __future__ import annotations

import os
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.between import Between
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.tables import load
from loadstone.lab.tables.load import Cleaning, Loader, layout_for, layout_of, names_of
from loadstone.lab.variables.journal import left_behind
from loadstone.lab.variables.lock import SettingsInUse
from loadstone.lab.variables.put_back import put_back, take_over
from loadstone.lab.variables.stage import SettingsReport, staged
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.errors import LoadstoneError
from loadstone.model.plan import ConnectPolicy
from loadstone.model.records import LoadProgress, LoadStalled
from loadstone.model.target import Endpoint, Tls
from loadstone.mysql import schemas
from loadstone.observe import presence
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import SettingsError
from loadstone.servers.guard import Consent, SchemaState
from loadstone.workloads.templates.file import parse_template
from pooled import KINDS_IN_TURN, Pool
from trust.meddler import Meddler, Moments
from trust.stranger import Stranger, begins_statement, ours_in
from trust.tally import COUNTS

pytestmark = [pytest.mark.server, pytest.mark.slow]

IS_NIGHTLY = bool(os.environ.get("LOADSTONE_NIGHTLY"))
ORDERS = int(os.environ.get("LOADSTONE_ORDERS", "1500" if IS_NIGHTLY else "40"))
# Each night has another seed; a failure names it, and it is printed.
SEED = int(os.environ.get("LOADSTONE_SEED", secrets.randbelow(1_000_000) if IS_NIGHTLY else "1"))
YES = Consent(yes=True)
# The very columns of the template, and of sysbench's tables all but one: rows of either fit in.
TEMPLATE = parse_template(
    """\
[table.orders]
rows = 30
[table.orders.columns]
id = { type = "INT NOT NULL", sequence = true }
k = { type = "INT", integer = [1, 9] }
c = { type = "CHAR(121)", text = 5 }
pad = { type = "CHAR(60)", text = 5 }
[transaction.look]
statements = ["SELECT k FROM orders WHERE id = 1"]
""",
    "orders.toml",
)
THEIR_COLUMNS = "id INT NOT NULL PRIMARY KEY, k INT, c CHAR(121), pad CHAR(60)"


def seeds() -> range:
    """The seeds of all orders of a test."""
    sys.stderr.write(f"LOADSTONE_SEED={SEED} LOADSTONE_ORDERS={ORDERS}\n")
    return range(SEED * 1_000_000, SEED * 1_000_000 + ORDERS)


class Unseen:
    """An observer that ignores everything."""

    def on_progress(self, progress: LoadProgress) -> None:
        pass

    def on_stalled(self, stalled: LoadStalled) -> None:
        pass


@pytest.fixture(params=KINDS_IN_TURN)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    with pool.schema(request.param) as sandbox:
        yield sandbox


def layouts() -> list[Layout]:
    return [layout_for("sbtest", 2, 30), layout_of(TEMPLATE)]


def through(server: Sandbox, between: Between) -> Endpoint:
    known = server.endpoint(tls=Tls(mode="disabled"))
    credentials = known.credentials.model_copy(update={"source": "the test"})
    target = known.target.model_copy(update={"port": between.port})
    return known.model_copy(update={"target": target, "credentials": credentials})


@dataclass(frozen=True)
class Work:
    """One of our commands, and what it may change."""

    name: str
    carry_out: Callable[[], object]
    makes: frozenset[str] = frozenset()
    drops: frozenset[str] = frozenset()


def works(endpoint: Endpoint, chance: random.Random) -> Work:
    """A random command."""
    layout = chance.choice(layouts())
    plan = LoadPlan(layout=layout, parallel=2, connect=ConnectPolicy(retries=0))
    loader = Loader(endpoint, YES, Unseen(), Interrupts())
    names = frozenset(names_of(layout))
    each = frozenset(name for one in layouts() for name in names_of(one))
    return chance.choice(
        [
            Work(f"prepare {layout.kind}", lambda: load.prepare(plan, loader), makes=names),
            Work("cleanup", lambda: load.cleanup(endpoint, Cleaning(YES)), drops=each),
            Work(
                f"cleanup {layout.kind}",
                lambda: load.cleanup(endpoint, Cleaning(YES, names)),
                drops=names,
            ),
        ]
    )


def test_whatever_the_order_nothing_of_a_stranger_s_changes_and_nothing_of_ours_is_lost(
    server: Sandbox,
) -> None:
    COUNTS.clear()
    for seed in seeds():
        _one_order(server, random.Random(seed), seed)
        COUNTS["orders of statements"] += 1
    # Each outcome has occurred, so what is asserted above was put to the test.
    assert len([name for name in COUNTS if name.startswith("deeds done: ")]) == 5, COUNTS
    assert COUNTS["commands done amid deeds"] > ORDERS / 20, COUNTS
    assert COUNTS["lines cut amid tables"] > ORDERS / 20, COUNTS


def _one_order(server: Sandbox, chance: random.Random, seed: int) -> None:
    schema = server.state.database
    _empty(server, schema)
    stranger = a_stranger(server, seed)
    told: list[object] = []
    with Between(server.port) as between:
        endpoint = through(server, between)
        for _ in range(3):
            moments = sorted(chance.sample(range(1, 30), chance.randint(0, 3)))
            cut = chance.randint(1, 40) if chance.random() < 0.25 else None
            amid = Amid(between, stranger, moments, cut)
            told.append((work := works(endpoint, chance)).name)
            told.append(_carried_out(server, work, amid, f"LOADSTONE_SEED: order {seed}: {told}"))
            if amid.was_cut and chance.random() < 0.5:
                stranger.swaps_for_a_copy()
                stranger.ends()
                told.append("a copy")


def a_stranger(server: Sandbox, seed: int) -> Stranger:
    """A client at work in the schema, with two tables."""
    names = [name for layout in layouts() for name in names_of(layout)]
    chance = random.Random(seed + 1)
    schema = server.state.database
    found = Stranger(server, schema, names, THEIR_COLUMNS, chance, copied=["orders"])
    found.makes_some(2)
    return found


@dataclass
class Amid:
    """Acts between our statements and the server: lets somebody act, or cuts the connection."""

    between: Between
    stranger: Stranger
    moments: list[int]
    cut: int | None
    seen: int = 0
    acted: int = 0
    was_cut: bool = False
    also: Callable[[bytes], None] | None = None
    """The stranger, who works on tables at the same time."""

    def __call__(self, sent: bytes) -> None:
        if self.also:
            self.also(sent)
        if not begins_statement(sent) or self.between.shut:
            return
        self.seen += 1
        while self.moments and self.seen >= self.moments[0]:
            self.moments.pop(0)
            self.acted += 1
            self.stranger.acts()
        if self.seen == self.cut:
            COUNTS["lines cut amid tables"] += 1
            self.between.shut = self.was_cut = True
            self.between.cut()


def _carried_out(server: Sandbox, work: Work, amid: Amid, history: str) -> str:
    """Run a command with these disturbances; afterwards everything must be as it has to be."""
    schema = server.state.database
    with server.connect() as connection:
        before = ours_in(connection, schema)
    amid.between.before = amid
    try:
        work.carry_out()
        ended = "done"
    except LoadstoneError as error:
        ended = error.message
    finally:
        amid.between.before, amid.between.shut = None, False
    amid.stranger.ends()
    history = f"{history}: {ended}, after {amid.acted} deeds{', cut' if amid.was_cut else ''}"
    assert amid.stranger.found() == amid.stranger.owned, history
    if ended == "done" and amid.acted:
        COUNTS["commands done amid deeds"] += 1
    with server.connect() as connection:
        after = ours_in(connection, schema)
        state = schemas.read_schema(connection, server.tcp.target, schema)
    lost = {before[mark] for mark in before.keys() - after.keys()}
    # A table that somebody has renamed does not have a name of ours any more.
    assert lost <= work.drops, f"{history}: {lost} is lost"
    _ours_are_whole(server, state, history)
    if ended == "done" and not amid.acted and not amid.was_cut:
        is_ready = {line.name for line in state.listed if line.state == "ready"}
        assert work.makes <= is_ready & {*state.of("ours")}, f"{history}: {state}"
        left = {*after.values()} & work.drops
        assert not left & {*state.of("ours")}, f"{history}: {left} is left"
    return ended


def _ours_are_whole(server: Sandbox, state: SchemaState, history: str) -> None:
    """A table that is reported as complete has all its rows."""
    with server.connect() as connection:
        for line in state.listed:
            if line.state == "ready" and line.name in state.of("ours"):
                place = f"`{state.schema_name}`.`{line.name}`"
                ((rows,),) = _asked(connection, f"SELECT COUNT(*) FROM {place}")
                assert rows == line.rows, history


def _empty(server: Sandbox, schema: str) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS `{schema}`")
        cursor.execute(f"CREATE DATABASE `{schema}`")
    presence._own.clear()


def _asked(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


# Variables that are independent of each other, and without effect within seconds.
VARIABLES = ("max_connect_errors", "net_retry_count", "slow_launch_time", "max_error_count")
SECOND_OF_OURS = 0.05
"""Statements wait a second for the lock."""


def test_whatever_the_order_variables_are_as_if_we_had_not_been_there(
    server: Sandbox, tmp_path: Path
) -> None:
    with server.connect() as connection:
        ((*before,),) = _asked(connection, f"SELECT {_globals()}")
    try:
        for seed in seeds():
            folder = tmp_path / str(seed)
            (folder / "other").mkdir(parents=True)
            _one_order_of_settings(server, folder, seed)
            COUNTS["orders of settings"] += 1
    finally:
        with server.connect() as connection:
            for name, value in zip(VARIABLES, before, strict=True):
                _asked(connection, f"SET GLOBAL {name} = {value}")


def _globals() -> str:
    return ", ".join(f"@@GLOBAL.{name}" for name in VARIABLES)


def _one_order_of_settings(server: Sandbox, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    meddler = Meddler(server, VARIABLES, random.Random(seed + 1))
    meddler.begins()
    with Between(server.port) as between:
        ours = Ours(through(server, between), server.tcp, folder, meddler)
        for work in (ours.stages, chance.choice([ours.stages, ours.restores]), ours.restores):
            is_last = work == ours.restores and chance.random() < 0.5
            count = chance.randint(0, 3)
            moments = sorted(chance.sample(range(1, 45), count))
            cut = None if is_last or chance.random() < 0.5 else chance.randint(1, 45)
            _amid(ours, between, Moments(between, meddler, moments, cut), work)
        _amid(ours, between, Moments(between, meddler, [], None), ours.restores)
    told = f"LOADSTONE_SEED: order {seed}: {meddler.deeds}"
    behind = left_behind(folder)
    assert (behind.staged, behind.unreadable) == ((), ()), told
    found = meddler.found()
    wrong = {name: now for name, now in found.items() if now not in meddler.right[name]}
    assert not wrong, f"{wrong}, not {meddler.right}; {told}"


def _amid(ours: Ours, between: Between, moments: Moments, work: Callable[[], None]) -> None:
    between.before = moments
    try:
        work()
    except LoadstoneError as error:
        ours.meddler.deeds.append(f"{work.__name__}: {error.message}")
        # With an intact line nothing may fail, except because of what an earlier one has left.
        assert between.shut or isinstance(error, SettingsError), ours.meddler.deeds
    finally:
        between.before, between.shut = None, False
    cut_short = any(each.cut_short for each in left_behind(ours.folder).staged)
    ours.meddler.is_ours_for_all_they_know = cut_short
    if cut_short:
        COUNTS["orders cut short between a SET and its note"] += 1
        ours.meddler.may_be_as_before()


@dataclass
class Ours:
    """Sets variables for a while, and restores what was left of an earlier time."""

    endpoint: Endpoint
    direct: Endpoint
    folder: Path
    meddler: Meddler

    def stages(self) -> None:
        chance, deeds = self.meddler.chance, self.meddler.deeds
        names = chance.sample(VARIABLES, chance.randint(1, 3))
        wanted = {name: next(self.meddler.numbers) for name in names}
        deeds.append(f"we want {wanted}")
        told, theirs = SettingsReport(), set[str]()
        texts = {name: str(value) for name, value in wanted.items()}
        with staged(self.endpoint, texts, self.folder, told):
            for _ in range(chance.randint(0, 2)):
                theirs.add(self.meddler.sets_some())
            if chance.random() < SECOND_OF_OURS:
                self.is_refused_beside_ourselves(texts)
            deeds.append("we end")
        # A change by somebody else while the variable was ours is reported, in any case.
        untold = {name for name in theirs.intersection(wanted) if name not in "".join(told.left)}
        assert not untold, f"{untold}: {deeds}"

    def is_refused_beside_ourselves(self, texts: dict[str, str]) -> None:
        COUNTS["seconds of ours that were refused"] += 1
        other = self.folder / "other"
        with pytest.raises(SettingsInUse), staged(self.direct, texts, other):
            pytest.fail("it was set")
        assert not list(other.iterdir())

    def restores(self) -> None:
        for staging in left_behind(self.folder).staged:
            journal = take_over(staging)
            assert journal is not None
            put_back(journal, self.endpoint)


def test_whatever_the_order_tables_and_variables_at_once_are_as_each_alone(
    server: Sandbox, tmp_path: Path
) -> None:
    """As in an experiment: tables are created and dropped while variables are set."""
    with server.connect() as connection:
        ((*before,),) = _asked(connection, f"SELECT {_globals()}")
    try:
        for seed in seeds()[: max(ORDERS // 4, 1)]:
            _one_order_of_both(server, tmp_path / str(seed), seed)
            COUNTS["orders of statements and settings"] += 1
    finally:
        with server.connect() as connection:
            for name, value in zip(VARIABLES, before, strict=True):
                _asked(connection, f"SET GLOBAL {name} = {value}")


def _one_order_of_both(server: Sandbox, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder.mkdir()
    _empty(server, server.state.database)
    stranger = a_stranger(server, seed)
    meddler = Meddler(server, VARIABLES, random.Random(seed + 1))
    meddler.begins()
    with Between(server.port) as between:
        endpoint = through(server, between)
        for _ in range(2):
            names = chance.sample(VARIABLES, chance.randint(1, 3))
            wanted = {name: str(next(meddler.numbers)) for name in names}
            meddler.deeds.append(f"we want {wanted}")
            sets = sorted(chance.sample(range(1, 60), chance.randint(0, 3)))
            between.before = moments = Moments(between, meddler, sets, None)
            acts = sorted(chance.sample(range(1, 30), chance.randint(0, 3)))
            cut = chance.randint(1, 40) if chance.random() < 0.25 else None
            amid = Amid(between, stranger, acts, cut, also=moments)
            work = works(endpoint, chance)
            told = f"LOADSTONE_SEED: order {seed}: {work.name} amid {meddler.deeds}"
            try:
                with staged(endpoint, wanted, folder, SettingsReport()):
                    # A line that is cut loses the lock on the settings.
                    _carried_out(server, work, amid, told)
                    between.before = moments
            except SettingsError:
                # A change between our SET and the look at it is taken for the result of our SET.
                assert any("(amid)" in deed for deed in meddler.deeds), told
            between.before = None
    behind = left_behind(folder)
    assert (behind.staged, behind.unreadable) == ((), ()), meddler.deeds
    found = meddler.found()
    wrong = {name: now for name, now in found.items() if now not in meddler.right[name]}
    assert not wrong, f"{wrong}, not {meddler.right}; order {seed}: {meddler.deeds}"
