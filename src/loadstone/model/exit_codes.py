"""The program's exit codes, which scripts and CI rely on."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """One number for each way a command can end."""

    OK = 0
    """The command did what was asked."""
    BUG = 1
    """Loadstone itself failed, or its engine is not built."""
    USAGE = 2
    """Unknown option, level or word on the command line or in the file of user defaults."""
    TARGET = 3
    """The database could not be reached, or refused the request."""
    PLAN = 4
    """An experiment, a template or a value in it is not valid."""
    CLIENT_BOUND = 5
    """A verdict was requested, but the load generator itself was the limit."""
    SANDBOX = 6
    """A throwaway server or a null server could not be found, started or stopped."""
    GUARD = 7
    """Refused, because it could have harmed data that Loadstone did not create, or changed a server
    that others use, or because somebody else had requested it."""
    STORE = 8
    """A run folder could not be read or written."""
    HOST_TEST = 9
    """A test of this host could not be run: files, memory or threads were refused."""
    INCONSISTENT = 10
    """The data of a workload does not fulfil its consistency conditions, or acknowledged writes
    were lost or doubled."""
    CLUSTER = 11
    """A cluster of generators could not be reached, is too small, or its nodes do not fit."""
    ABORTED = 12
    """The run was ended before it did harm, by a condition of `--abort-if` or a default one; the
    results so far were saved."""
    LEFT_CHANGED = 13
    """Server variables that a command had set were not restored, or may not have been."""
    PDF = 14
    """A report could not be printed as PDF: this host has no Chromium, or it failed."""
    NOT_SUPPORTED = 15
    """The command does not support servers of the target's family."""
    NOT_IN_EFFECT = 16
    """What the load's sessions are to set is lost in a proxy, so that it would be measured without
    it."""
    THRESHOLD = 99
    """The run or comparison is complete, and a gate failed."""
    INTERRUPTED = 130
    """Ended by Ctrl-C, SIGTERM or the end of the terminal; the results so far were saved."""
