"""The same comparison with TLS 1.3, against a server that accepts nothing else."""

from __future__ import annotations

from benches.client_cpu import OF_SYSBENCH, RATE, steps
from benches.contest import (
    ENGINE,
    RUN,
    SYSBENCH,
    contest,
    cost_table,
    own_clock_table,
    prepare,
)
from benches.loadstone import drive
from benches.place import CONNECTIONS, Place, other_server
from benches.processes import ProgramFailed
from benches.report import Report
from benches.tables import how_measured
from benches.workload import Step

# With these two, TCP connections require TLS 1.3, whatever a client believes it uses.
SETTINGS = {"require_secure_transport": "ON", "tls_version": "TLSv1.3"}
# Thousands do handshakes at once: none may be refused for waiting its turn.
_PATIENCE = {"connect_timeout": "300", "back_log": "4096"}


def measure(place: Place) -> Report:
    """Measure all contestants that support TLS."""
    with other_server(place, SETTINGS | _PATIENCE, CONNECTIONS) as inner:
        prepare(inner, tls=True)
        check_that_the_server_refuses(inner)
        before = accepted(inner)
        readings, failed = contest(inner, "tls", steps(inner, tls=True), [SYSBENCH, RUN, ENGINE])
        shaken = accepted(inner) - before
    return Report(
        title="Client CPU a query with TLS 1.3: oltp_point_select, prepared, loopback TCP",
        tables=(cost_table(readings, [OF_SYSBENCH, RATE]), own_clock_table(readings)),
        readings=[reading.as_json() for reading in readings],
        notes=(
            how_measured(place.asked.pairs, place.asked.seconds),
            *failed,
            "The server has "
            + ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
            + f"; it refused a login without TLS and finished {shaken:,} handshakes while these"
            " ran.",
        ),
    )


def check_that_the_server_refuses(place: Place) -> None:
    """A login without TLS must fail, while the same with TLS has just created the tables.

    Raises:
        ProgramFailed: the server accepted it.
    """
    try:
        drive(place, Step(1, 0.1))
    except ProgramFailed as error:
        # MariaDB only says "access denied" (1045).
        if "refused user" in str(error):
            return
        raise
    raise ProgramFailed("the server took a login without TLS")


def accepted(place: Place) -> int:
    """TLS handshakes that the server has finished."""
    with place.sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
        rows = dict(cursor.fetchall())
    return int(rows["Ssl_finished_accepts"])
