"""Runs a command line of pgbench."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from loadstone.dropin.aside import aside
from loadstone.model.errors import LoadstoneError
from loadstone.pgbench import builtin, log
from loadstone.pgbench.cmdline import Asked, parse
from loadstone.pgbench.errors import BadOption, Failed
from loadstone.pgbench.settings import Benchmark, Initialization, Shown

_FAILED = 1


def main(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code.

    It is 0, or as in pgbench 1 if nothing was measured and 2 if clients were aborted, or 130 on
    Ctrl-C.

    Every failure is reported in pgbench's words on stderr.
    """
    try:
        return _carry_out(parse(words, os.environ))
    except BadOption as error:
        log.bad_option(error)
    except Failed as error:
        log.failure(error)
        if isinstance(error, builtin.Unknown):
            log.line(builtin.listing())
        return error.exit_code
    except LoadstoneError as error:
        log.error(error.message)
        if error.hint:
            aside(error.hint)
    return _FAILED


def _carry_out(asked: Asked) -> int:
    match asked:
        case Shown(text, on_stderr):
            print(text, end="", file=sys.stderr if on_stderr else sys.stdout)
            return 0
        case Initialization():
            # The rest needs the engine and the model, which take a while to import.
            from loadstone.pgbench.connecting import endpoint_of
            from loadstone.pgbench.initializing import initialize

            return initialize(asked, endpoint_of(asked.place))
        case Benchmark():
            from loadstone.pgbench.benchmarking import run

            return run(asked)
