"""Other clients, events that fail, and connections that are refused or lost."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import (
    connection_storm,
    connections,
    disk_neighbour,
    errors,
    maintenance,
    other_clients,
)
from loadstone.model.account import Cores
from loadstone.model.result import OutageLine

_CORES = Cores(users=1.0, others=1.2, own=0.1)
_QUIET = Cores(users=1.0, others=0.1, own=0.1)
_VACUUMED = Cores(users=0.5, others=0.0, own=1.4)
_VACUUM = "pg_stat_activity.autovacuum_workers"


def _with(cores: Cores, **figures: object) -> Figures:
    account = an_account(on_core=0.1, waiting_for_a_core=0.2)
    return at(account.model_copy(update={"cores": cores}), **figures)


def _seen(others: float) -> Figures:
    account = an_account(view="sessions", in_the_server=0.3)
    return at(account.model_copy(update={"others": others}))


_OPENING = an_account(connecting=0.6, on_core=0.1, waiting_for_a_core=0.1)
_WORKED = Cores(users=0.5, others=0.0, own=1.2)
_CROWDED = an_account(on_core=0.1, waiting_for_a_core=0.3).model_copy(update={"cores": _WORKED})
_OPENED = {"rates": {"connections": 500.0}}

_LONG = {"highest": {"longest_statement_s": 30.0}}
_OUTAGE = OutageLine(from_s=1, to_s=2, users=4, reason="57P01 terminating connection")

_SYNCS = an_account(log_sync=0.3, commit=0.4, on_core=0.1)
_BUSY_DISK = {"disk_busy": 0.7, "disk_read_bytes_per_s": 0.0, "disk_write_bytes_per_s": 100e6}
_OWN_BYTES = {"process.read_bytes": 0.0, "process.written_bytes": 2e6}

EXAMPLES = (
    Example(other_clients.RULE, a_case(_with(_CORES)), a_case(_with(_QUIET)), a_case()),
    Example(
        other_clients.RULE,
        a_case(_with(_QUIET, **_LONG)),
        a_case(_with(Cores(users=1.0, others=0.0, own=0.1), **_LONG)),
        a_case(),
    ),
    Example(other_clients.RULE, a_case(_seen(3.0)), a_case(_seen(0.4)), a_case()),
    # Autovacuum that never rests, and one that is over soon.
    Example(
        maintenance.RULE,
        a_case(_with(_VACUUMED, means={_VACUUM: 1.5})),
        a_case(_with(_VACUUMED, means={_VACUUM: 0.2})),
        a_case(),
    ),
    Example(
        maintenance.RULE,
        a_case(_with(_VACUUMED, means={"pg_stat_progress_basebackup": 1.0})),
        a_case(_with(_QUIET, means={"pg_stat_progress_basebackup": 1.0})),
        a_case(),
    ),
    Example(
        errors.RULE,
        a_case(at(step={"errors": {"57014": 900}})),
        a_case(at(step={"errors": {"40P01": 900}})),
        a_case(),
    ),
    # Locks that are not to be had, and waits for rows that say why.
    Example(
        errors.RULE,
        a_case(at(step={"errors": {"55P03": 900}})),
        a_case(at(an_account(row_lock=0.5), step={"errors": {"55P03": 900}})),
        a_case(),
    ),
    Example(
        connections.RULE,
        a_case(
            at(step={"connect_failures": {"53300": 9}}),
            variables={"max_connections": "20"},
        ),
        a_case(),
        a_case(),
    ),
    Example(
        connections.LOST_RULE,
        a_case(at(step={"outages": (_OUTAGE,), "reconnects": 4})),
        a_case(at(step={"outages": (_OUTAGE,), "reconnects": 0})),
        a_case(),
    ),
    # Its own connections, and those of others.
    Example(
        connection_storm.RULE,
        a_case(at(_OPENING, **_OPENED, step={"connects": 5000})),
        a_case(at(rates={"connections": 2.0})),
        a_case(at(rates={"connections": None})),
        needs="server counter connections",
    ),
    Example(
        connection_storm.RULE,
        a_case(at(_CROWDED, rates={"connections": 900.0})),
        a_case(at(_CROWDED, rates={"connections": 9.0})),
        a_case(at(rates={"connections": None})),
        needs="server counter connections",
    ),
    # A server before 14 does not count sessions: our own connections are known.
    Example(
        connection_storm.RULE,
        a_case(at(_OPENING, rates={"connections": None}, step={"connects": 5000})),
        a_case(at(_CROWDED, rates={"connections": None}, step={"connects": 5})),
        a_case(at(rates={"connections": None})),
        needs="server counter connections",
    ),
    Example(
        disk_neighbour.RULE,
        a_case(at(_SYNCS, host=_BUSY_DISK, host_rates=_OWN_BYTES)),
        a_case(at(_SYNCS, host=_BUSY_DISK, host_rates={"process.written_bytes": 9e7})),
        a_case(at(_SYNCS, host=_BUSY_DISK, host_rates={"process.written_bytes": None})),
        needs="host counter process.written_bytes",
    ),
)
