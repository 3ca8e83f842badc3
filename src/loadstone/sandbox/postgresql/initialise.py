"""Creates a data folder, and what it needs before the first start."""

from __future__ import annotations

import re
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.account import MAIN_USER, Account
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.postgresql.accounts import first_statements, login_rules
from loadstone.sandbox.postgresql.binaries import sibling
from loadstone.sandbox.postgresql.log import error_of
from loadstone.sandbox.postgresql.options import datadir_option
from loadstone.sandbox.postgresql.replication import is_copy
from loadstone.sandbox.postgresql.running import run_program
from loadstone.sandbox.spec import SandboxSpec
from loadstone.sandbox.unprivileged import give, words_as_user

_INITIALISING_S = 300
_ALREADY_THERE = "42P04"  # duplicate_database: of a kept data folder, or of a try on another port
_ERROR = re.compile(r"\b(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}): (.*)")


def initialise(binary: ServerBinary, datadir: Path) -> None:
    """Create a data folder that has only the main user, who cannot log in yet.

    Raises:
        SandboxError: it cannot be created; quotes the program's reason.
    """
    datadir.mkdir(mode=0o700)
    give(datadir)
    initdb = str(sibling([str(binary.program)], "initdb"))
    done = run_program(
        [
            *(*words_as_user(), initdb, f"--pgdata={datadir}", f"--username={MAIN_USER}"),
            # The template is only copied, so it need not be safe from a crash.
            *("--encoding=UTF8", "--locale=C", "--auth=reject", "--no-sync"),
        ],
        timeout_s=_INITIALISING_S,
    )
    if done.returncode != 0:
        reason = error_of(done.stderr) or done.stderr.strip() or "-"
        raise SandboxError(
            say(
                "{program} cannot initialise a data folder: {reason}", program=initdb, reason=reason
            ),
            say(
                "is there room and write permission in {folder}?",
                folder=str(datadir.parent.parent),
            ),
        )


def prepare_first_start(
    binary: ServerBinary, place: Place, spec: SandboxSpec, accounts: tuple[Account, ...]
) -> tuple[str, ...]:
    """Make users and database while no server runs; the first start needs no other options.

    A standby has them from its primary.

    Raises:
        SandboxError: the server refuses a statement; quotes its reason.
    """
    if is_copy(place.datadir):
        return ()
    rules = place.datadir / "pg_hba.conf"
    rules.write_text(login_rules(accounts))
    give(rules)
    # postgres(1): a single process that reads a statement from each line of its input.
    alone = [*words_as_user(), str(binary.program), "--single", datadir_option(place.datadir)]
    # With the codes of errors, and without the statements, which have the passwords.
    said = ("lc_messages=C", "log_error_verbosity=verbose", "log_min_error_statement=panic")
    # The copied files are not on the disk yet either.
    options = [word for each in (*said, "fsync=off") for word in ("-c", each)]
    done = run_program([*alone, *options, "postgres"], first_statements(spec.database, accounts))
    found = (reason for code, reason in _ERROR.findall(done.stderr) if code != _ALREADY_THERE)
    reason = next(found, None)
    if reason is None and done.returncode != 0:
        reason = done.stderr.strip() or say("it left no word in its error log")
    if reason is not None:
        raise SandboxError(say("the server does not start: {reason}", reason=reason))
    return ()


def end_first_start(place: Place) -> None:
    """Nothing is left of the first start."""
