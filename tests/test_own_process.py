"""Which processes Loadstone changes, by what the C library does in them."""

from __future__ import annotations

import subprocess
import sys

import pytest

# glibc raises the limit of blocks that are mapped apart when a larger one is freed.
_IS_APART = """
import ctypes
libc = ctypes.CDLL(None)
class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]
libc.malloc.restype, libc.mallinfo2.restype = ctypes.c_void_p, Info
libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
libc.free(libc.malloc(16 << 20))
before = libc.mallinfo2().hblks
block = libc.malloc(1 << 20)
print(libc.mallinfo2().hblks > before)
"""


@pytest.mark.parametrize(
    ("begun", "is_apart"),
    [
        ("import loadstone.engine, loadstone._engine", False),
        ("from loadstone import cli; cli._begin()", True),
    ],
)
def test_large_blocks_are_apart_in_its_own_processes_only(begun: str, *, is_apart: bool) -> None:
    said = subprocess.run(
        [sys.executable, "-c", begun + _IS_APART], check=True, capture_output=True, text=True
    ).stdout
    assert said.strip() == str(is_apart)
