"""The tests that need no database, as sysbench has them: their options and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.options import BOOL, DOUBLE, INT, LIST, SIZE, STRING, Option

_COMMANDS = ("prepare", "run", "cleanup", "help")
# The help calls it a number, and a unit is taken all the same.
_SIZES = ("file_block_size",)


class ModeMissing(Fatal):
    """`fileio run` without a mode: the test's options are told too."""


@dataclass(frozen=True)
class Declared:
    """A test of the host that loads."""

    name: str
    options: tuple[Option, ...]
    commands: tuple[str, ...] = ("run", "help")

    def known_options(self) -> dict[str, Option]:
        """Its own options by key, in the order of the help."""
        return {option.key: option for option in self.options}

    def numbers(self) -> tuple[str, ...]:
        """The keys of the options that take whole numbers and nothing else."""
        return tuple(one.key for one in self.options if one.kind is INT and one.key not in _SIZES)


_CPU = Declared(
    "cpu",
    (Option("cpu-max-prime", INT, "upper limit for primes generator", default="10000"),),
)

_MEMORY = Declared(
    "memory",
    (
        Option("memory-block-size", SIZE, "size of memory block for test", default="1K"),
        Option("memory-total-size", SIZE, "total size of data to transfer", default="100G"),
        Option("memory-scope", STRING, "memory access scope {global,local}", default="global"),
        Option("memory-hugetlb", BOOL, "allocate memory from HugeTLB pool", default="off"),
        Option(
            "memory-oper",
            STRING,
            "type of memory operations {read, write, none}",
            default="write",
        ),
        Option("memory-access-mode", STRING, "memory access mode {seq,rnd}", default="seq"),
    ),
)

_THREADS = Declared(
    "threads",
    (
        Option("thread-yields", INT, "number of yields to do per request", default="1000"),
        Option("thread-locks", INT, "number of locks per thread", default="8"),
    ),
)

_MUTEX = Declared(
    "mutex",
    (
        Option("mutex-num", INT, "total size of mutex array", default="4096"),
        Option("mutex-locks", INT, "number of mutex locks to do per thread", default="50000"),
        Option(
            "mutex-loops",
            INT,
            "number of empty loops to do outside mutex lock",
            default="10000",
        ),
    ),
)

_FILEIO = Declared(
    "fileio",
    (
        Option("file-num", INT, "number of files to create", default="128"),
        Option("file-block-size", INT, "block size to use in all IO operations", default="16384"),
        Option("file-total-size", SIZE, "total size of files to create", default="2G"),
        Option(
            "file-test-mode",
            STRING,
            "test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}",
        ),
        Option("file-io-mode", STRING, "file operations mode {sync,async,mmap}", default="sync"),
        Option(
            "file-async-backlog",
            INT,
            "number of asynchronous operatons to queue per thread",
            default="128",
        ),
        Option(
            "file-extra-flags",
            LIST,
            "list of additional flags to use to open files {sync,dsync,direct}",
            default="",
        ),
        Option(
            "file-fsync-freq",
            INT,
            "do fsync() after this number of requests (0 - don't use fsync())",
            default="100",
        ),
        Option(
            "file-fsync-all",
            BOOL,
            "do fsync() after each write operation",
            default="off",
        ),
        Option("file-fsync-end", BOOL, "do fsync() at the end of test", default="on"),
        Option(
            "file-fsync-mode",
            STRING,
            "which method to use for synchronization {fsync, fdatasync}",
            default="fsync",
        ),
        Option(
            "file-merged-requests",
            INT,
            "merge at most this number of IO requests if possible (0 - don't merge)",
            default="0",
        ),
        Option("file-rw-ratio", DOUBLE, "reads/writes ratio for combined test", default="1.5"),
    ),
    _COMMANDS,
)

HOST_TESTS: Mapping[str, Declared] = {
    test.name: test for test in (_FILEIO, _CPU, _MEMORY, _THREADS, _MUTEX)
}
