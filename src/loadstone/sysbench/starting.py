"""`run`: makes a test from the options and drives it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone import engine
from loadstone.dropin import company
from loadstone.dropin.keeping import keeper_of
from loadstone.lab.tables.inspect import check_descriptors
from loadstone.model.null_server import NullServerSettings
from loadstone.model.observe_request import Observing
from loadstone.model.plan import WorkloadSpec
from loadstone.model.target import Endpoint, Target, Tls
from loadstone.sysbench import messages, planning, running
from loadstone.sysbench.log import Log
from loadstone.sysbench.oltp.tests import Bundled
from loadstone.sysbench.report_writer import OpenScript
from loadstone.sysbench.settings import Settings
from loadstone.sysbench.targets import NotPlaced, Place, check_driver, places_of
from loadstone.workloads.scripts.given import Values


def run(test: Bundled, settings: Settings, given: Values, log: Log) -> int:
    """Drive a built-in test; returns the exit code.

    Raises:
        Fatal: it could not start, or an error ended it.
        TargetError: so many threads need more file descriptors than this process may have.
        StoreError: the run's folder cannot be written.
    """
    running.announce(settings, log)
    check_driver(given, "thread_init", "Thread initialization failed!")
    workload = planning.workload_of(test, settings, given)
    return drive(test.name, workload, settings, given, log)


def drive(
    name: str,
    workload: WorkloadSpec,
    settings: Settings,
    given: Values,
    log: Log,
    opened: OpenScript | None = None,
) -> int:
    """Drive a workload as a test; returns the exit code.

    Raises:
        Fatal: it could not start, or an error ended it.
        TargetError: so many threads need more file descriptors than this process may have.
        StoreError: the run's folder cannot be written.
    """
    check_descriptors(settings.threads)
    is_dry = given.switch("mysql_dry_run")
    with servers(given, settings, is_dry=is_dry) as places:
        targets = [place.endpoint.target for place in places]
        plan = planning.plan_of(name, workload, settings, given, targets)
        endpoints = [place.endpoint for place in places]
        # A dry run has no server with counters.
        with keeper_of(settings.out, plan, endpoints, Observing(on=not is_dry)) as keeper:
            return running.drive(running.Run(plan, places, settings, log, keeper, is_dry, opened))


@contextlib.contextmanager
def servers(
    given: Values, settings: Settings, *, is_dry: bool, command: str = "thread_init"
) -> Iterator[tuple[Place, ...]]:
    """The servers; for a dry run, one that answers at once and has no tables.

    Raises:
        Fatal: the options of `command` name none.
    """
    try:
        places = places_of(given, settings.compat)
    except NotPlaced as error:
        raise messages.of_unplaced(error, command) from error
    if is_dry:
        with without_tables(places) as null:
            yield null
        return
    with company.beside_others([place.endpoint for place in places], settings.threads):
        yield places


@contextlib.contextmanager
def without_tables(places: tuple[Place, ...]) -> Iterator[tuple[Place, ...]]:
    """In place of these servers one that answers at once and has no tables."""
    with TemporaryDirectory(prefix="loadstone-dry-run-") as folder:
        socket = Path(folder, "null.sock")
        server = engine.null_server(NullServerSettings(socket=socket))
        target = Target(
            socket=socket, user="loadstone", database="sbtest", tls=Tls(mode="disabled")
        )
        try:
            yield tuple(replace(place, endpoint=Endpoint(target=target)) for place in places)
        finally:
            server.stop()
