"""Sets up a sandbox's second server as a hot standby of the first, which streams its log to it.

Source: https://www.postgresql.org/docs/current/app-pgbasebackup.html
"""

from __future__ import annotations

import time
from pathlib import Path

from loadstone.families import connect
from loadstone.model.message import say
from loadstone.model.target import Endpoint
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.binaries import sibling
from loadstone.sandbox.postgresql.clients import conninfo
from loadstone.sandbox.postgresql.running import run_program
from loadstone.sandbox.unprivileged import give, words_as_user

_COPYING_S = 300
_LINK_S = 30.0
_POLL_S = 0.02

_FOLLOWS = (
    "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn IS NOT NULL"
)
"""A standby counts for commits once it has said what it has on disk."""

_MARK = "standby.signal"
"""The file that makes a server a standby at its start."""


def copy_primary(primary: Place, binary: ServerBinary, datadir: Path) -> None:
    """Make a standby's data folder of what the running primary has, users and all.

    Raises:
        SandboxError: it cannot be copied; quotes the program's reason.
    """
    datadir.mkdir(mode=0o700)
    give(datadir)
    program = str(sibling([str(binary.program)], "pg_basebackup"))
    # What is copied need not be safe from a crash, as a template need not.
    how = ("--checkpoint=fast", "--write-recovery-conf", "--no-sync")
    where = (f"--pgdata={datadir}", f"--dbname={conninfo(primary, 'postgres')}")
    done = run_program(
        [*words_as_user(), program, "--no-password", *how, *where], timeout_s=_COPYING_S
    )
    if done.returncode != 0:
        reason = done.stderr.strip() or str(done.returncode)
        raise SandboxError(say("{command}: {reason}", command=program, reason=reason))


def is_copy(datadir: Path) -> bool:
    """Whether a data folder is a standby's, which takes no statements that change anything."""
    return (datadir / _MARK).exists()


def connect_replica(
    primary: Endpoint, replica: Endpoint, binary: ServerBinary, primary_port: int
) -> None:
    """Wait until the standby, which knows its primary from its start, follows it.

    Raises:
        SandboxError: it does not.
    """
    deadline = time.monotonic() + _LINK_S
    with connect(primary) as connection, connection.cursor() as cursor:
        while True:
            cursor.execute(_FOLLOWS)
            row = cursor.fetchone()
            if row is not None and row[0]:
                return
            if time.monotonic() > deadline:
                raise SandboxError(
                    say(
                        "the standby does not follow its primary: none streams from it after "
                        "{seconds} s",
                        seconds=round(_LINK_S),
                    )
                )
            time.sleep(_POLL_S)
