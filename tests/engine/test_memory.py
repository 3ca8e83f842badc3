"""What the engine's work leaves in the C library's hands: a long run may not grow by it."""

from __future__ import annotations

import json
import subprocess
import sys

from engine.driving import Document, a_plan, seconds, workload
from engine.truth import null_target

# mallinfo(3): `hblks` are the blocks that the allocator has apart from all others, `fordblks` is
# what lies free among the others, in bytes.
_OWN_PROCESS = """
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

step, free = engine.start(sys.stdin.read()), []
while not isinstance(record := step.next(10.0), End):
    if isinstance(record, Sample):
        free.append(c.mallinfo().fordblks)
print(json.dumps({"free": free, "error": record.error and record.error.message}))
"""
# Histograms of a second that lie among the sessions leave 8 to 12 MB free; without them it is some
# hundred KB.
_MOST_FREE = 3 << 20


def in_its_own_process(program: str, fed: str = "") -> str:
    """What it prints: memory of the tests' own process would blur it."""
    words = [sys.executable, "-c", _OWN_PROCESS + program]
    return subprocess.run(
        words, input=fed, text=True, stdout=subprocess.PIPE, check=True, timeout=60
    ).stdout


def test_a_large_block_is_kept_apart_also_after_a_larger_one_was_freed() -> None:
    assert int(in_its_own_process(_BLOCKS)) == 1


def test_users_that_connect_again_and_again_leave_no_holes_behind() -> None:
    with null_target() as (_, target):
        told = json.loads(in_its_own_process(_STEP, json.dumps(renewing(target))))
    assert told["error"] is None
    assert len(told["free"]) >= 4
    assert max(told["free"]) < _MOST_FREE, told["free"]


def renewing(target: Document) -> Document:
    """Users of two event loops, each with a new connection after each five events."""
    plan = a_plan(
        target, concurrency=200, shards=2, arrival={"kind": "closed", "think_s": 0.05},
        stop=seconds(5), workload=workload("oltp_read_write"),
    )  # fmt: skip
    return plan | {"reconnect_after": 5}
