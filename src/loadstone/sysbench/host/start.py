"""Runs `prepare`, `run` and `cleanup` of a test of the host from its options."""

from __future__ import annotations

import mmap

from loadstone.dropin.aside import aside
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.exit_codes import ExitCode
from loadstone.model.host_test import FileioTest, HostTest, MemoryTest
from loadstone.model.message import say
from loadstone.sysbench import running
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.host import files, plan, report, runner
from loadstone.sysbench.log import Log
from loadstone.sysbench.settings import Settings
from loadstone.workloads.scripts.given import Values

_FAILED = 1
# Linux's MAP_HUGETLB, which Python lacks, and the size of a huge page on most machines.
_MAP_HUGETLB = 0x40000
_HUGE_PAGE = 2**21


def start(name: str, command: str, settings: Settings, given: Values, log: Log) -> int:
    """Run a command of the test; returns the exit code.

    Raises:
        Fatal: a value is out of its range, or the test could not start or continue.
    """
    test = plan.test_of(name, given, will_run=command == "run")
    if command == "run":
        return _run(test, settings, log)
    assert isinstance(test, FileioTest), "no other has more commands"
    if command == "prepare":
        return _prepare(test, settings, log)
    files.cleanup(test, log)
    return ExitCode.OK


def _prepare(test: FileioTest, settings: Settings, log: Log) -> int:
    with Interrupts() as interrupts:
        is_made = files.prepare(test, log, lambda: interrupts.asked)
    if is_made:
        return ExitCode.OK
    aside(say("interrupted"))
    return ExitCode.INTERRUPTED


def _run(test: HostTest, settings: Settings, log: Log) -> int:
    if isinstance(test, MemoryTest) and test.hugetlb:
        _check_huge_pages(test, settings.threads)
    running.announce_settings(settings, log)
    if text := report.about(test):
        log.info(text)
    if text := report.header(test, settings):
        log.notice(text)
    if isinstance(test, FileioTest):
        if trouble := files.trouble_with(test, log):
            log.fatal(trouble.fatal)
            log.warning(trouble.warning)
            return _FAILED
    running.announce_threads(log)
    return runner.drive(plan.plan_of(test, settings), settings, log)


def _check_huge_pages(test: MemoryTest, threads: int) -> None:
    """Check that there are enough huge pages; sysbench reports this before anything else."""
    pages = -(-test.block_size // _HUGE_PAGE)
    of_all = pages * _HUGE_PAGE * (threads if test.scope == "local" else 1)
    try:
        mmap.mmap(-1, of_all, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_HUGETLB).close()
    except OSError as error:
        whose = " for thread #0" if test.scope == "local" else ""
        raise Fatal(
            f"Failed to allocate {of_all} bytes from HugeTLB memory. "
            f"errno = {error.errno} ({error.strerror})",
            f"Failed to allocate buffer{whose}!",
        ) from error
