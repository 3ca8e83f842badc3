"""Memory that the engine leaves allocated in the C library: it may not grow in a long run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.driving import Document, a_plan, seconds, workload
from engine.truth import null_target
from loadstone.model.null_server import NullServerSettings, NullServerTls
from loadstone.sandbox.certificates import make_certificates

# mallinfo(3): `hblks` are the blocks that the allocator has apart from all others, `fordblks` is
# what lies free among the others, in bytes.
_ALLOCATOR = """
import ctypes, json, sys

NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in NAMES]

c = ctypes.CDLL(None)
c.mallinfo.restype = Info
c.malloc.restype = ctypes.c_void_p
c.malloc.argtypes = [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
"""
_OWN_PROCESS = """
from loadstone import own_process

own_process.prepare()
"""
_BLOCKS = """
from loadstone import engine

engine.build_info()  # the engine is loaded when it is first asked for something

# Far more than what importing has left free.
c.free(c.malloc(20 << 20))
before = c.mallinfo().hblks
c.malloc(10 << 20)
print(c.mallinfo().hblks - before)
"""
_STEP = """
from loadstone import engine
from loadstone.model.records import End, Sample

asked = json.load(sys.stdin)
step, free, connects = engine.start(json.dumps(asked["plan"])), [], 0
while not isinstance(record := step.next(10.0), End):
    if isinstance(record, Sample):
        free.append(c.mallinfo().fordblks)
        connects += record.counts.connects
        if len(free) >= asked["seconds"] and connects >= asked["connects"]:
            step.stop()
error = record.error and record.error.message
print(json.dumps({"free": free, "connects": connects, "error": error}))
"""
# glibc by itself has 8 to 16 MB free among the sessions of the tests below. With large blocks apart
# it had 8 MB where answers are long, as long as each TLS session had a buffer that shrinks.
_MOST_FREE = 4 << 20
_USERS = 500
_SECONDS = 4


def in_another_process(program: str, fed: str = "") -> str:
    """The output of code run in another process: memory of the tests' own would interfere."""
    words = [sys.executable, "-c", _ALLOCATOR + program]
    return subprocess.run(
        words, input=fed, text=True, stdout=subprocess.PIPE, check=True, timeout=100
    ).stdout


def free_in(plan: Document, connects: int = 0) -> list[int]:
    """Free bytes among the blocks of the step's process, for each second with all users connected.

    `connects`: at least this many connections must be reopened, or the test has tried nothing. The
    minimum is what stays free: an answer that is being read is free space soon after.
    """
    asked = {"plan": plan, "seconds": _SECONDS + 1, "connects": connects}
    told = json.loads(in_another_process(_OWN_PROCESS + _STEP, json.dumps(asked)))
    assert told["error"] is None
    assert told["connects"] >= connects
    # Without the first second, and without the drain.
    during: list[int] = told["free"][1:-1]
    assert len(during) >= _SECONDS
    return during


def a_step(target: Document, think_s: float) -> Document:
    """A step on two event loops."""
    return a_plan(
        target, users=_USERS, shards=2, arrival={"kind": "closed", "think_s": think_s},
        stop=seconds(60), workload=workload("oltp_read_write"),
    )  # fmt: skip


def test_a_large_block_is_kept_apart_also_after_a_larger_one_was_freed() -> None:
    assert int(in_another_process(_OWN_PROCESS + _BLOCKS)) == 1


def test_a_process_that_only_imports_the_engine_keeps_its_allocator() -> None:
    """Such as a notebook's: glibc raises the limit when a larger block is freed."""
    assert int(in_another_process(_BLOCKS)) == 0


@pytest.mark.slow
def test_users_that_connect_again_and_again_leave_no_holes_behind() -> None:
    with null_target() as (_, target):
        free = free_in(a_step(target, 0.1) | {"reconnect_after": 5}, connects=2 * _USERS)
    assert min(free) < _MOST_FREE, free


@pytest.mark.slow
def test_long_answers_over_tls_leave_no_holes_behind(tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "certificates")
    tls = NullServerTls(cert=files.cert("server"), key=files.key("server"))
    with null_target(settings=NullServerSettings(tls=tls, range_rows=100)) as (_, target):
        free = free_in(a_step(target, 0.5))
    assert min(free) < _MOST_FREE, free
